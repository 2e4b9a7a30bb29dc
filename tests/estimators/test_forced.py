"""Backward induction over some of the rows, against least squares written down plainly."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from dtrbandit.estimators.forced import fit, forced_induction, known_target
from dtrbandit.estimators.observed import Observed
from dtrbandit.kernels.triangular import BETA, FACTOR
from estimators.few_units import observed_units, small_design
from plain.least_squares import least_squares

Array = NDArray[np.float64]
DESIGN = small_design()
FORCED = np.arange(0, 40, 2)  # the units of forced rounds


def empty() -> Array:
    return np.full((2, 2, 3), np.nan)


def plain(seen: Observed, units: list[int]) -> list[list[Array | None]]:
    """Return the coefficients of each stage and arm, from all rows of these units."""
    fits: list[list[Array | None]] = []
    for m in (1, 0):
        later = fits[0] if fits else []
        own = []
        for arm in range(2):
            rows, targets = [], []
            for unit in units:
                if seen.arms[unit, m] != arm:
                    continue
                target = seen.outcome[unit] if seen.last[unit] == m else np.nan
                if np.isnan(target) and seen.nodes[unit, 1] >= 0:
                    values = [
                        beta @ seen.features[unit, 1]
                        for k, beta in enumerate(later)
                        if beta is not None and seen.child[seen.nodes[unit, 1], k] >= 0
                    ]
                    target = max(values)
                rows.append(seen.features[unit, m, : DESIGN.dimensions[m]])
                targets.append(target)
            own.append(least_squares(np.array(rows), np.array(targets)).coefficients if rows else None)
        fits.insert(0, own)
    return fits


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("leave", [0, 5], ids=["all go on", "some leave"])
def test_it_equals_least_squares_on_these_rows(seed: int, leave: int) -> None:
    seen, tilde = observed_units(DESIGN, 40, seed=seed, leave=leave), empty()

    forced_induction(seen, FORCED, len(FORCED), seen.arms, tilde, 0, 1)

    for m, arms in enumerate(plain(seen, FORCED.tolist())):
        for arm, beta in enumerate(arms):
            assert beta is not None
            assert tilde[m, arm, : DESIGN.dimensions[m]] == pytest.approx(beta, abs=1e-10)


def test_only_the_stages_that_are_asked_for_are_refitted() -> None:
    seen, tilde = observed_units(DESIGN, 40), empty()

    forced_induction(seen, FORCED, len(FORCED), seen.arms, tilde, 1, 1)

    assert np.isnan(tilde[0]).all()
    assert np.isfinite(tilde[1]).all()


def test_a_row_whose_arm_was_not_the_chosen_one_is_left_out() -> None:
    seen, tilde, other = observed_units(DESIGN, 40), empty(), empty()
    chosen = seen.arms.copy()
    chosen[FORCED[0]] = 1 - chosen[FORCED[0]]  # an override

    forced_induction(seen, FORCED, len(FORCED), chosen, tilde, 1, 1)
    forced_induction(seen, FORCED[1:], len(FORCED) - 1, seen.arms, other, 1, 1)

    assert tilde[1].tolist() == other[1].tolist()


def test_the_target_of_a_unit_that_is_still_under_way_is_not_known() -> None:
    seen, tilde = observed_units(DESIGN, 3), np.ones((2, 2, 3))
    seen.last[0], seen.last[1], seen.nodes[1, 1] = -1, -1, -1

    assert known_target(seen, tilde, 0, 0) == pytest.approx(seen.features[0, 1].sum())  # each arm's Q̃ is the sum
    assert np.isnan(known_target(seen, tilde, 0, 1))
    assert np.isnan(known_target(seen, tilde, 1, 0))
    assert known_target(seen, tilde, 2, 1) == seen.outcome[2]


def test_an_arm_without_rows_has_no_coefficients() -> None:
    page = np.zeros((FACTOR + 4, 2))

    fit(page, 2, 0)

    assert np.isnan(page[BETA]).all()
