"""Patients of the simulated STAR*D: what would happen to them, and what the trial did with them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dtrbandit.environments import stard_law as law
from dtrbandit.environments import stard_values
from dtrbandit.environments.stard_law import Indices
from dtrbandit.kernels.arrays import Array, Mask


class Nature(NamedTuple):
    """What would happen to n patients: (n,), after each first arm (2, n), and after each second (2, 2, n).

    Attributes
    ----------
    baseline
        The score before the level before stage 1.
    weeks1, weeks2
        How long that level and stage 1 take, as places in ``law.WEEKS``.
    start2
        Of one in remission, end₁.
    """

    baseline: Array
    weeks1: Indices
    start1: Array
    preference1: Array
    end1: Array
    weeks2: Indices
    preference2: Array
    start2: Array
    end2: Array

    @property
    def slope1(self) -> Array:
        """The change of the score per week before stage 1."""
        slope: Array = (self.start1 - self.baseline) / law.WEEKS[self.weeks1]
        return slope

    @property
    def slope2(self) -> Array:
        """The change of the score per week over stage 1."""
        slope: Array = (self.end1 - self.start1) / law.WEEKS[self.weeks2]
        return slope

    def outcome(self, end2: Array) -> Array:
        """Return Y, (2, 2, n), or, given the mean of end₂, the mean of Y; NaN where infeasible."""
        end1 = self.end1[:, None]
        outcome = -np.where(end1 <= law.REMISSION, end1, (end1 + end2) / 2)
        outcome[1, 0] = np.nan  # an SSRI after another first drug
        return outcome

    def second_q(self) -> Array:
        """Return Q₂, (2, 2, n); of one in remission, Y."""
        place = _place(self.end1 - self.start1, stard_values.LEAST_CHANGE), self.weeks2, _place(self.start2)
        return self.outcome(np.moveaxis(stard_values.end2()[(*place, _column(self.preference2))], -1, 1))

    def first_q(self) -> Array:
        """Return Q₁, (2, n)."""
        place = _place(self.start1, law.START[0]), _place(self.baseline, law.BASELINE[0]), self.weeks1
        q: Array = stard_values.first()[(*place, _column(self.preference1))].T
        return q


class Treated(NamedTuple):
    """What the trial did with n patients: arms by number, and who was in remission or dropped out after stage 1."""

    arm1: Indices
    arm2: Indices
    remitted: Mask
    lost: Mask


def draw_nature(n: int, rng: np.random.Generator) -> Nature:
    """Draw n patients. What follows one arm is independent of what follows another, given what came before."""
    baseline = law.rounded(law.BASELINE_MEAN + law.BASELINE_SD * rng.standard_normal(n), *law.BASELINE)
    start1 = law.rounded(law.start_mean(baseline) + law.START_SD * rng.standard_normal(n), *law.START)
    weeks1 = _weeks(law.WEEKS_BEFORE, (n,), rng)
    slope1 = (start1 - baseline) / law.WEEKS[weeks1]
    preference1 = _signs(law.first_preference(start1, slope1), rng)
    mean = law.end_mean(start1, slope1, preference1, law.ARMS[:, None])
    end1 = law.rounded(mean + law.END_SD * rng.standard_normal((2, n)))
    weeks2 = _weeks(law.WEEKS_FIRST, (2, n), rng)
    slope2 = (end1 - start1) / law.WEEKS[weeks2]
    preference2 = _signs(law.second_preference(preference1, slope2), rng)
    start2 = law.rounded(law.start2_mean(end1) + law.START2_SD * rng.standard_normal((2, n)))
    start2 = np.where(end1 <= law.REMISSION, end1, start2)
    mean = law.end2_mean(start2[:, None], slope2[:, None], preference2[:, None], law.ARMS[:, None])
    end2 = law.rounded(mean + law.END2_SD * rng.standard_normal((2, 2, n)))
    return Nature(baseline, weeks1, start1, preference1, end1, weeks2, preference2, start2, end2)


def treat(nature: Nature, rng: np.random.Generator) -> Treated:
    """Give arms, and lose patients, with the probabilities of the trial."""
    n = len(nature.start1)
    rows = np.arange(n)
    arm1 = (rng.random(n) >= law.logged_first(nature.preference1)).astype(np.int64)
    given, end1, slope2 = law.ARMS[arm1], nature.end1[arm1, rows], nature.slope2[arm1, rows]
    remitted = end1 <= law.REMISSION
    lost = ~remitted & (rng.random(n) < law.dropout(end1, slope2, given, nature.preference1))
    arm2 = (rng.random(n) >= law.logged_second(nature.preference2[arm1, rows], given)).astype(np.int64)
    return Treated(arm1, arm2, remitted, lost)


def _weeks(chances: Array, size: tuple[int, ...], rng: np.random.Generator) -> Indices:
    return np.searchsorted(np.cumsum(chances)[:-1], rng.random(size), side="right")


def _signs(chance: Array, rng: np.random.Generator) -> Array:
    return np.where(rng.random(chance.shape) < chance, 1.0, -1.0)


def _place(score: Array, lowest: int = 0) -> Indices:
    return (score - lowest).astype(np.int64)


def _column(preference: Array) -> Indices:
    """Return the place of ±1 in a table: +1 comes first."""
    return (preference < 0).astype(np.int64)
