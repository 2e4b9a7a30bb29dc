"""What a learner believes, as people read it: one matrix for each stage, and a factor of the rows of each arm."""

from __future__ import annotations

import numpy as np
import pytest

import dtrbandit as dtr
from dtrbandit.estimators.estimates import Estimates, factors_by_arm, per_stage
from estimators.few_units import observed_units, small_design

DESIGN = small_design()


def test_padding_is_cut_off_and_nothing_is_shared() -> None:
    padded = np.arange(2 * 3 * 4, dtype=np.float64).reshape(2, 3, 4)

    first, second = per_stage(DESIGN, padded)
    padded[:] = 0.0

    assert first.tolist() == [[0.0, 1.0], [4.0, 5.0]]
    assert second.tolist() == [[12.0, 13.0, 14.0], [16.0, 17.0, 18.0]]


@pytest.mark.parametrize("units", [3, 9, 60], ids="{} units".format)
def test_a_factor_has_the_gram_matrix_and_the_rank_of_the_rows_that_count(units: int) -> None:
    seen = observed_units(DESIGN, units)
    counted = np.ones((units, 2), dtype=np.bool_)
    counted[units // 2] = False

    factors = factors_by_arm(DESIGN, seen, np.arange(units), counted)

    for m, d in enumerate(DESIGN.dimensions):
        for arm, factor in enumerate(factors[m]):
            own = [unit for unit in range(units) if unit != units // 2 and seen.arms[unit, m] == arm]
            rows = np.asarray(seen.features)[own, m, :d]
            assert factor.shape == (min(len(rows), d), d)
            np.testing.assert_allclose(factor.T @ factor, rows.T @ rows, rtol=1e-12, atol=1e-12)
            assert np.linalg.matrix_rank(factor) == np.linalg.matrix_rank(rows)


def test_factors_of_some_units_are_those_of_all_where_only_their_rows_count() -> None:
    seen, some = observed_units(DESIGN, 30), np.array([2, 3, 5, 8, 13, 21, 22, 23, 29])
    counted = np.zeros((30, 2), dtype=np.bool_)
    counted[some] = True
    counted[3, 1] = False

    factors = factors_by_arm(DESIGN, seen, some, counted[some])

    assert repr(factors) == repr(factors_by_arm(DESIGN, seen, np.arange(30), counted))


def test_an_arm_without_rows_has_an_empty_matrix_of_its_width() -> None:
    none = factors_by_arm(DESIGN, observed_units(DESIGN, 3), np.arange(3), np.zeros((3, 2), dtype=np.bool_))

    assert [[own.shape for own in stage] for stage in none] == [[(0, 2)] * 2, [(0, 3)] * 2]


def test_who_estimates_nothing_has_nothing_to_tell() -> None:
    state = dtr.UniformRandom().init(DESIGN)

    assert state.estimates() == Estimates(hat=()) == ((), None, (), ())
