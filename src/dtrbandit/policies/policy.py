"""What a policy is: a fold over facts, and a rule that looks and never touches."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple, Protocol, TypeVar, runtime_checkable

from dtrbandit.design.spec import Design
from dtrbandit.errors import DesignError
from dtrbandit.estimators.estimates import Estimates
from dtrbandit.record.events import Fact
from dtrbandit.record.histories import History

State = TypeVar("State")
Numbers = tuple[float | None, ...] | Mapping[str, float | None]


class Choice(NamedTuple):
    """An arm, why, and how probable each arm was.

    Attributes
    ----------
    propensities
        One per arm, summing to one; 0 where infeasible.
    q_tilde, q_hat
        The estimates that were compared, one per arm in order or by label, None where there is none; for the
        explanation only.
    contenders
        The arms among which the rule chose; by default those with a positive propensity.
    """

    arm: int
    reason: str
    propensities: tuple[float, ...]
    q_tilde: Numbers = ()
    q_hat: Numbers = ()
    contenders: tuple[int, ...] = ()


class Policy(Protocol[State]):
    """A learning algorithm. Contract tests: ``dtrbandit.testing.PolicyContract``.

    A policy counts as one that learns from earlier units, so that its log is adaptive data. The class of one that does
    not says ``learns = False``, and ``randomises = True`` if it draws arms at random. The log records both.
    """

    def init(self, design: Design) -> State:
        """Return the state before the first fact, or raise DesignError if the policy does not fit the design."""

    def update(self, state: State, history: History, event: Fact) -> State:
        """Return the state after a fact; ``history`` is the unit's, the fact included. May work in place.

        A ``Taught`` fact is of a unit of an earlier trial. It comes before all others, and only to a session that was
        opened with ``prior=``. Its history has round 0, no feasible arms, and everything that happened to the unit.
        """

    def decide(self, state: State, history: History, u: float) -> Choice:
        """Choose an arm for a unit that has arrived; ``u`` is uniform in [0, 1). Changes nothing."""


def is_policy(candidate: object) -> bool:
    """Say whether something has the three verbs of a policy; the class of one is none."""
    verbs = ("init", "update", "decide")
    return not isinstance(candidate, type) and all(callable(getattr(candidate, verb, None)) for verb in verbs)


@runtime_checkable
class Estimating(Protocol):
    """A policy that has estimates to show."""

    def estimates(self, state: Any) -> Estimates:
        """Return what the policy believes at present."""


def certain(arm: int, history: History, reason: str) -> Choice:
    """Return the choice of an arm that had probability one."""
    return Choice(arm, reason, tuple(float(other == arm) for other in range(len(history.feasible))))


def feasible_arms(history: History) -> tuple[int, ...]:
    """Return the numbers of the arms that may be given now."""
    return tuple(arm for arm, yes in enumerate(history.feasible) if yes)


def refuse_foreign(kind: type) -> None:
    """Refuse a state of another package that inherits from a built-in one: compiled code would not call its methods."""
    if not kind.__module__.startswith("dtrbandit."):
        raise DesignError(
            f"{kind.__qualname__} inherits from the state of a built-in policy, which is compiled and would not call "
            "methods of a Python class; write a policy with init, update and decide, which may hold a built-in one"
        )
