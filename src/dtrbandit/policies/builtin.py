"""The policies that come with the package, and the only switch between their rules.

A new policy is one file and a line in ``BUILTIN``; one with a rule of its own adds that to ``RULES``.
"""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Callable, Mapping
from typing import Any, Protocol, TypeGuard, cast

import numpy as np

from dtrbandit.estimators import observed as store
from dtrbandit.estimators.observed import ARRIVED, GIVEN, Observed, fits, observe
from dtrbandit.kernels.arrays import Matrix, Truth, Vector, Whole
from dtrbandit.kernels.borrowed import Opener, Table, lend
from dtrbandit.kernels.compile import kernel, switch, variant
from dtrbandit.policies import dtr_bandit, epsilon_greedy, fixed_regime, lsvi_ucb, uniform_random
from dtrbandit.policies.compiled_policy import ONE_ARM, CompiledPolicy, CompiledState, Desk
from dtrbandit.policies.dtr_bandit import DTRBandit
from dtrbandit.policies.epsilon_greedy import EpsilonGreedy, Greedy
from dtrbandit.policies.fixed_regime import FixedRegime
from dtrbandit.policies.lsvi_ucb import LSVIUCB
from dtrbandit.policies.policy import Policy
from dtrbandit.policies.sheet import ArmAndReason
from dtrbandit.policies.uniform_random import UniformRandom

BUILTIN: Mapping[str, type[Policy[Any]]] = {
    each.__name__: each for each in (DTRBandit, EpsilonGreedy, Greedy, LSVIUCB, FixedRegime, UniformRandom)
}
RULES = (dtr_bandit.RULE, epsilon_greedy.RULE, lsvi_ucb.RULE, fixed_regime.FIXED, uniform_random.RULE)
KINDS: Mapping[str, int] = {rule.name: kind for kind, rule in enumerate(RULES)}


def is_compiled(policy: object) -> TypeGuard[CompiledPolicy]:
    """Say whether a policy is built in and decides by kernels.

    A policy that holds a built-in one, or inherits from one, has rules of its own.
    """
    return isinstance(policy, CompiledPolicy) and type(policy) in BUILTIN.values() and policy.compiled_rule is not None


# -- the arrays ----------------------------------------------------------------------------------------------

ESTIMATORS = {rule.estimator.name: rule.estimator for rule in RULES}


class OpenState(Protocol):
    """The arrays of a policy as a kernel finds them in an open table; beliefs and memories it has by name."""

    @property
    def observed(self) -> Observed:
        """What was observed of units."""

    @property
    def desk(self) -> Desk:
        """What lies between Python and a kernel."""


State: Any = cast("Any", namedtuple("State", ("observed", "desk", *ESTIMATORS, *KINDS)))  # rules name its fields
EXAMPLE = State(
    store.create(ONE_ARM),
    Desk(np.zeros(1), np.zeros((4, 1))),
    *(estimator.create(ONE_ARM) for estimator in ESTIMATORS.values()),
    *(rule.example for rule in RULES),
)
open_state: Opener[OpenState] = Opener(EXAMPLE)


def table_of(state: CompiledState) -> Table:
    """Return the table by which kernels find the arrays of a state; those of other policies are the example's."""
    own = {state.rule.estimator.name: state.beliefs, state.rule.name: state.memory}
    return lend(EXAMPLE._replace(observed=state.observed, desk=state.desk, **own), EXAMPLE)


# -- the switch: each takes the number of a rule, an open state, and its arguments ---------------------------

_beliefs = [f"state.observed, state.{rule.estimator.name}" for rule in RULES]
_memory = [f"state.{rule.name}" for rule in RULES]

_decide = (
    [(rule.decide, f"{beliefs}, {memory}") for rule, beliefs, memory in zip(RULES, _beliefs, _memory, strict=True)],
    "unit, m, node, psi, u, sheet",
)
_learn = [(rule.estimator.learn, own) for rule, own in zip(RULES, _beliefs, strict=True)], "fact, unit, m"
_note = (
    [(rule.note, f"state.observed, {own}") for rule, own in zip(RULES, _memory, strict=True)],
    "fact, unit, m, value",
)

decide: Callable[[Whole, OpenState, Whole, Whole, Whole, Vector, float, Matrix], ArmAndReason] = switch(
    "decide", *_decide
)
explain: Callable[[Whole, OpenState, Whole, Whole, Vector, Matrix], None] = switch(
    "explain",
    [(rule.explain, f"{beliefs}, {memory}") for rule, beliefs, memory in zip(RULES, _beliefs, _memory, strict=True)],
    "unit, m, psi, sheet",
)
learn: Callable[[Whole, OpenState, Whole, Whole, Whole], None] = switch("learn", *_learn)
begin_anew: Callable[[Whole, OpenState], None] = switch(
    "begin_anew", [(rule.estimator.begin_anew, own) for rule, own in zip(RULES, _beliefs, strict=True)], ""
)
note: Callable[[Whole, OpenState, Whole, Whole, Whole, float], None] = switch("note", *_note)
settle: Callable[[Whole, OpenState], None] = switch(
    "settle", [(rule.settle, f"state.observed, {own}") for rule, own in zip(RULES, _memory, strict=True)], ""
)
suppose: Callable[[Whole, OpenState, Whole, Whole, Whole, Truth], None] = switch(
    "suppose",
    [(rule.suppose, f"state.observed, {own}") for rule, own in zip(RULES, _memory, strict=True)],
    "unit, m, arm, forced",
)
retract: Callable[[Whole, OpenState, Whole, Whole], None] = switch(
    "retract", [(rule.retract, own) for rule, own in zip(RULES, _memory, strict=True)], "unit, m"
)


@kernel
def take(
    kind: Whole, state: OpenState,
    fact: Whole, unit: Whole, m: Whole, index: Whole, value: float, psi: Vector, learning: Truth,
) -> None:  # fmt: skip
    """Write a fact down, let the policy note it, and learn from it unless that is put off.

    Nothing is noted of units of an earlier trial: they have no round, and no place in a schedule.
    """
    observe(state.observed, fact, unit, m, index, value, psi)
    if unit >= state.observed.taught[0]:
        note(kind, state, fact, unit, m, value)
    if learning:
        learn(kind, state, fact, unit, m)


@kernel
def take_fitting(
    kind: Whole, state: OpenState,
    fact: Whole, unit: Whole, m: Whole, index: Whole, arm: Whole, value: float, psi: Vector, learning: Truth,
) -> bool:  # fmt: skip
    """Take a fact from Python, on arrival the arm as well; False if it does not fit what is on record."""
    if not fits(state.observed, fact, unit, m, index, arm):
        return False
    while True:
        take(kind, state, fact, unit, m, index, value, psi, learning)
        if fact != ARRIVED or arm < 0:
            return True
        fact, index = np.int64(GIVEN), arm


def _decide_and_take(estimator: str) -> Mapping[str, Callable[..., Any]]:
    """Return ``decide`` and ``take`` for the policies of one estimator: kernels that reach no other."""
    kinds = [kind for kind, rule in enumerate(RULES) if rule.estimator.name == estimator]
    own = {
        "note": switch(f"note_{estimator}", *_note, only=kinds),
        "learn": switch(f"learn_{estimator}", *_learn, only=kinds),
    }
    return {
        "decide": switch(f"decide_{estimator}", *_decide, only=kinds),
        "take": kernel(variant(take, f"take_{estimator}", own)),
    }


DECIDE_AND_TAKE = {estimator: _decide_and_take(estimator) for estimator in ESTIMATORS}
