"""What runs by columns until machine code is there, against the loops that it runs in the place of: bit for bit."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dtrbandit.estimators import by_columns
from dtrbandit.estimators.exact import clear, rebuild
from dtrbandit.estimators.exact_layout import BLOCK, FILL, LEVELS, ROWS, Beliefs, create, grow
from dtrbandit.estimators.labels import clear_cross
from dtrbandit.estimators.levels import clear_levels
from dtrbandit.estimators.metric import measure
from dtrbandit.estimators.observed import Observed
from dtrbandit.kernels import triangular
from dtrbandit.kernels.compile import LOOPS
from dtrbandit.kernels.triangular import FACTOR
from effort import scaled
from estimators.few_units import observed_units
from estimators.oracle import RandomTrial, bare_design

shapes = st.integers(2, 3).flatmap(
    lambda stages: st.tuples(
        st.lists(st.integers(1, 4), min_size=stages, max_size=stages),
        st.lists(st.integers(1, 4), min_size=stages, max_size=stages),
    )
)
seeds = st.integers(0, 2**32 - 1)
some_examples = settings(max_examples=scaled(40), deadline=None, suppress_health_check=list(HealthCheck))


def learner(shape: tuple[list[int], list[int]], seed: int, steps: int = 150) -> tuple[Observed, Beliefs]:
    """Return what a learner has observed and believes after some random events.

    Features are spoilt afterwards: sums of whole numbers would be the same in any order.
    """
    trial = RandomTrial(*shape, seed)
    for _ in range(steps):
        trial.step()
    features = trial.both.state.observed.features
    features *= trial.rng.normal(1.0, 0.1, features.shape)
    return trial.both.state.observed, trial.both.state.beliefs


def copied(beliefs: Beliefs) -> Beliefs:
    return beliefs._replace(**{name: array.copy() for name, array in beliefs._asdict().items()})


def bits(beliefs: Beliefs) -> list[bytes]:
    return [array.tobytes() for array in beliefs]


def both_ways(columns: Callable[..., Any], observed: Observed, beliefs: Beliefs, m: int) -> Beliefs:
    """Run a function and its loop on copies of the same beliefs; require the same answer and bits, and return them."""
    mine, loop = copied(beliefs), copied(beliefs)

    answers = columns(observed, mine, m), LOOPS[columns](observed, loop, m)

    assert answers[0] == answers[1]
    assert bits(mine) == bits(loop)
    return mine


def emptied(observed: Observed, beliefs: Beliefs, m: int) -> Beliefs:
    """Return a copy whose levels and cross moments of link ``m`` are empty, as relabelling leaves them."""
    beliefs = copied(beliefs)
    measure(observed, beliefs, m)
    clear_levels(observed, beliefs, m)
    clear_cross(beliefs.pages, m)
    return beliefs


@given(shapes, seeds)
@some_examples
def test_labelling_all_rows_gives_the_bits_of_the_loop(shape: tuple[list[int], list[int]], seed: int) -> None:
    observed, beliefs = learner(shape, seed)
    for m in range(len(shape[0]) - 1):
        both_ways(by_columns.count_all_imputed, observed, emptied(observed, beliefs, m), m)


@given(shapes, seeds, st.data())
@some_examples
def test_rows_that_waited_are_rotated_in_as_by_the_loop(
    shape: tuple[list[int], list[int]], seed: int, data: st.DataObject
) -> None:
    observed, beliefs = learner(shape, seed)
    m = data.draw(st.integers(0, len(shape[0]) - 2))
    waiting = np.random.default_rng(seed).random(len(beliefs.counted)) < data.draw(st.sampled_from((0.1, 1.0)))
    beliefs = emptied(observed, beliefs, m)
    beliefs.counted[waiting, m] = False

    both_ways(by_columns.count_all_imputed, observed, beliefs, m)


@given(shapes, seeds)
@some_examples
def test_counting_all_fixed_rows_gives_the_bits_of_the_loop(shape: tuple[list[int], list[int]], seed: int) -> None:
    observed, beliefs = learner(shape, seed)
    clear(observed, beliefs)

    for m in reversed(range(len(shape[0]))):
        beliefs = both_ways(by_columns.count_all_fixed, observed, beliefs, m)

    assert beliefs.tallies[:, :, ROWS].sum() == (observed.last >= 0).sum()


@given(shapes, seeds)
@some_examples
def test_products_of_features_are_added_in_the_order_of_units(shape: tuple[list[int], list[int]], seed: int) -> None:
    observed, beliefs = learner(shape, seed)
    for m in range(len(shape[0]) - 1):
        mine, loop = np.zeros_like(beliefs.whitener), np.zeros_like(beliefs.whitener)

        seen = by_columns.add_products(observed, mine, m), LOOPS[by_columns.add_products](observed, loop, m)

        assert seen[0] == seen[1]
        assert mine.tobytes() == loop.tobytes()


@pytest.mark.parametrize("arms", [2, 3])
def test_several_blocks_of_a_level_are_chained_as_by_the_loop(arms: int) -> None:
    observed, beliefs = learner(([2, arms], [2, 3]), arms, steps=1500)

    placed = both_ways(by_columns.count_all_imputed, observed, emptied(observed, beliefs, 0), 0)

    assert (placed.chains[0, :LEVELS, FILL] > 2 * BLOCK).any()


def test_a_row_that_is_rotated_in_last_leaves_what_the_loop_leaves() -> None:
    """Both the rotation and the length of features use a row of the page of arm 0 as scratch paper."""
    design = bare_design([(0, 0), (1, 0), (1, 1)], [2, 2], [2, 3])
    observed = observed_units(design, 20, seed=1)
    beliefs = grow(create(design), 20)
    rebuild(observed, beliefs)
    beliefs.counted[:, 0] = False
    assert observed.arms[19, 0] == 0  # which leaves one arm: this row counts, and is in no level

    both_ways(by_columns.count_all_imputed, observed, emptied(observed, beliefs, 0), 0)


def test_minus_zero_is_no_other_sum() -> None:
    """A sum that begins with 0 never becomes −0, whatever is added; −0 alone would stay."""
    observed, beliefs = learner(([2, 2], [2, 2]), 3)
    observed.features[:, :, 0] = -0.0

    placed = both_ways(by_columns.count_all_imputed, observed, emptied(observed, beliefs, 0), 0)

    assert not np.signbit(placed.pages[0, :, FACTOR + 4 :, 0]).any()


def test_rows_are_rotated_in_on_lists_as_on_a_page() -> None:
    rng, d = np.random.default_rng(0), 4
    rows, targets = rng.normal(size=(50, d)), rng.normal(size=50)
    rows[::3, 1] = 0.0
    page, lists = np.zeros((FACTOR + 2 * d, d)), np.zeros((FACTOR + 2 * d, d))

    by_columns.rotate_in_all(lists, d, rows, targets)
    for row, target in zip(rows, targets, strict=True):
        triangular.add_row(page, d, row, target)

    page[triangular.LENGTH] = 0.0
    assert page.tobytes() == lists.tobytes()
