"""Optimistic ridge regression by backward induction, against the formulas on all rows at once."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import product

import numpy as np
import pytest
from numpy.typing import NDArray

from dtrbandit.estimators.observed import ARRIVED, COMPLETED, Observed
from dtrbandit.estimators.optimistic import (
    arm_before,
    divide,
    estimates,
    learn,
    next_node,
    prepared,
    raise_targets,
    recount,
)
from dtrbandit.estimators.optimistic_layout import BLOCK, FILL, Beliefs, grow
from estimators.few_units import observed_units, small_design
from estimators.oracle import bare_design

Array = NDArray[np.float64]
DESIGN, N = small_design(), 60
BETA, RIDGE, CLIPS = 0.7, 2.0, (9.0, 1.5)
DIVISORS = np.array([[2.0, 1.0, 1.0], [1.0, 4.0, 0.5]])


def empty(*, leavers_observed: bool = True, rare: bool = False, room: int = N) -> Beliefs:
    numbers = np.array([BETA, RIDGE, leavers_observed, rare, *CLIPS, *DIVISORS.ravel()])
    return grow(prepared(DESIGN, numbers), room)


def told(seen: Observed, beliefs: Beliefs, units: Iterable[int] = range(N)) -> Beliefs:
    """Let facts be learnt unit by unit: those who come to later stages, then the outcome."""
    for unit in units:
        for m in range(1, seen.nodes.shape[1]):
            if seen.nodes[unit, m] >= 0:
                learn(seen, beliefs, ARRIVED, unit, m)
        learn(seen, beliefs, COMPLETED, unit, int(seen.last[unit]))
    return beliefs


def plain(seen: Observed, *, leavers_observed: bool) -> list[Array]:
    """Return w of each stage, (K, d), from Λ and all rows (Jin et al. 2019, Algorithm 1, lines 3 to 9)."""
    weights: list[Array] = []
    grams: list[Array] = []
    for m in (1, 0):
        d = DESIGN.dimensions[m]
        phi, target = seen.features[:N, m, :d] / DIVISORS[m, :d], seen.outcome[:N].copy()
        if m == 0:
            node = np.where(seen.nodes[:N, 1] >= 0, seen.nodes[:N, 1], -1 if leavers_observed else seen.left[:N])
            later = seen.features[:N, 1] / DIVISORS[1]
            for unit in np.flatnonzero(node >= 0):
                values = [
                    weights[0][k] @ later[unit]
                    + BETA * np.sqrt(later[unit] @ np.linalg.solve(grams[0][k], later[unit]))
                    for k in range(2)
                    if seen.child[node[unit], k] >= 0
                ]
                target[unit] = min(max(values), CLIPS[1])
        own = [seen.arms[:N, m] == arm for arm in range(2)]
        grams.insert(0, np.array([phi[o].T @ phi[o] + RIDGE * np.eye(d) for o in own]))
        solved = [np.linalg.solve(grams[0][arm], phi[own[arm]].T @ target[own[arm]]) for arm in range(2)]
        weights.insert(0, np.array(solved))
    return weights


@pytest.mark.parametrize("leavers_observed", [True, False], ids=["observed", "optimistic"])
def test_learning_fact_by_fact_equals_the_formulas_on_all_rows(leavers_observed: bool) -> None:
    seen = observed_units(DESIGN, N, leave=4)
    beliefs = told(seen, empty(leavers_observed=leavers_observed))

    found = estimates(DESIGN, seen, beliefs).hat

    for m, weights in enumerate(plain(seen, leavers_observed=leavers_observed)):
        assert found[m] == pytest.approx(weights / DIVISORS[m, : DESIGN.dimensions[m]], abs=1e-10)


@pytest.mark.parametrize("rare", [False, True], ids=["every", "rare"])
def test_counting_anew_knows_what_all_rows_teach_and_nothing_else(rare: bool) -> None:
    seen, beliefs = observed_units(DESIGN, N, leave=4), empty(rare=rare)
    told(observed_units(DESIGN, N, seed=9), beliefs)

    recount(seen, beliefs)

    expected = plain(seen, leavers_observed=True)
    for m, found in enumerate(estimates(DESIGN, seen, beliefs).hat):
        assert found == pytest.approx(expected[m] / DIVISORS[m, : DESIGN.dimensions[m]], abs=1e-10)


def test_rare_switching_keeps_what_is_in_use_until_a_determinant_has_doubled() -> None:
    seen, beliefs, used = observed_units(DESIGN, N), empty(rare=True), []
    for unit in range(N):
        learn(seen, beliefs, ARRIVED, unit, 1)
        learn(seen, beliefs, COMPLETED, unit, 1)
        used.append(beliefs.ridge[0].tobytes())

    assert 1 < len(set(used)) < N / 2


def test_rows_of_a_node_lie_together_in_blocks() -> None:
    n = 3 * BLOCK
    seen, beliefs = observed_units(DESIGN, n), empty(rare=True, room=n)

    told(seen, beliefs, range(n))

    owners = beliefs.owners[0, : beliefs.used[0]]
    for node in (1, 2):
        assert owners[owners[:, 0] == node, FILL].sum() == (seen.nodes[:n, 1] == node).sum()
    assert (owners[:, FILL] <= BLOCK).all()


@pytest.mark.parametrize("stages", [2, 3])
def test_values_that_still_hold_are_bit_for_bit_those_found_again(stages: int) -> None:
    arms, features = [2, 3, 2][:stages], [2, 3, 2][:stages]
    design = bare_design(list(product(*map(range, arms))), arms, features)
    numbers = np.array([BETA, RIDGE, True, False, *[2.0] * stages, *np.ones(3 * stages)])
    beliefs, forgetful = (grow(prepared(design, numbers), N) for _ in range(2))
    seen = observed_units(design, N, leave=5)
    for unit in range(N):
        if unit == N // 2:
            seen.child[seen.child[0, 1], 2] = -1  # an arm of the second stage is closed
        forgetful.valued.fill(0)

        told(seen, beliefs, [unit])
        told(seen, forgetful, [unit])

        assert beliefs.ridge.tobytes() == forgetful.ridge.tobytes()
    assert (beliefs.valued > 0).any()


def test_targets_are_raised_to_the_values_of_an_arm_and_never_fall() -> None:
    raised = np.zeros(4)

    raise_targets(np.array([3.0, -1.0, 2.0, 9.0]), 3, np.array([-np.inf, 0.5, 2.0, 1.0]), raised)

    assert raised.tolist() == [3.0, 0.5, 2.0, 0.0]  # and no row beyond


def test_the_target_of_a_leaver_is_looked_up_only_where_that_is_asked_for() -> None:
    seen = observed_units(DESIGN, 4, leave=2)  # units 0 and 2 have left
    stood = seen.left[0]

    assert next_node(seen, 1.0, 0, 0) == -1
    assert next_node(seen, 0.0, 0, 0) == stood > 0
    assert next_node(seen, 1.0, 1, 0) == seen.nodes[1, 1] > 0
    assert next_node(seen, 1.0, 1, 1) == -1  # the last stage


def test_the_arm_before_a_node_leads_there() -> None:
    child = DESIGN.tree.child.astype(np.int32)

    assert [arm_before(child, node) for node in (1, 2)] == [0, 1]


def test_features_are_divided_as_asked() -> None:
    phi = np.empty(3)

    divide(np.array([[2, 2], [2, 3]]), empty().numbers, 1, np.array([1.0, 8.0, 3.0]), phi)

    assert phi.tolist() == [1.0, 2.0, 6.0]
