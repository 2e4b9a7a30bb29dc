"""The facts that a log holds, and the decision for a unit that arrives at a stage."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import NamedTuple

Spec = Mapping[str, object]
Context = Mapping[str, float]
QValues = Mapping[str, float | None]

REASONS = {
    "forced": "this round is scheduled to try this arm, whatever the estimates say",
    "clear": "by the forced rounds alone, every other arm is worse by more than half of delta",
    "close": "the forced rounds cannot tell the arms apart; it has the best estimate from all units",
    "greedy": "it has the best estimate from all units",
    "explore": "this unit was drawn by chance to try an arm that does not look best",
    "optimistic": "it has the best estimate once the benefit of the doubt is given",
    "uniform": "it was drawn by chance, every arm alike",
    "rule": "the fixed rule says so",
    "only_feasible": "it is the only arm feasible for this unit",
    "override": "it is what was really given, in place of the arm decided",
}


class Decision(NamedTuple):
    """An arm for one unit at one stage, with its reason and its numbers.

    Attributes
    ----------
    stage, arm, contenders
        Labels. The contenders are the arms among which the policy chose.
    propensity
        The probability of this arm over the policy's randomness given the log; None when overridden.
    q_tilde, q_hat
        The estimated outcome of each arm, from forced rounds and from all; None where there is no estimate.
    """

    unit: str
    round: int
    stage: str
    arm: str
    reason: str
    propensity: float | None
    q_tilde: QValues
    q_hat: QValues
    contenders: tuple[str, ...]

    def __str__(self) -> str:
        what = f"{self.arm} was given" if self.reason == "override" else f"give {self.arm}"
        why = f"; {REASONS[self.reason]}" if self.reason in REASONS else ""
        head = [
            f"Unit {self.unit} (round {self.round}), stage {self.stage}: {what}.",
            f"Reason: {self.reason}{why}.",
        ]
        if self.propensity is not None and self.propensity < 1:
            head.append(f"The chance of this arm, before the draw, was {self.propensity:.3g}.")
        return "\n".join([*head, *self._table()])

    def _table(self) -> list[str]:
        """Return the estimates, one line per arm, in columns that fit the labels."""
        columns = {
            "forced rounds": self.q_tilde,
            "with bonus" if self.reason == "optimistic" else "all units": self.q_hat,
        }
        columns = {name: values for name, values in columns.items() if any(v is not None for v in values.values())}
        if not columns:
            return ["There are no estimates."]
        width = max(len("Estimated outcome"), *(len(arm) + 2 for arm in self.q_hat))
        lines = [f"{'Estimated outcome':<{width}}" + "".join(f"{name:>16}" for name in columns)]
        for arm in self.q_hat:
            mark = ">" if arm == self.arm else " "
            cells = "".join(f"{in_words(values[arm]):>16}" for values in columns.values())
            lines.append(f"{mark} {arm:<{width - 2}}{cells}{self._remark(arm)}")
        return lines

    def _remark(self, arm: str) -> str:
        if arm in self.contenders:
            return ""
        return {"clear": "   ruled out", "close": "   ruled out", "only_feasible": "   not feasible"}.get(
            self.reason, ""
        )


def in_words(value: float | None) -> str:
    """Return a number with about four digits, without exponents as far as possible."""
    if value is None:
        return "–"
    if value != 0 and not 1e-4 <= abs(value) < 1e9:
        return "0" if abs(value) < 1e-9 else f"{value:.3e}"
    return f"{value:,.{max(0, 3 - math.floor(math.log10(abs(value))) if value else 0)}f}"


class Opened(NamedTuple):
    """The session began, with this design, policy, seed and number of numerics."""

    design: Spec
    policy: Spec
    seed: int
    numerics: int


class Enrolled(NamedTuple):
    """A unit came, was given the next round, and its first context was observed."""

    unit: str
    round: int
    context: Context


class Assigned(NamedTuple):
    """A decision was made for a unit that had arrived at a stage."""

    decision: Decision

    @property
    def unit(self) -> str:
        """The unit that the decision is for."""
        return self.decision.unit


class Overridden(NamedTuple):
    """Another arm than the one decided was really given."""

    unit: str
    stage: str
    arm: str
    reason: str


class Responded(NamedTuple):
    """The context at a later stage was observed; the unit enters the stage, or leaves early."""

    unit: str
    stage: str
    context: Context


class Completed(NamedTuple):
    """The outcome was observed."""

    unit: str
    outcome: float


class Withdrawn(NamedTuple):
    """The unit was lost: nothing more will be observed."""

    unit: str
    reason: str


class Corrected(NamedTuple):
    """A recorded outcome, or columns of a recorded context, were found to be wrong."""

    unit: str
    outcome: float | None
    stage: str | None
    context: Context | None
    reason: str


Fact = Enrolled | Assigned | Overridden | Responded | Completed | Withdrawn | Corrected
Event = Opened | Fact
