"""How the arms of a cohort came about, and what a log recorded when each was decided."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from dtrbandit.design.values import shown
from dtrbandit.errors import DesignError, NotEstimable
from dtrbandit.kernels.arrays import Mask, Matrix
from dtrbandit.record.events import Event
from dtrbandit.words import counted

if TYPE_CHECKING:
    import pandas as pd

    from dtrbandit.evaluation.cohort.cohort import Cohort

Kind = Literal["randomised", "observational", "adaptive"]
RANDOMISED, OBSERVATIONAL, ADAPTIVE = get_args(Kind)
COLUMN = "dtrbandit_origin"  # of an exported trial: how its arms came about
CERTAIN = 1e-12  # how close to 0 or 1 a probability is one of them

GAVE = {
    RANDOMISED: "{who} at random",
    OBSERVATIONAL: "{who} by the unit's own record, not at random",
    ADAPTIVE: "{who} by what earlier units had taught: units are not independent",
}
ASSUMED = "Origin not stated: intervals assume that no policy learnt from earlier units."
NO_CONFOUNDING = (
    "No unmeasured confounding: among units with the same recorded history, which arm was given has nothing to do with "
    "what would have followed."
)
NOT_STATED = f"{ASSUMED} Say who chose the arms by origin= (--origin), or read the log by Cohort.from_log."


@dataclass(frozen=True, eq=False)
class Recorded:
    """What a log says of the decisions of n units at M stages.

    Attributes
    ----------
    arms
        (n, M): the arm decided, whether it was given or not; −1 where none was.
    feasible
        For each stage the arms that could be decided, (n, K_m); none where there was no decision.
    propensities
        For each stage the probability of each arm given the log by then, (n, K_m), 0 where infeasible. A log records
        that of the arm decided. With two feasible arms the other has the rest, and beside a certain arm the others
        have 0. Elsewhere those of the others are NaN, and so is everything without a decision.
    forced
        (n, M): whether the schedule forced the arm, reason ``forced``.
    enrolled, ended
        (n,): the position in the log of a unit's first event, and of its outcome or withdrawal.
    """

    arms: NDArray[np.int8]
    feasible: tuple[Mask, ...]
    propensities: tuple[Matrix, ...]
    forced: Mask
    enrolled: NDArray[np.int64]
    ended: NDArray[np.int64]

    @property
    def decided(self) -> Mask:
        """Which units had a decision at which stage, (n, M)."""
        decided: Mask = self.arms >= 0
        return decided

    @property
    def propensity(self) -> Matrix:
        """The probability of the arm decided, (n, M); NaN where none was."""
        chosen = [
            np.take_along_axis(own, np.maximum(arms, 0).astype(np.int64)[:, None], axis=1)[:, 0]
            for own, arms in zip(self.propensities, self.arms.T, strict=True)
        ]
        return np.where(self.decided, np.stack(chosen, axis=1), np.nan)

    @property
    def chosen_freely(self) -> Mask:
        """Which decisions were neither forced nor the only one possible, (n, M)."""
        several = np.stack([own.sum(axis=1) > 1 for own in self.feasible], axis=1)
        free: Mask = several & ~self.forced
        return free

    def of(self, rows: Mask | NDArray[np.int64]) -> Recorded:
        """Return what is recorded of some units."""
        return Recorded(
            self.arms[rows],
            tuple(own[rows] for own in self.feasible),
            tuple(own[rows] for own in self.propensities),
            self.forced[rows],
            self.enrolled[rows],
            self.ended[rows],
        )


@dataclass(frozen=True)
class Waiting:
    """Units of a log that are none of the cohort's, since a unit enrolled before them has not ended.

    Attributes
    ----------
    first
        The first unit that has not ended.
    in_flight, ended
        How many units from there on are under way, and how many have ended.
    """

    first: str
    in_flight: int
    ended: int

    def __str__(self) -> str:
        return (
            f"Left out: all units from {self.first!r} on, the first that is still under way ({self.in_flight:,} under "
            f"way, {self.ended:,} ended). Who leaves early ends first, so that those who have ended by now are a "
            "biased sample."
        )


@dataclass(frozen=True, eq=False)
class Origin:
    """How arms came about.

    Attributes
    ----------
    kind
        ``"randomised"``; ``"observational"``: by the unit's own record; or ``"adaptive"``: by what earlier units had
        taught a policy.
    policy
        The policy whose log this is; None for a frame.
    recorded
        What the log says of each decision; None for a frame.
    waiting
        The units of the log that had to be left out; None if all have ended.
    among
        Of how many units these are the ones in forced rounds; None if they are not forced rounds alone.
    overridden
        How many units were given another arm than was decided, and count as decided.
    freed
        How many units were left out, because an override, or a contraindicated or closed arm, changed which arms could
        follow.
    log
        The log itself, by which its policy can be asked again; None for a frame.
    """

    kind: Kind
    policy: str | None = None
    recorded: Recorded | None = None
    waiting: Waiting | None = None
    among: int | None = None
    overridden: int = 0
    freed: int = 0
    log: Sequence[Event] | None = field(default=None, repr=False)

    @classmethod
    def named(cls, kind: object) -> Origin | None:
        """Return the origin of a frame's arms as its reader names it; None if nothing is said."""
        if kind is None:
            return None
        for known in get_args(Kind):
            if kind == known:
                return cls(known)
        raise DesignError(f"origin must be one of {', '.join(map(repr, get_args(Kind)))}, or None; found {shown(kind)}")

    @classmethod
    def of_export(cls, frame: pd.DataFrame) -> Origin | None:
        """Return the origin that the export of a trial names; None for any other frame, and where none is named."""
        cells = frame[COLUMN].dropna().unique().tolist() if COLUMN in frame.columns else []
        kinds = [cell for cell in cells if cell != ""]
        if len(kinds) > 1:
            raise DesignError(
                f"the column {COLUMN!r} tells of arms that came about in {len(kinds)} ways: {shown(kinds)}; read the "
                "export of one trial at a time, or say origin="
            )
        return cls.named(kinds[0]) if kinds else None

    @property
    def known_choice(self) -> str | None:
        """How ``PropensityModel`` names the known probabilities of the arms; None if they are not known."""
        if self.kind != RANDOMISED or self.recorded is None:
            return None
        return "recorded" if self.among is None else "shares"

    def of(self, rows: Mask | NDArray[np.int64]) -> Origin:
        """Return the origin of some units."""
        return self if self.recorded is None else replace(self, recorded=self.recorded.of(rows))

    def describe(self, units: int) -> Iterator[str]:
        """Say how the arms of so many units came about."""
        if self.among is not None:
            among = counted(self.among, "unit")
            yield f"Forced rounds of {self.policy} alone, {units:,} of {among}: a randomised trial."
        else:
            yield f"{GAVE[self.kind].format(who=_who(self.policy))}."
            if self.kind == ADAPTIVE:
                yield from self._decisions()
        if self.overridden:
            yield f"{self.overridden:,} of them had another arm than was decided, and count as decided."
        if self.freed:
            yield (
                f"Left out: {self.freed:,} for whom an override, or an arm that was contraindicated or closed, changed "
                "which arms could follow. If that depends on the patient, the others are a biased sample."
            )
        if self.waiting is not None:
            yield str(self.waiting)

    def _decisions(self) -> Iterator[str]:
        if self.recorded is None:
            yield "No propensities are on record."
            return
        free, forced = self.recorded.chosen_freely, self.recorded.forced
        yield f"Decisions: {forced.sum():,} forced, {free.sum():,} free."
        own = self.recorded.propensity[free]
        if own.size:
            certain = int((own >= 1 - CERTAIN).sum())
            yield f"Recorded propensities of free decisions: {own.min():.3g} to {own.max():.3g}; {certain:,} certain."


