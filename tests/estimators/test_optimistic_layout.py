"""The arrays of the optimistic ridge regression: their shapes, and room for more units."""

from __future__ import annotations

import numpy as np
import pytest

from dtrbandit.estimators.optimistic_layout import BLOCK, create, grow
from estimators.few_units import small_design

DESIGN = small_design()


def test_each_arm_has_a_factor_and_three_rows_below_it() -> None:
    beliefs = create(DESIGN)

    assert beliefs.ridge.shape == (2, 2, 2, 3 + 3, 3)  # in use and now, M, K, D + 3, D
    assert beliefs.fixed.shape == (2, 2, 3)
    assert beliefs.latest.tolist() == [[-1] * len(DESIGN.tree.feasible)]
    assert beliefs.used.tolist() == [0]


@pytest.mark.parametrize("capacity", [1, BLOCK, BLOCK + 1, 1000])
def test_there_are_blocks_for_all_units_however_they_are_spread_over_nodes(capacity: int) -> None:
    beliefs, nodes = grow(create(DESIGN), capacity), len(DESIGN.tree.child)

    blocks = beliefs.owners.shape[1]
    assert beliefs.blocks.shape == (1, blocks, 2, 3, BLOCK)
    assert beliefs.values.shape == (1, blocks, 2, BLOCK)
    assert beliefs.valued.shape == (1, blocks, 2)
    partly = min(nodes, capacity)  # so many nodes may have a block that is partly filled
    assert (blocks - partly) * BLOCK >= capacity


def test_growing_keeps_what_is_there() -> None:
    before = grow(create(DESIGN), 5)
    kept = ("owners", "blocks", "values", "valued")
    for number, name in enumerate(kept, 1):
        getattr(before, name)[:] = number

    after = grow(before, 5 * BLOCK)

    held = before.owners.shape[1]
    assert after.ridge is before.ridge
    for name in kept:
        assert np.array_equal(getattr(after, name)[:, :held], getattr(before, name))
        assert not getattr(after, name)[:, held:].any()
