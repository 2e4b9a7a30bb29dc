"""A simulated STAR*D: depressed patients, two stages, an SSRI or another drug at each (paper, section 5.3)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dtrbandit.design.spec import Design
from dtrbandit.design.stages import Stage
from dtrbandit.design.values import real, shown, whole
from dtrbandit.environments import stard_values
from dtrbandit.environments.potential_outcomes import PotentialOutcomes, units_first
from dtrbandit.environments.stard_law import REMISSION
from dtrbandit.environments.stard_nature import draw_nature, treat
from dtrbandit.errors import DesignError
from dtrbandit.kernels.arrays import Array

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
        second = Stage("second", arms=ARMS, features=formulas[1], enter_if=f"qids_end1 > {REMISSION}")
        return Design([first, second], plans=[(SSRI, SSRI), (SSRI, OTHER), (OTHER, OTHER)])

    @property
    def optimal_value(self) -> float:
        """The mean outcome of the best regime, E max_a Q₁."""
        return stard_values.optimal()

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
