"""A simulated STAR*D: depressed patients, two stages, an SSRI or another drug at each (paper, section 5.3)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dtrbandit.design.spec import Design
from dtrbandit.design.stages import Stage
from dtrbandit.design.values import real, shown, whole
from dtrbandit.environments import stard_law as law
from dtrbandit.environments.potential_outcomes import PotentialOutcomes, units_first
from dtrbandit.errors import DesignError
from dtrbandit.kernels.arrays import Array, Mask

ARMS = SSRI, OTHER = "ssri", "other"
STATUSES = REMITTED, DROPPED_OUT, STAGE_2 = "remitted", "dropped out", "stage 2"


@dataclass(frozen=True, kw_only=True)
class STARD:
    """Patients like those of STAR*D, from a model that was fitted to published aggregates of the trial.

    Label "section: stard". Q-functions are exact finite sums, and not linear. In a draw nobody drops out; in the
    ``logged`` rows some do. ``docs/stard.md`` has the model.

    Parameters
    ----------
    intercept
        Whether features begin with a 1. Those behind the published numbers do; those in the paper's text do not.
    preference
        The numbers that stand for "augment or none" and for "switch". They matter to a linear model without an
        intercept.

    Examples
    --------
    >>> units = STARD().draw(3, np.random.default_rng(0))
    >>> units.outcome.shape, units.design.columns[0]
    ((3, 2, 2), ('qids_start1', 'qids_slope1', 'preference1'))
    >>> round(STARD().optimal_value, 3)
    -7.598
    """

    intercept: bool = True
    preference: tuple[float, float] = (1.0, -1.0)

    def __post_init__(self) -> None:
        if not isinstance(self.intercept, bool):
            raise DesignError(f"STARD: intercept must be True or False, found {shown(self.intercept)}")
        codes = self.preference
        if not isinstance(codes, Sequence) or isinstance(codes, str) or len(codes) != 2 or codes[0] == codes[1]:
            raise DesignError(f"STARD: preference must be two different numbers, found {shown(codes)}")
        numbers = tuple(real(code, f"STARD: preference[{k}]", low=-np.inf) for k, code in enumerate(codes))
        object.__setattr__(self, "preference", numbers)

    @cached_property
    def design(self) -> Design:
        """Remission ends the trial; after a first drug without an SSRI the second has none either."""
        formulas = [f"{int(self.intercept)} + qids_start{m} + qids_slope{m} + preference{m}" for m in (1, 2)]
        first = Stage("first", arms=ARMS, features=formulas[0])
        second = Stage("second", arms=ARMS, features=formulas[1], enter_if=f"qids_end1 > {law.REMISSION}")
        return Design([first, second], plans=[(SSRI, SSRI), (SSRI, OTHER), (OTHER, OTHER)])

    @property
    def optimal_value(self) -> float:
        """The mean outcome of the best regime, E max_a Q₁."""
        return law.optimal_value()

    def draw(self, n: int, rng: np.random.Generator) -> PotentialOutcomes:
        """Draw n units with their true Q-functions; in remission, start₂ is end₁."""
        nature = draw_nature(whole(n, "STARD: n", low=0), rng)
        first = {
            "qids_start1": nature.start1,
            "qids_slope1": nature.slope1,
            "preference1": self._coded(nature.preference1),
        }
        second = {
            "qids_start2": nature.start2,
            "qids_slope2": nature.slope2,
            "preference2": self._coded(nature.preference2),
            "qids_end1": nature.end1,
        }
        contexts = first, {column: units_first(values) for column, values in second.items()}
        q = units_first(nature.first_q()), units_first(nature.second_q())
        return PotentialOutcomes(self.design, contexts, units_first(nature.outcome(nature.end2)), q)

    def logged(self, n: int, rng: np.random.Generator) -> dict[str, NDArray[Any]]:
        """Return n rows as the trial would have recorded them: the analysis table, column by column.

        NaN or None stands for what was not observed. A patient who drops out is last seen at the end of stage 1, with
        end₁ and slope₂. A patient in remission has start₂ = end₁, slope₂ and preference₂, as in a draw.
        """
        nature = draw_nature(whole(n, "STARD: n", low=0), rng)
        arm1, arm2, remitted, lost = treat(nature, rng)
        rows, entered = np.arange(n), ~remitted & ~lost
        after, labels = (arm1, rows), np.array([*ARMS, None], dtype=object)
        return {
            "qids_start1": nature.start1,
            "qids_slope1": nature.slope1,
            "preference1": self._coded(nature.preference1),
            "A1": labels[arm1],
            "qids_end1": nature.end1[after],
            "qids_start2": np.where(lost, np.nan, nature.start2[after]),
            "qids_slope2": nature.slope2[after],
            "preference2": np.where(lost, np.nan, self._coded(nature.preference2[after])),
            "A2": labels[np.where(entered, arm2, 2)],
            "qids_end2": np.where(entered, nature.end2[arm1, arm2, rows], np.nan),
            "status": np.array(STATUSES, dtype=object)[np.where(remitted, 0, np.where(lost, 1, 2))],
            "Y": np.where(lost, np.nan, nature.outcome(nature.end2)[arm1, arm2, rows]),
        }

    def _coded(self, preference: Array) -> Array:
        """Return ±1 in the caller's numbers."""
        return np.where(preference > 0, *self.preference)


# -- patients: what would happen to them, and what the trial did with them ----------------------------------------


class Nature(NamedTuple):
    """What would happen to n patients: (n,), after each first arm (2, n), and after each second (2, 2, n).

    Attributes
    ----------
    baseline
        The score before the level before stage 1.
    weeks1, weeks2
        How long that level and stage 1 take, as indices of ``law.WEEKS``.
    start2
        Of one in remission, end₁.
    """

    baseline: Array
    weeks1: law.Indices
    start1: Array
    preference1: Array
    end1: Array
    weeks2: law.Indices
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
        index = _score_index(self.end1 - self.start1, law.LEAST_CHANGE), self.weeks2, _score_index(self.start2)
        return self.outcome(np.moveaxis(law.end2_table()[(*index, _sign_index(self.preference2))], -1, 1))

    def first_q(self) -> Array:
        """Return Q₁, (2, n)."""
        index = _score_index(self.start1, law.START[0]), _score_index(self.baseline, law.BASELINE[0]), self.weeks1
        q: Array = law.first_table()[(*index, _sign_index(self.preference1))].T
        return q


class Treated(NamedTuple):
    """What the trial did with n patients: arms by number, and who was in remission or dropped out after stage 1."""

    arm1: law.Indices
    arm2: law.Indices
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


def _weeks(chances: Array, size: tuple[int, ...], rng: np.random.Generator) -> law.Indices:
    return np.searchsorted(np.cumsum(chances)[:-1], rng.random(size), side="right")


def _signs(chance: Array, rng: np.random.Generator) -> Array:
    return np.where(rng.random(chance.shape) < chance, 1.0, -1.0)


def _score_index(score: Array, lowest: int = 0) -> law.Indices:
    return (score - lowest).astype(np.int64)


def _sign_index(preference: Array) -> law.Indices:
    """Return where ±1 stands in a table: +1 comes first."""
    return (preference < 0).astype(np.int64)
