"""Optimistic ridge regression by backward induction, against the formulas on all rows at once."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dtrbandit as dtr
from dtrbandit.estimators.observed import Observed
from dtrbandit.estimators.optimistic import OptimisticLearner
from dtrbandit.kernels import constants as c
from dtrbandit.kernels.arrays import Array
from estimators.few_units import bare_design, observed_units, small_design

DESIGN, N = small_design(), 60
BETA, RIDGE = 0.7, 2.0
DIVISORS = np.array([[2.0, 1.0, 1.0], [1.0, 4.0, 0.5], [0.8, 1.5, 3.0]])
CLIPS = np.array([9.0, 1.5, 1.2])


def three_stages() -> dtr.Design:
    return bare_design(list(product(range(2), range(3), range(2))), [2, 3, 2], [2, 3, 2])


def empty(seen: Observed, *, leavers_observed: bool = True, rare: bool = False) -> OptimisticLearner:
    """Return a learner that has room for the units of a store, and has learnt from none."""
    learner = OptimisticLearner(
        seen,
        bonus=BETA,
        ridge=RIDGE,
        leavers_observed=leavers_observed,
        rare=rare,
        clip=CLIPS[: seen.stages],
        divisors=DIVISORS[: seen.stages],
    )
    learner.reserve(seen.capacity, len(seen.child))
    return learner


def told(learner: OptimisticLearner, units: Iterable[int] = range(N)) -> OptimisticLearner:
    """Let facts be learnt unit by unit: those who come to later stages, then the outcome."""
    seen = learner.observed
    for unit in units:
        for m in range(1, seen.stages):
            if seen.nodes[unit, m] >= 0:
                learner.learn(c.ARRIVED, unit, m)
        learner.learn(c.COMPLETED, unit, seen.last[unit])
    return learner


def plain(design: dtr.Design, seen: Observed, *, leavers_observed: bool) -> list[Array]:
    """Return w of each stage, (K, d), from Λ and all rows (Jin et al. 2019, Algorithm 1, lines 3 to 9)."""
    weights: list[Array] = []
    grams: list[Array] = []
    features, nodes, last, child = (np.asarray(x) for x in (seen.features, seen.nodes, seen.last, seen.child))
    for m, d in reversed(list(enumerate(design.dimensions))):
        phi, target = features[:, m, :d] / DIVISORS[m, :d], np.array(seen.outcome)
        if m + 1 < seen.stages:
            stood = np.where(last == m, -1 if leavers_observed else np.asarray(seen.left), nodes[:, m + 1])
            e = design.dimensions[m + 1]
            for unit in np.flatnonzero(stood >= 0):
                later = features[unit, m + 1, :e] / DIVISORS[m + 1, :e]
                values = [
                    weights[0][k] @ later + BETA * np.sqrt(later @ np.linalg.solve(grams[0][k], later))
                    for k in range(design.arm_counts[m + 1])
                    if child[stood[unit], k] >= 0
                ]
                target[unit] = min(max(values), CLIPS[m + 1])
        own = [np.asarray(seen.arms)[:, m] == arm for arm in range(design.arm_counts[m])]
        grams.insert(0, np.array([phi[o].T @ phi[o] + RIDGE * np.eye(d) for o in own]))
        solved = [np.linalg.solve(gram, phi[o].T @ target[o]) for gram, o in zip(grams[0], own, strict=True)]
        weights.insert(0, np.array(solved))
    return [w / DIVISORS[m, : w.shape[1]] for m, w in enumerate(weights)]


def assert_as_plain(learner: OptimisticLearner, design: dtr.Design, *, leavers_observed: bool = True) -> None:
    expected = plain(design, learner.observed, leavers_observed=leavers_observed)
    for found, weights in zip(learner.estimates(design).hat, expected, strict=True):
        assert found == pytest.approx(weights, abs=1e-10)


def bits(learner: OptimisticLearner) -> dict[str, bytes]:
    return {name: array.tobytes() for name, array in learner.arrays().items()}


# --- all rows ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("leavers_observed", [True, False], ids=["observed", "optimistic"])
@pytest.mark.parametrize("design", [DESIGN, three_stages()], ids=["two stages", "three stages"])
def test_learning_fact_by_fact_equals_the_formulas_on_all_rows(design: dtr.Design, leavers_observed: bool) -> None:
    seen = observed_units(design, N, leave=4)

    learner = told(empty(seen, leavers_observed=leavers_observed))

    assert_as_plain(learner, design, leavers_observed=leavers_observed)


@pytest.mark.parametrize("rare", [False, True], ids=["every", "rare"])
def test_learning_again_knows_what_all_rows_teach_and_nothing_else(rare: bool) -> None:
    seen = observed_units(DESIGN, N, leave=4)
    learner = told(empty(seen, rare=rare))
    seen.load(observed_units(DESIGN, N - 1, seed=9, leave=3).arrays())

    learner.relearn()

    assert_as_plain(learner, DESIGN)
    fresh = empty(seen, rare=rare)
    fresh.reserve(N, len(seen.child))
    fresh.relearn()
    assert bits(learner) == bits(fresh)


def test_units_with_contraindications_count_in_a_copy_of_the_tree() -> None:
    """In the second copy the second arm is not feasible after the first: targets there are values of the first."""
    seen, nodes = observed_units(DESIGN, N), len(DESIGN.tree.feasible)
    child = np.asarray(seen.child)
    child[nodes:] = np.where(child[:nodes] >= 0, child[:nodes] + nodes, -1)
    child[nodes + 1, 1] = -1
    np.asarray(seen.nodes)[::3] += nodes

    learner = told(empty(seen))

    assert {0, 1} == {n // nodes for n in np.asarray(learner.node)[0, : learner.used[0]]}
    assert_as_plain(learner, DESIGN)


def test_rare_switching_keeps_what_is_in_use_until_a_determinant_has_doubled() -> None:
    seen = observed_units(DESIGN, N)
    learner, used, newest = empty(seen, rare=True), [], []
    for unit in range(N):
        told(learner, [unit])
        used.append(bits(learner)["factor"] + bits(learner)["weights"])
        newest.append(bits(learner)["newest"])

    assert 1 < len(set(used)) < N / 2
    assert len(set(newest)) == N


def test_rows_of_a_node_lie_together_in_blocks() -> None:
    n = 3 * c.ROWS
    seen = observed_units(DESIGN, n)

    learner = told(empty(seen, rare=True), range(n))

    used = learner.used[0]
    node, fill = np.asarray(learner.node)[0, :used], np.asarray(learner.fill)[0, :used]
    for stood in (1, 2):
        assert fill[node == stood].sum() == (np.asarray(seen.nodes)[:, 1] == stood).sum()
    assert (fill <= c.ROWS).all()
    assert (fill == c.ROWS).any()


def test_more_rows_than_a_block_has_equal_the_formulas() -> None:
    n = 3 * c.ROWS
    learner = empty(observed_units(DESIGN, n, leave=5))

    learner.relearn()

    assert_as_plain(learner, DESIGN)


@pytest.mark.parametrize("design", [DESIGN, three_stages()], ids=["two stages", "three stages"])
def test_values_that_still_hold_are_bit_for_bit_those_found_again(design: dtr.Design) -> None:
    seen = observed_units(design, N, leave=5)
    learner, forgetful = empty(seen), empty(seen)
    for unit in range(N):
        if unit == N // 2:
            seen.child[seen.child[0, 0], 1] = -1  # an arm of the second stage is closed
        np.asarray(forgetful.valued).fill(0)

        told(learner, [unit])
        told(forgetful, [unit])

        assert bits(learner)["weights"] == bits(forgetful)["weights"]
        assert bits(learner)["moment"] == bits(forgetful)["moment"]
    assert np.asarray(learner.valued).any()


def test_the_target_of_a_row_is_its_highest_value_over_the_feasible_arms() -> None:
    learner = told(empty(observed_units(DESIGN, N)))
    for block, node in enumerate(np.asarray(learner.node)[0, : learner.used[0]]):
        learner.target[:] = np.nan

        learner.find_targets(0, block, 99)

        fill, arms = learner.fill[0, block], np.flatnonzero(DESIGN.tree.child[node] >= 0)
        values = np.asarray(learner.values)[0, block]
        assert np.array_equal(np.asarray(learner.target)[:fill], values[arms, :fill].max(axis=0))
        assert np.isnan(np.asarray(learner.target)[fill:]).all()  # and no row beyond


def test_the_target_of_a_leaver_is_looked_up_only_where_that_is_asked_for() -> None:
    seen = observed_units(DESIGN, 4, leave=2)  # units 0 and 2 have left
    observed, looked_up = empty(seen), empty(seen, leavers_observed=False)

    assert observed.next_node(0, 0) == -1
    assert looked_up.next_node(0, 0) == seen.left[0] > 0
    assert observed.next_node(1, 0) == looked_up.next_node(1, 0) == seen.nodes[1, 1] > 0
    assert observed.next_node(1, 1) == -1  # the last stage


def test_a_leaver_whose_next_features_are_not_known_counts_with_its_outcome() -> None:
    seen = observed_units(DESIGN, 2, leave=2)
    seen.left[0] = c.UNKNOWN

    assert empty(seen, leavers_observed=False).next_node(0, 0) < 0


def test_the_arm_before_a_node_leads_there() -> None:
    seen = observed_units(three_stages(), 0)

    expected = [arms[-1] if arms else 0 for arms in three_stages().tree.arms_to]
    assert np.asarray(empty(seen).arm_before).tolist() == expected


# --- one row -------------------------------------------------------------------------------------------------


def ridge_of_one_stage(d: int, *, bonus: float = 2.0, ridge: float = 1.0, clip: float = np.inf) -> OptimisticLearner:
    """Return a learner of one stage with two arms, Λ = λI."""
    seen = Observed(bare_design([(0,), (1,)], [2], [d]))
    limit, ones = np.array([clip]), np.ones((1, d))
    return OptimisticLearner(
        seen, bonus=bonus, ridge=ridge, leavers_observed=True, rare=False, clip=limit, divisors=ones
    )


@given(st.integers(0, 12), st.integers(1, 5), st.sampled_from([0.5, 1.0, 9.0]), st.integers(0, 2**32 - 1))
def test_values_are_those_of_the_formula(n: int, d: int, ridge: float, seed: int) -> None:
    rng = np.random.default_rng(seed)
    rows, targets, phi = rng.normal(size=(n, d)), rng.normal(size=n), rng.normal(size=d)
    gram = rows.T @ rows + ridge * np.eye(d)
    learner = ridge_of_one_stage(d, ridge=ridge)

    for row in rows:
        learner.fits.work[:] = row
        learner.fits.rotate_in(0, 0)
    learner.fits.publish(0, 0)
    learner.fits.moment[0, 0, :] = rows.T @ targets
    learner.fits.solve(0, 0)
    learner.phi[:] = phi
    value = learner.optimistic(0, 0)

    weights = np.linalg.solve(gram, rows.T @ targets)
    assert value == pytest.approx(weights @ phi + 2.0 * np.sqrt(phi @ np.linalg.solve(gram, phi)), abs=1e-10)


def test_values_are_clipped_from_above() -> None:
    learner = ridge_of_one_stage(3, bonus=1.0, clip=0.5)

    learner.phi[:] = np.array([3.0, 0.0, 4.0])

    assert learner.optimistic(0, 0) == 0.5  # else 5


@pytest.mark.parametrize("d", range(1, 8))
def test_values_of_many_rows_are_the_values_one_by_one(d: int) -> None:
    seen = observed_units(small_design((2, d)), N, seed=d)
    ones = np.ones((2, max(2, d)))
    learner = OptimisticLearner(
        seen, bonus=2.0, ridge=RIDGE, leavers_observed=True, rare=True, clip=np.array([9.0, 0.5]), divisors=ones
    )
    learner.reserve(N, len(seen.child))
    learner.relearn()
    rows, values = np.asarray(learner.later)[0, 0], np.asarray(learner.values)[0, 0, 0]
    fill = learner.fill[0, 0]
    values.fill(np.nan)

    learner.value_rows(0, 0, 0)

    single = []
    for i in range(fill):
        np.asarray(learner.phi)[:d] = rows[:d, i]
        single.append(learner.optimistic(1, 0))
    assert values[:fill] == pytest.approx(single)
    assert np.isnan(values[fill:]).all()  # and no row beyond
    assert max(single) == 0.5 > min(single)  # some are clipped


def test_features_at_hand_are_divided_as_asked() -> None:
    learner = empty(observed_units(DESIGN, 0))
    learner.observed.psi[:] = np.array([1.0, 8.0, 3.0])

    learner.divide(1)

    assert np.asarray(learner.phi).tolist() == [1.0, 2.0, 6.0]


# --- arrays --------------------------------------------------------------------------------------------------


def test_each_quantity_has_an_array_for_each_arm() -> None:
    arrays = empty(observed_units(DESIGN, 0)).arrays()

    for name in ("factor", "newest"):
        assert arrays[name].shape == (2, 2, 3, 3)  # M, K, D, D
    for name in ("reciprocal", "moment", "weights", "fixed"):
        assert arrays[name].shape == (2, 2, 3)
    assert arrays["latest"].tolist() == [[-1] * 2 * len(DESIGN.tree.feasible)]  # with room for a copy of the tree
    assert arrays["used"].tolist() == [0]


@pytest.mark.parametrize("capacity", [1, c.ROWS, c.ROWS + 1, 1000])
def test_there_are_blocks_for_all_units_however_they_are_spread_over_nodes(capacity: int) -> None:
    seen, nodes = Observed(DESIGN), len(DESIGN.tree.feasible)
    learner = empty(seen)

    learner.reserve(capacity, nodes)

    arrays = learner.arrays()
    blocks = arrays["node"].shape[1]
    assert arrays["own"].shape == arrays["later"].shape == (1, blocks, 3, c.ROWS)
    assert arrays["values"].shape == (1, blocks, 2, c.ROWS)
    assert arrays["valued"].shape == (1, blocks, 2)
    partly = min(nodes, capacity)  # so many nodes may have a block that is partly filled
    assert (blocks - partly) * c.ROWS >= capacity


def test_room_for_more_units_and_nodes_keeps_what_is_there() -> None:
    learner = told(empty(observed_units(DESIGN, N)))
    before = {name: array.copy() for name, array in learner.arrays().items()}

    learner.reserve(5 * c.ROWS, 40)

    after = learner.arrays()
    blocks, nodes = before["node"].shape[1], before["latest"].shape[1]
    for name in ("node", "fill", "own", "later", "values", "valued"):
        assert before[name].any()
        assert np.array_equal(after[name][:, :blocks], before[name])
        assert not after[name][:, blocks:].any()
    assert np.array_equal(after["latest"][:, :nodes], before["latest"])
    assert (after["latest"][:, nodes:] == -1).all()
    assert after["latest"].shape[1] == 40


@pytest.mark.parametrize("rare", [False, True], ids=["every", "rare"])
def test_a_copy_goes_on_as_the_original_and_shares_nothing_with_it(rare: bool) -> None:
    seen = observed_units(DESIGN, N, leave=4)
    original, copy = told(empty(seen, rare=rare), range(N // 2)), empty(seen, rare=rare)

    copy.load(original.arrays())
    told(copy, range(N // 2, N))

    assert bits(copy) != bits(original)
    assert bits(copy) == bits(told(original, range(N // 2, N)))