def _who(policy: str | None) -> str:
    return "Arms were given" if policy is None else f"{policy} gave the arms"


def describe_origin(cohort: Cohort) -> Iterator[str]:
    """Say how the arms of a cohort came about, or what numbers take for granted where nobody has said it."""
    if cohort.origin is None:
        yield NOT_STATED
    else:
        yield from cohort.origin.describe(len(cohort))


def assumptions(cohort: Cohort) -> Iterator[str]:
    """Say what numbers take for granted about how the arms of a cohort came about."""
    yield " ".join(describe_origin(cohort))
    if cohort.origin is None or (cohort.origin.kind != RANDOMISED and cohort.origin.recorded is None):
        yield NO_CONFOUNDING


def recorded_of(cohort: Cohort) -> tuple[Origin, Recorded]:
    """Return what is on record of a cohort's decisions, or say where to get it."""
    if cohort.origin is None or cohort.origin.recorded is None:
        raise DesignError("no decisions are on record for this cohort; Cohort.from_log(log) reads them from a log")
    return cohort.origin, cohort.origin.recorded


def overridden(cohort: Cohort) -> Mask:
    """Return which units were given another arm than was decided, at which stage, (n, M)."""
    if cohort.origin is None or cohort.origin.recorded is None:
        return np.zeros(cohort.arms.shape, dtype=np.bool_)
    recorded = cohort.origin.recorded
    changed: Mask = recorded.decided & (cohort.arms != recorded.arms)
    return changed


def as_scheduled(cohort: Cohort) -> Cohort:
    """Return the units with the arms that were decided, in place of those that overrides gave.

    A unit is left out if its override changed which arms could be decided at a later stage.
    """
    origin, recorded = recorded_of(cohort)
    changed = overridden(cohort).any(axis=1)
    if not changed.any():
        return cohort
    scheduled, possible = _decided(cohort, recorded)
    found = replace(
        origin,
        overridden=origin.overridden + int((changed & possible).sum()),
        freed=origin.freed + int((~possible).sum()),
    )
    return replace(scheduled, origin=found).of(possible)


def forced_alone(cohort: Cohort) -> Cohort:
    """Return the units all of whose decisions were forced, with the arms that were scheduled.

    A later decision that was the only one possible counts as forced. Otherwise units who could not have an arm would be
    left out after some plans, and kept after others.
    """
    origin, recorded = recorded_of(cohort)
    scheduled, possible = _decided(cohort, recorded)
    begun = recorded.forced[:, 0]
    whole = begun & possible & ~recorded.chosen_freely.any(axis=1)
    if not whole.any():
        raise NotEstimable(
            f"none of the {len(cohort):,} units was in a forced round of {origin.policy}; such rounds are those of "
            "DTRBandit, and the initial pulls of Greedy and EpsilonGreedy"
        )
    found = replace(
        origin,
        kind=RANDOMISED,
        among=len(cohort),
        overridden=origin.overridden + int((overridden(cohort).any(axis=1) & whole).sum()),
        freed=origin.freed + int((begun & ~whole).sum()),
    )
    return replace(scheduled, origin=found).of(whole)


def _decided(cohort: Cohort, recorded: Recorded) -> tuple[Cohort, Mask]:
    """Return all units with the arms decided, and for which of them these could be decided one after the other."""
    scheduled = replace(cohort, arms=recorded.arms, propensities=None)
    stages = zip(scheduled.feasible, recorded.feasible, recorded.decided.T, strict=True)
    possible: Mask = np.all([(own == then).all(axis=1) | ~decided for own, then, decided in stages], axis=0)
    return scheduled, possible
