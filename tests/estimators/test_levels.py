"""Which labels can have changed: units are placed by their current lead."""

from __future__ import annotations

from itertools import pairwise, product
from typing import Any

import numpy as np
import pytest
from hypothesis import strategies as st

from dtrbandit.estimators.exact import ExactLearner
from dtrbandit.kernels import constants as c
from effort import seeded
from estimators.few_units import bare_design, observed_units, small_design, store
from estimators.learners import by_hand, enter, measured, set_coefficients
from estimators.level_checks import (
    assert_blocks_are_used_once,
    assert_cross_moments_are_sums,
    assert_sound,
    chain,
    labels,
    level_of,
)
from estimators.oracle import Both, RandomTrial, all_plans, well_behaved

DESIGN = small_design()
numbers = st.integers(-2, 2).map(float)


# -- what holds at all times ---------------------------------------------------------------------------------


@seeded(40)
def test_all_that_the_proof_rests_on_holds_after_every_event(seed: int) -> None:
    arms, features = [[2, 2], [2, 3], [2, 3, 2]][seed % 3], [[2, 3], [1, 2], [2, 2, 3]][seed % 3]
    trial = RandomTrial(arms, features, seed, decades=2)
    for step in range(240):
        trial.step()
        for m in range(len(arms) - 1):
            assert_blocks_are_used_once(trial.both.learner, m)
            if step % 8 == 0:
                assert_sound(trial.both, m)
                assert_cross_moments_are_sums(trial.both, m)


@pytest.mark.parametrize("arms", [2, 3], ids=["one product for two arms", "all arms"])
def test_it_holds_while_labels_flip_and_are_made_afresh_at_both_links_of_three_stages(arms: int) -> None:
    both, limits = Both(bare_design(all_plans(2, arms, arms), [2, arms, arms], [2, 2, 2])), set()
    for unit in range(120):
        well_behaved(both, unit, np.random.default_rng(unit))
        limits.add(tuple(np.asarray(both.learner.limit)))
        if unit % 10 == 9:
            for m in range(2):
                assert_sound(both, m)
                assert_cross_moments_are_sums(both, m)

    assert both.learner.rechecks > both.learner.flips > 0
    assert len(limits) > 3


# -- scenarios -----------------------------------------------------------------------------------------------


def test_a_unit_is_placed_by_its_current_lead_not_by_the_lead_at_the_reference() -> None:
    """The careless placement of EXACT_ONLINE_Q: coefficients go from +5 to -5, a unit enters, and they come back."""
    both = Both(bare_design(all_plans(1, 2), [1, 2], [1, 1]))

    def enrol(unit: int, arm: int | None = None, outcome: float = 0.0) -> None:
        both.arrive(unit, 0, 0, [1.0])
        both.arrive(unit, 1, both.give(unit, 0, 0), [1.0])
        both.give(unit, 1, arm or 0)
        if arm is not None:  # else its outcome never comes
            both.complete(unit, 1, outcome)

    enrol(0, 0, 5.0)
    enrol(1, 1, 0.0)
    for turn, mean in enumerate((5.0, -5.0, 5.0, -5.0, 5.0)):
        rows = both.rows()[1][0]
        total = both.coefficients()[1][0, 0] * rows
        enrol(2 + 2 * turn, 0, mean * (rows + 1) - total)  # arm 0's coefficient is now ``mean``
        enrol(3 + 2 * turn)

        assert both.coefficients()[1][0, 0] == pytest.approx(mean)
        assert set(labels(both.learner, 0).values()) == {0 if mean > 0 else 1}
        assert both.error() < 1e-10


@pytest.mark.parametrize("seed", range(8))
def test_labels_are_right_while_coefficients_wander_to_and_fro(seed: int) -> None:
    """Units wait in all directions while arm 0's coefficients move about their start, as far as the levels are wide.

    A unit that enters a level when the coefficients are far from its reference can flip before the level expires,
    unless the level takes only units whose lead exceeds the radius by as much.
    """
    rng = np.random.default_rng(seed)
    both, units = Both(bare_design(all_plans(1, 2), [1, 2], [1, 2])), iter(range(1000))
    place = np.array([2.0, 0.0])

    def enrol(psi: Any, arm: int | None = None, outcome: float = 0.0) -> None:
        unit = next(units)
        both.arrive(unit, 0, 0, [1.0])
        both.arrive(unit, 1, both.give(unit, 0, 0), psi)
        both.give(unit, 1, arm or 0)
        if arm is not None:  # else its outcome never comes
            both.complete(unit, 1, outcome)

    for arm, j in product((0, 1), (0, 1)):
        enrol(np.eye(2)[j], arm, place[j] if arm == 0 else 0.0)
    for turn in range(120):
        enrol(rng.normal(size=2))
        j, moved = int(rng.integers(2)), rng.normal(scale=0.7)
        rows = sum(fact.last == 1 and fact.arm[1] == 0 and fact.psi[1][j] == 1.0 for fact in both.facts.values())
        goal = np.array([2.0, 0.0])[j] + moved
        enrol(np.eye(2)[j], 0, goal * (rows + 1) - place[j] * rows)  # the coefficient is now ``goal``
        place[j] = goal

        assert both.coefficients()[1][0] == pytest.approx(place)
        assert both.error() < 1e-9
        if turn % 10 == 9:
            assert_sound(both, 0)


