"""What a learner believes, as people read it: one matrix for each stage, and the rows behind each arm."""

from __future__ import annotations

import numpy as np

from dtrbandit.estimators.estimates import per_stage, rows_by_arm
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
            assert own.tolist() == seen.features[units, m, :d].tolist()


def test_an_arm_without_rows_has_an_empty_matrix_of_its_width() -> None:
    none = rows_by_arm(DESIGN, observed_units(DESIGN, 3), np.zeros((3, 2), dtype=np.bool_))

    assert [[own.shape for own in stage] for stage in none] == [[(0, 2)] * 2, [(0, 3)] * 2]
