"""ε-Greedy (paper, section 5.1): initial pulls, then the best Q̂, and with probability ε another arm.

Greedy is the special case ε = 0.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dtrbandit.design.formula import Vector
from dtrbandit.design.parameters import real
from dtrbandit.design.spec import Design
from dtrbandit.estimators.estimates import Estimates, hat_coefficients, rows_by_arm
from dtrbandit.kernels.compile import kernel
from dtrbandit.policies.compiled_policy import CompiledPolicy, CompiledState
from dtrbandit.policies.memory import (
    CONTENDER,
    EPSILON_GREEDY,
    EXPLORE,
    FORCED,
    GREEDY,
    ONLY_FEASIBLE,
    PROPENSITY,
    PULLED,
    PULLS,
    Q_HAT,
)
from dtrbandit.policies.rules import best, next_of_plan, show_hat, show_nothing, show_only

EPSILON = 0  # its place among the numbers


@dataclass(frozen=True, kw_only=True)
class EpsilonGreedy(CompiledPolicy):
    """Pull each feasible plan d times, then follow Q̂ with probability 1 − ε and explore with probability ε.

    With more than two arms, exploring is uniform over the other feasible arms.

    Examples
    --------
    >>> EpsilonGreedy(epsilon=0.1)
    EpsilonGreedy(epsilon=0.1)
    """

    epsilon: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", real(self.epsilon, "EpsilonGreedy: epsilon", low=0.0, high=1.0))

    @property
    def kind(self) -> int:
        """Its number in the switch."""
        return EPSILON_GREEDY

    def estimates(self, state: CompiledState) -> Estimates:
        """Return the coefficients of Q̂."""
        return Estimates(
            hat_coefficients(state.design, state.learner), hat_rows=rows_by_arm(state.design, state.learner)
        )

    def numbers(self, design: Design) -> Vector:  # noqa: ARG002  # fits every design
        """Return ε."""
        return np.array([self.epsilon])


@dataclass(frozen=True, kw_only=True)
class Greedy(CompiledPolicy):
    """Pull each feasible plan d times, then always follow Q̂.

    Examples
    --------
    >>> Greedy()
    Greedy()
    """

    @property
    def kind(self) -> int:
        """Its number in the switch: that of ε-Greedy."""
        return EPSILON_GREEDY

    def estimates(self, state: CompiledState) -> Estimates:
        """Return the coefficients of Q̂."""
        return Estimates(
            hat_coefficients(state.design, state.learner), hat_rows=rows_by_arm(state.design, state.learner)
        )

    def numbers(self, design: Design) -> Vector:  # noqa: ARG002  # fits every design
        """Return ε = 0."""
        return np.zeros(1)


@kernel
def decide(learner, memory, unit, m, node, psi, u, shown):
    """Make an initial pull, or act greedily, or explore when u < ε; return the arm and the reason."""
    feasible = show_nothing(learner.child, node, shown)
    show_hat(learner.pages, learner.tallies, learner.shape, m, psi, shown)
    plan = np.int64(memory.pulled[unit]) if m > 0 else next_pull(memory.pulls, memory.tally)
    arm, reason = np.int64(-1), FORCED
    if plan >= 0:
        arm = next_of_plan(learner.child, learner.marks, memory.plans, plan, unit, m)
    if arm >= 0:
        show_only(shown, arm)
    else:
        arm, reason = explore(shown, feasible - 1, memory.numbers[EPSILON], u)
    return arm, reason


@kernel
def explore(shown, others, epsilon, u):
    """Take the greedy arm, or when u < ε one of the others, uniformly."""
    greedy = best(shown, Q_HAT)
    if others == 0:
        shown[PROPENSITY, greedy] = 1.0
        return greedy, ONLY_FEASIBLE
    pick = min(int(u / epsilon * others), others - 1) if u < epsilon else -1
    arm, passed = greedy, 0
    for a in range(shown.shape[1]):
        if shown[CONTENDER, a] > 0.0:
            if a == greedy:
                shown[PROPENSITY, a] = 1.0 - epsilon
            else:
                shown[PROPENSITY, a] = epsilon / others
                if passed == pick:
                    arm = np.int64(a)
                passed += 1
    return arm, EXPLORE if pick >= 0 else GREEDY


# -- initial pulls -------------------------------------------------------------------------------------------


@kernel
def next_pull(pulls, tally):
    """Return the plan of the next initial pull, −1 when all are made."""
    return np.int64(pulls[tally[PULLED]]) if tally[PULLED] < tally[PULLS] else np.int64(-1)


@kernel
def note_pull(pulls, pulled, tally, unit):
    """Remember the initial pull of a unit that was just given its first arm."""
    pulled[unit] = next_pull(pulls, tally)
    if pulled[unit] >= 0:
        tally[PULLED] += 1


@kernel
def owe_pull(pulls, pulled, tally, unit):
    """Put the pull of a unit that left or was lost behind those to make (docs/readings.md, 10)."""
    if pulled[unit] >= 0:
        pulls[tally[PULLS]] = pulled[unit]
        tally[PULLS] += 1
        pulled[unit] = -1  # owed once, whatever else befalls the unit