def test_blocks_that_were_given_back_are_used_again() -> None:
    """Units come and wait: the levels hold each once, in no more blocks than there is room for."""
    both = Both(bare_design(all_plans(1, 3), [1, 3], [1, 2]))
    rng = np.random.default_rng(3)
    for unit in range(400):
        both.arrive(unit, 0, 0, [1.0])
        both.arrive(unit, 1, both.give(unit, 0, 0), rng.normal(size=2))
        both.give(unit, 1, unit % 3)
        both.complete(unit, 1, float(rng.normal()))

    learner, held = both.learner, labels(both.learner, 0)
    assert len(held) == learner.held[0] <= 400
    assert learner.used[0] <= learner.follows.shape[1]
    assert learner.rechecks > 0
    assert_blocks_are_used_once(learner, 0)
    values = np.asarray(both.observed.features)[list(held), 1, :2] @ both.coefficients()[1].T
    assert values[np.arange(len(held)), list(held.values())] == pytest.approx(values.max(axis=1))


# -- one unit at a time: coefficients, ranks and radii are set by hand ---------------------------------------


def test_features_that_are_all_zero_have_a_label_and_no_level() -> None:
    learner = by_hand([(1.0, 0.0), (0.0, 1.0)], [0.0])

    enter(learner, 0, (0.0, 0.0))

    assert learner.rows[0, 0] == 1
    assert learner.held[0] == 0


def test_a_unit_enters_the_widest_level_whose_radius_its_lead_exceeds() -> None:
    learner = by_hand([(0.0, 0.0), (0.0, 0.0)], [8.0, 4.0, 2.0, 0.0])
    leads = (9.0, 8.0, 7.0, 3.0, 1.0, 0.0)

    for unit, lead in enumerate(leads):
        set_coefficients(learner, [(lead, 0.0), (0.0, 0.0)])
        enter(learner, unit, (3.0, 0.0))

    assert [level_of(learner, unit) for unit in range(len(leads))] == [0, 0, 1, 2, 3, 3]


def test_a_level_that_has_moved_asks_for_a_longer_lead() -> None:
    """With radius 4 and slack 1 the coefficients have moved by 3: only a lead of 7 is safe."""
    learner = by_hand([(0.0, 0.0), (0.0, 0.0)], [4.0, 0.0])
    learner.slack[0, 0] = 1.0

    for unit, lead in enumerate((7.0, 6.9)):
        set_coefficients(learner, [(lead, 0.0), (0.0, 0.0)])
        enter(learner, unit, (1.0, 0.0))

    assert [level_of(learner, unit) for unit in range(2)] == [0, 1]


def test_a_level_has_the_coefficients_when_its_first_unit_entered_as_its_reference() -> None:
    learner = by_hand([(9.0, 0.0), (0.0, 0.0)], [8.0, 0.0])

    enter(learner, 0, (1.0, 0.0))
    set_coefficients(learner, [(10.0, 2.0), (0.0, 0.0)])
    enter(learner, 1, (1.0, 0.0))

    assert np.asarray(learner.references)[0, 0].tolist() == [[9.0, 0.0], [0.0, 0.0]]


