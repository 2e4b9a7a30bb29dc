"""From a policy's choice, in numbers, to a decision, in labels."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, partial
from typing import Any

from dtrbandit.design.spec import Design
from dtrbandit.errors import DesignError
from dtrbandit.policies.policy import Choice, Numbers, Policy
from dtrbandit.record.events import Decision
from dtrbandit.record.histories import History
from dtrbandit.record.values import Values

new_decision = partial(tuple.__new__, Decision)  # from a tuple, in half the time
Rule = Callable[[Any, History, float], Choice]


def decision_of(choice: Choice, history: History, design: Design) -> Decision:
    """Return a choice, of a built-in policy or a trusted rule, as it goes on record, in labels."""
    arm, reason, propensities, q_tilde, q_hat, contenders = choice
    stage = design.stages[len(history.arms)]
    arms, unit, t = stage.arms, history.unit, history.round
    labels = _labels(arms, contenders)
    return new_decision((unit, t, stage.name, arms[arm], reason, propensities[arm], q_tilde, q_hat, labels))


def trusted(policy: Policy[Any], design: Design) -> Rule:
    """Return the rule of a policy that is not ours to trust: its choices are checked and completed."""

    def decide(state: Any, history: History, u: float) -> Choice:
        choice = policy.decide(state, history, u)
        _require_feasible(choice, history)
        arms = design.stages[len(history.arms)].arms
        return choice._replace(
            q_tilde=_by_label(arms, choice.q_tilde),
            q_hat=_by_label(arms, choice.q_hat),
            contenders=choice.contenders or tuple(arm for arm, p in enumerate(choice.propensities) if p > 0),
        )

    return decide


def _by_label(arms: tuple[str, ...], numbers: Numbers) -> Values[float | None]:
    return numbers if isinstance(numbers, Values) else Values(arms, numbers or (None,) * len(arms))


def _require_feasible(choice: Choice, history: History) -> None:
    arms = [arm for arm, yes in enumerate(history.feasible) if yes]
    honest = all(p >= 0 for p in choice.propensities) and abs(sum(choice.propensities) - 1) < 1e-9
    if choice.arm not in arms or len(choice.propensities) != len(history.feasible) or not honest:
        raise DesignError(
            f"the policy chose arm {choice.arm} with propensities {choice.propensities} for unit {history.unit!r}; "
            f"feasible are the arms {arms}; propensities are one for each of {len(history.feasible)} arms and sum to 1"
        )


@lru_cache(maxsize=1024)
def _labels(arms: tuple[str, ...], numbers: tuple[int, ...]) -> tuple[str, ...]:
    """Return the labels of some arms; equal ones share them."""
    return tuple(arms[number] for number in numbers)
