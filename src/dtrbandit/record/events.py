"""The facts that a log holds, and the decision for a unit that arrives at a stage."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from dtrbandit.words import short_number

new = tuple.__new__  # makes a named tuple of its fields, ``new(Completed, (unit, outcome))``, in half the time
Spec = Mapping[str, object]
Context = Mapping[str, float]
Excluded = Mapping[str, tuple[str, ...]]  # arms by stage
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
    infeasible
        The arms that the design allows here and that this unit cannot have, each with the reason: ``contraindicated``,
        ``closed``, or that no arm would be left after it.
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
    infeasible: tuple[tuple[str, str], ...] = ()

    def __str__(self) -> str:
        what = f"{self.arm} was given" if self.reason == "override" else f"give {self.arm}"
        why = f"; {REASONS[self.reason]}" if self.reason in REASONS else ""
        head = [
            f"Unit {self.unit} (round {self.round}), stage {self.stage}: {what}.",
            f"Reason: {self.reason}{why}.",
        ]
        if self.propensity is not None and self.propensity < 1:
            head.append(f"The chance of this arm, before the draw, was {self.propensity:.3g}.")
        head += [f"Not feasible: {arm} ({why})." for arm, why in self.infeasible]
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
            cells = "".join(f"{short_number(values[arm]):>16}" for values in columns.values())
            lines.append(f"{mark} {arm:<{width - 2}}{cells}{self._remark(arm)}")
        return lines

    def _remark(self, arm: str) -> str:
        if arm in self.contenders:
            return ""
        if arm in dict(self.infeasible):
            return "   not feasible"
        return {"clear": "   ruled out", "close": "   ruled out", "only_feasible": "   not feasible"}.get(
            self.reason, ""
        )


class Opened(NamedTuple):
    """The session began, with this design, policy, seed and number of numerics.

    ``rehearsal`` is the last hash of the rehearsal that came before, for a trial that was locked.
    """

    design: Spec
    policy: Spec
    seed: int
    numerics: int
    rehearsal: str | None = None


class Taught(NamedTuple):
    """A unit of an earlier trial taught what happened to it. It has no round, and is no unit of this trial.

    Attributes
    ----------
    contexts
        One for each stage that it arrived at, the one that it left at included.
    arms
        Labels of the arms that it was given, in order.
    outcome
        None if it dropped out.
    """

    unit: str
    contexts: tuple[Context, ...]
    arms: tuple[str, ...]
    outcome: float | None


class Enrolled(NamedTuple):
    """A unit came, was given the next round, and its first context was observed; some arms may be contraindicated.

    ``site`` is the site that enrolled it. It never influences a decision.
    """

    unit: str
    round: int
    context: Context
    exclude: Excluded | None = None
    reason: str | None = None  # why they are
    site: str | None = None


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
    """The context at a later stage was observed; the unit enters the stage, or leaves early.

    Arms of this stage and later ones may be contraindicated from now on.
    """

    unit: str
    stage: str
    context: Context
    exclude: Excluded | None = None
    reason: str | None = None


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


class Held(NamedTuple):
    """Accrual was held, everywhere or at one site: no unit enrols until it is released. Units under way go on."""

    reason: str
    site: str | None = None


class Released(NamedTuple):
    """Units may enrol again, everywhere or at one site. What is held elsewhere stays held."""

    reason: str
    site: str | None = None


class ArmClosed(NamedTuple):
    """An arm of a stage is not given any more, to anybody."""

    stage: str
    arm: str
    reason: str


class Ended(NamedTuple):
    """The trial ended: nothing more is decided. Late outcomes and amendments still come on record."""

    reason: str


class Upgraded(NamedTuple):
    """Another release went on with the trial: later decisions have its numerics."""

    numerics: int
    release: str
    reason: str


class Voided(NamedTuple):
    """The unit should never have been enrolled: its round stays used, and it teaches nothing."""

    unit: str
    reason: str


class Unblinded(NamedTuple):
    """Somebody was shown the unit's whole story, for a reason. It teaches nothing."""

    unit: str
    reason: str


UnitFact = Enrolled | Assigned | Overridden | Responded | Completed | Withdrawn | Corrected | Voided | Unblinded
TrialFact = Held | Released | ArmClosed | Ended | Upgraded  # of the trial as a whole
Fact = UnitFact | TrialFact | Taught
Event = Opened | Fact
AMENDMENTS = frozenset((Overridden, Corrected, Voided, ArmClosed))  # whatever may change what was learnt
TEACHES = AMENDMENTS | {Enrolled, Assigned, Responded, Completed, Withdrawn, Taught}  # what a policy is told of


def unit_of(event: object) -> str:
    """Return the unit of an event that is not checked yet; an empty text if it has none."""
    unit = getattr(getattr(event, "decision", event), "unit", None)
    return unit if isinstance(unit, str) else ""


# The format of a log that each kind of event came with, and "Event.field" for a field with a default; others: 1, and 2
# for a field with a default. A reader that does not know a format refuses what needs it.
SINCE = dict.fromkeys(("Held", "Released", "ArmClosed", "Voided", "Taught", "Ended", "Upgraded", "Unblinded"), 2)
BEYOND_ASCII = 3  # the format of a line with other characters than those of ASCII