def test_units_of_a_level_lie_in_a_chain_of_blocks_in_the_order_in_which_they_came() -> None:
    learner, n = by_hand([(9.0, 0.0), (0.0, 0.0)], [8.0, 4.0, 0.0]), 3 * c.BLOCK + 5

    for unit in range(n):
        wide = unit % 2 == 0  # the chains of two levels grow in turn
        enter(learner, unit, (1.0, 0.0) if wide else (1.0, 1.5))

    for level in (0, 1):
        slots = chain(learner, 0, level)
        assert [learner.units[0, slot] for slot in slots] == list(range(level, n, 2))
        assert len({slot // c.BLOCK for slot in slots}) == 2
    assert_blocks_are_used_once(learner, 0)


def expiring(radii: list[float], means: tuple[float, ...]) -> Both:
    """Return units with the feature 1 that wait, while the mean of arm 0 over arm 1 goes through some values.

    The metric has length 1 of that feature, up to the ridge of 1e-6. The levels are set by hand, at the first mean.
    """
    both, units = Both(bare_design(all_plans(1, 2), [1, 2], [1, 1])), iter(range(100))

    def enrol(arm: int, outcome: float | None) -> None:
        unit = next(units)
        both.arrive(unit, 0, 0, [1.0])
        both.arrive(unit, 1, both.give(unit, 0, 0), [1.0])
        both.give(unit, 1, arm)
        if outcome is not None:
            both.complete(unit, 1, outcome)

    enrol(0, means[0])
    enrol(1, 0.0)
    learner = both.learner
    np.asarray(learner.radius)[0, : len(radii)] = np.asarray(learner.slack)[0, : len(radii)] = radii
    np.asarray(learner.fill)[0] = 0
    learner.depth[0], learner.limit[0], learner.held[0], learner.used[0], learner.free[0] = len(radii), 10**6, 0, 0, -1
    for _ in range(5):
        enrol(1, None)
    for rows, (before, mean) in enumerate(pairwise(means), 1):
        enrol(0, mean * (rows + 1) - before * rows)
    return both


def test_a_level_expires_when_it_has_moved_as_far_as_its_radius_and_not_before() -> None:
    """Five units wait with a lead of 10 in a level of radius 4: up to a lead of 6.1 nobody looks at them."""
    calm = expiring([4.0, 0.0], (10.0, 8.5, 6.1))
    moved = expiring([4.0, 0.0], (10.0, 8.5, 5.9))

    assert calm.learner.rechecks == 0
    assert calm.learner.slack[0, 0] == pytest.approx(0.1, rel=1e-3)
    assert level_of(calm.learner, 2) == 0
    assert moved.learner.rechecks == 7  # those who came before the second step, and the two who brought the outcomes
    assert moved.learner.slack[0, 0] == 4.0
    assert np.asarray(moved.learner.references)[0, 0].ravel() == pytest.approx([5.9, 0.0], rel=1e-5)
    assert np.asarray(moved.learner.old_fill).tolist() == [[0] * c.LEVELS]


def test_the_slack_is_measured_anew_before_a_level_expires() -> None:
    """To and fro is a long way, and leads nowhere: 3, back, and 3 again are within a radius of 4."""
    both = expiring([4.0, 0.0], (10.0, 7.0, 10.0, 7.0, 10.0))

    assert both.learner.rechecks == 0
    assert both.learner.slack[0, 0] == pytest.approx(4.0)
    assert set(labels(both.learner, 0).values()) == {0}


def test_units_of_an_expired_level_go_to_the_widest_that_may_take_them() -> None:
    """They lead by 0.5, in the narrowest level; then by 20: there is no level that is too wide for them."""
    both = expiring([8.0, 4.0, 2.0, 0.0], (0.5, 20.0))

    assert [level_of(both.learner, unit) for unit in range(2, 7)] == [0] * 5
    assert level_of(expiring([8.0, 4.0, 2.0, 0.0], (0.5, 5.0)).learner, 2) == 1


def test_labels_flip_when_the_other_arm_is_better() -> None:
    both = expiring([4.0, 0.0], (10.0, -1.0))

    assert set(labels(both.learner, 0).values()) == {1}
    assert both.learner.flips == len(labels(both.learner, 0)) == 6
    moments = np.asarray(both.learner.cross)[0, :, 0, 0]
    assert moments.tolist() == [2.0, 6.0]  # of 1 · 1 each; the first two units are in no level, and stay


# -- from the beginning --------------------------------------------------------------------------------------


def test_radii_shrink_from_how_far_apart_the_arms_are_to_half_the_usual_step() -> None:
    both = Both(bare_design(all_plans(2, 2), [2, 2], [2, 3]))
    for unit in range(200):
        well_behaved(both, unit, np.random.default_rng(unit))

    learner = both.learner
    depth, radii = learner.depth[0], np.asarray(learner.radius)[0]
    assert 2 < depth < c.LEVELS
    assert (radii[: depth - 2] == c.SHRINK * radii[1 : depth - 1]).all()
    assert 0.0 < radii[depth - 1] < 1e-12  # rounding error: closer than that, two arms give the same target


def test_learning_again_sets_the_first_radius_to_the_distance_of_the_arms() -> None:
    learner = measured(observed_units(DESIGN, 60))

    white = np.asarray(learner.white)[np.asarray(learner.problem)[1]]
    assert learner.radius[0, 0] == pytest.approx(np.linalg.norm(white[0] - white[1]))
    assert learner.depth[0] == c.LEVELS  # no step was made yet
    assert learner.radius[0, c.LEVELS - 1] == c.ROUNDING * max(np.linalg.norm(white, axis=1))


# -- room ----------------------------------------------------------------------------------------------------


def test_no_block_is_free_before_one_was_given_back() -> None:
    assert np.asarray(ExactLearner(store(DESIGN, 0)).free).tolist() == [-1]


def test_a_design_of_one_stage_has_no_links() -> None:
    learner = ExactLearner(store(bare_design([(0,), (1,)], [2], [2]), 10))
    learner.reserve(10)

    assert all(len(learner.arrays()[name]) == 0 for name in ("whitener", "radius", "head", "cells", "units", "follows"))


@pytest.mark.parametrize("capacity", [1, c.BLOCK, c.BLOCK + 1, 1000])
def test_there_are_blocks_for_all_units_however_they_are_spread_over_levels(capacity: int) -> None:
    learner = ExactLearner(store(DESIGN, capacity))

    learner.reserve(capacity)

    arrays = learner.arrays()
    blocks = arrays["follows"].shape[1]
    for name in ("cells", "units", "nodes", "labels"):
        assert arrays[name].shape[1] == blocks * c.BLOCK
    assert (
        blocks - c.LEVELS - 1
    ) * c.BLOCK >= capacity  # one block of each level may be partly filled, one is being read
    assert arrays["counted"].shape == (capacity, 2)
