"""The arrays of the exact learner: their shapes, and room for more units."""

from __future__ import annotations

import numpy as np
import pytest

from dtrbandit.estimators.exact_layout import BLOCK, FREE, LEVELS, LIMIT, create, grow
from dtrbandit.kernels.triangular import FACTOR
from estimators.few_units import small_design
from estimators.oracle import bare_design

DESIGN = small_design()


def test_a_page_has_room_for_the_factor_the_operator_and_the_cross_moments() -> None:
    beliefs = create(DESIGN)

    assert beliefs.pages.shape == (2, 2, FACTOR + 3 + 3 + 2 * 3, 3)  # (M, K, …, D)
    assert beliefs.whitener.shape == (1, 3, 3)
    assert beliefs.sizes.shape == (LIMIT + 2,)
    assert len(beliefs.counted) == 0


def test_no_block_is_free_before_one_was_given_back() -> None:
    assert create(DESIGN).chains[:, LEVELS, FREE].tolist() == [-1]


def test_a_design_of_one_stage_has_no_links() -> None:
    beliefs = grow(create(bare_design([(0,), (1,)], [2], [2])), 10)

    assert all(len(array) == 0 for array in (beliefs.whitener, beliefs.chains, beliefs.cells, beliefs.tags))


@pytest.mark.parametrize("capacity", [1, BLOCK, BLOCK + 1, 1000])
def test_there_are_blocks_for_all_units_however_they_are_spread_over_levels(capacity: int) -> None:
    beliefs = grow(create(DESIGN), capacity)

    blocks = beliefs.follows.shape[1]
    assert blocks * BLOCK == beliefs.cells.shape[1] == beliefs.tags.shape[1]
    assert (blocks - LEVELS - 1) * BLOCK >= capacity  # one block of each level may be partly filled, one is being read
    assert beliefs.counted.shape == (capacity, 2)


def test_growing_keeps_what_is_there_and_shares_the_small_arrays() -> None:
    before = grow(create(DESIGN), 5)
    before.cells[:] = 7.0
    before.tags[:] = 3
    before.counted[2] = True

    after = grow(before, 500)

    assert after.pages is before.pages
    assert after.chains is before.chains
    assert np.array_equal(after.cells[:, : before.cells.shape[1]], before.cells)
    assert np.array_equal(after.tags[:, : before.tags.shape[1]], before.tags)
    assert after.counted.sum() == before.counted.sum() == 2
