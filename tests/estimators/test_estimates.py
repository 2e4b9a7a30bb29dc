"""What a learner believes, as people read it: one matrix for each stage, and the rows behind each arm."""

from __future__ import annotations

import numpy as np

import dtrbandit as dtr
from dtrbandit.estimators.estimates import Estimates, per_stage, rows_by_arm
from dtrbandit.estimators.exact import ExactLearner
from estimators.few_units import observed_units, small_design

DESIGN = small_design()


def test_padding_is_cut_off_and_nothing_is_shared() -> None:
    padded = np.arange(2 * 3 * 4, dtype=np.float64).reshape(2, 3, 4)

    first, second = per_stage(DESIGN, padded)
    padded[:] = 0.0

    assert first.tolist() == [[0.0, 1.0], [4.0, 5.0]]
    assert second.tolist() == [[12.0, 13.0, 14.0], [16.0, 17.0, 18.0]]


def test_rows_are_those_that_count_each_with_its_arm() -> None:
    seen = observed_units(DESIGN, 9)
    counted = np.ones((9, 2), dtype=np.bool_)
    counted[4] = False

    rows = rows_by_arm(DESIGN, seen, counted)

    for m, d in enumerate(DESIGN.dimensions):
        assert sum(map(len, rows[m])) == 8
        for arm, own in enumerate(rows[m]):
            units = [unit for unit in range(9) if unit != 4 and seen.arms[unit, m] == arm]
            assert own.tolist() == np.asarray(seen.features)[units, m, :d].tolist()


def test_rows_can_be_read_off_the_flags_of_a_learner() -> None:
    seen = observed_units(DESIGN, 9)
    learner = ExactLearner(seen)
    learner.reserve(9)
    np.asarray(learner.counted)[2:5] = 1

    rows = rows_by_arm(DESIGN, seen, learner.counted)

    assert [sum(map(len, stage)) for stage in rows] == [3, 3]


def test_an_arm_without_rows_has_an_empty_matrix_of_its_width() -> None:
    none = rows_by_arm(DESIGN, observed_units(DESIGN, 3), np.zeros((3, 2), dtype=np.bool_))

    assert [[own.shape for own in stage] for stage in none] == [[(0, 2)] * 2, [(0, 3)] * 2]


def test_who_estimates_nothing_has_nothing_to_tell() -> None:
    state = dtr.UniformRandom().init(DESIGN)

    assert state.estimates() == Estimates(hat=()) == ((), None, (), ())
