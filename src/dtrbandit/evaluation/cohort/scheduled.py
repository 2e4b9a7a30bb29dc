"""Units of a log as their arms were decided, and those of forced rounds alone."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from dtrbandit.errors import DesignError, NotEstimable
from dtrbandit.evaluation.cohort.origin import RANDOMISED, Origin, Recorded
from dtrbandit.kernels.arrays import Mask

if TYPE_CHECKING:
    from dtrbandit.evaluation.cohort.cohort import Cohort


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
