"""The facts a log holds, each a past-tense noun, and the decision that answers an arrival."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

Spec = Mapping[str, object]
Context = Mapping[str, float]
QValues = Mapping[str, float | None]

REASONS = {
    "forced": "this round is scheduled to try this arm, whatever the estimates say",
    "clear": "the forced rounds alone set this arm clearly apart from the others",
    "close": "the forced rounds leave several arms close together; among these it has the best estimate from all units",
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
        Labels; the contenders are the arms among which the policy chose.
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
        head = [
            f"Unit {self.unit} (round {self.round}), stage {self.stage}: give {self.arm}.",
            f"Reason: {self.reason}; {REASONS.get(self.reason, 'see the policy')}.",
        ]
        return "\n".join([*head, *self._table(), *self._chance()])

    def _table(self) -> list[str]:
        if all(value is None for value in (*self.q_tilde.values(), *self.q_hat.values())):
            return ["There are no estimates yet."]
        width = max(map(len, self.q_hat))
        lines = [f"{'Estimated outcome':<{width + 4}}  forced rounds    all units"]
        for arm, hat in self.q_hat.items():
            mark = ">" if arm == self.arm else " "
            left_out = "" if arm in self.contenders else "   not considered"
            lines.append(f"{mark} {arm:<{width + 2}}  {_number(self.q_tilde.get(arm)):>26}{_number(hat):>13}{left_out}")
        return lines

    def _chance(self) -> list[str]:
        if self.propensity is None or self.propensity == 1:
            return []
        return [f"The chance of this arm, before the draw, was {self.propensity:.3g}."]


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:.4g}"


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
