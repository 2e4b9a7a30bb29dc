"""Backward induction over some of the rows, against least squares written down plainly."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pytest

from dtrbandit.estimators.forced import ForcedLearner
from dtrbandit.estimators.observed import Observed
from dtrbandit.kernels.arrays import Array
from estimators.few_units import bare_design, observed_units, small_design
from plain.least_squares import least_squares

DESIGN = small_design()
FORCED = range(0, 40, 2)  # the units of forced rounds


def scheduled(seen: Observed, units: Iterable[int] = FORCED) -> ForcedLearner:
    """Return a learner of these units, each of which was given what was scheduled."""
    learner = ForcedLearner(seen)
    learner.reserve(seen.capacity)
    for unit in units:
        for m in range(seen.stages):
            if seen.arms[unit, m] >= 0:
                learner.schedule(unit, m, seen.arms[unit, m])
    return learner


def coefficients(learner: ForcedLearner, m: int, arm: int) -> Array:
    return np.asarray(learner.beta)[m, arm, : DESIGN.dimensions[m]]


def plain_target(seen: Observed, later: list[Array | None], unit: int, m: int) -> float:
    """Return the outcome or the pseudo-outcome of a row, NaN while it is not known."""
    if seen.last[unit] == m:
        return float(seen.outcome[unit])
    if m > 0 or seen.nodes[unit, 1] < 0:
        return np.nan
    values = [
        float(beta @ np.asarray(seen.features)[unit, 1])
        for k, beta in enumerate(later)
        if beta is not None and seen.child[seen.nodes[unit, 1], k] >= 0
    ]
    return max(values)


def plain(seen: Observed, units: Iterable[int]) -> list[list[Array | None]]:
    """Return the coefficients of each stage and arm, from all rows of these units."""
    fits: list[list[Array | None]] = [[]]
    for m in (1, 0):
        own: list[Array | None] = []
        for arm in range(2):
            targets = {unit: plain_target(seen, fits[0], unit, m) for unit in units if seen.arms[unit, m] == arm}
            known = {unit: target for unit, target in targets.items() if not np.isnan(target)}
            rows = np.asarray(seen.features)[list(known), m, : DESIGN.dimensions[m]]
            own.append(least_squares(rows, np.array(list(known.values()))).coefficients if known else None)
        fits.insert(0, own)
    return fits[:2]


def assert_as_plain(learner: ForcedLearner, units: Iterable[int]) -> None:
    for m, arms in enumerate(plain(learner.observed, units)):
        for arm, beta in enumerate(arms):
            assert beta is not None
            assert coefficients(learner, m, arm) == pytest.approx(beta, abs=1e-10)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("leave", [0, 5], ids=["all go on", "some leave"])
def test_it_equals_least_squares_on_these_rows(seed: int, leave: int) -> None:
    learner = scheduled(observed_units(DESIGN, 40, seed=seed, leave=leave))

    learner.refit(0, 1)

    assert_as_plain(learner, FORCED)


def test_units_count_in_the_order_of_their_first_stage() -> None:
    learner = scheduled(observed_units(DESIGN, 40), [7, 3, 11])

    assert learner.count == 3
    assert np.asarray(learner.units)[:3].tolist() == [7, 3, 11]
    assert (np.asarray(learner.scheduled)[[7, 3, 11]] >= 0).all()
    assert (np.delete(np.asarray(learner.scheduled), [7, 3, 11], axis=0) == -1).all()


def test_only_the_stages_that_are_asked_for_are_refitted() -> None:
    learner = scheduled(observed_units(DESIGN, 40))

    learner.refit(1, 1)

    assert np.isnan(np.asarray(learner.beta)[0]).all()
    assert np.isfinite(np.asarray(learner.beta)[1]).all()


def test_a_row_whose_arm_was_not_the_scheduled_one_is_left_out() -> None:
    seen, unit = observed_units(DESIGN, 40), FORCED[0]
    learner, other = scheduled(seen), scheduled(seen, FORCED[1:])
    learner.schedule(unit, 1, 1 - seen.arms[unit, 1])  # an override

    learner.refit(1, 1)
    other.refit(1, 1)

    assert np.asarray(learner.beta)[1].tobytes() == np.asarray(other.beta)[1].tobytes()


def test_nothing_of_an_earlier_fit_is_left_in_the_next() -> None:
    """A column that was 1e12 times as long would make the others look as if they lacked rank."""
    seen = observed_units(DESIGN, 40)
    learner, features = scheduled(seen), np.asarray(seen.features)
    features[:, :, 0] *= 1e12
    learner.refit(0, 1)
    features[:, :, 0] /= 1e12
    np.asarray(seen.outcome)[:] += 3.0

    learner.refit(0, 1)
    learner.refit(0, 1)

    fresh = scheduled(seen)
    fresh.refit(0, 1)
    assert np.asarray(learner.beta).tobytes() == np.asarray(fresh.beta).tobytes()
    assert_as_plain(learner, FORCED)


def test_a_unit_that_is_still_under_way_counts_where_its_target_is_known() -> None:
    """Unit 0 has come to the second stage, unit 2 has not: only the first of them has a target, at the first stage."""
    seen = observed_units(DESIGN, 40)
    np.asarray(seen.last)[[0, 2]], seen.nodes[2, 1] = -1, -1
    learner = scheduled(seen)

    learner.refit(0, 1)

    assert_as_plain(learner, FORCED)
    without = scheduled(seen, FORCED[2:])
    without.refit(1, 1)
    assert np.asarray(learner.beta)[1].tobytes() == np.asarray(without.beta)[1].tobytes()


def test_a_pseudo_outcome_is_the_best_of_the_arms_that_are_feasible() -> None:
    """Q̃ of the second stage is the sum of features for arm 0, its negative for arm 1, which alone may follow arm 1."""
    seen = observed_units(DESIGN, 40)
    learner = scheduled(seen)
    np.asarray(learner.beta)[1] = [[1.0] * 3, [-1.0] * 3]

    learner.refit(0, 0)

    sums, arms = np.asarray(seen.features)[:, 1].sum(axis=1), np.asarray(seen.arms)[:, 0]
    targets = np.where(arms == 0, np.abs(sums), -sums)
    for arm in range(2):
        own = [unit for unit in FORCED if arms[unit] == arm]
        expected = least_squares(np.asarray(seen.features)[own, 0, :2], targets[own]).coefficients
        assert coefficients(learner, 0, arm) == pytest.approx(expected, abs=1e-10)


def test_an_arm_without_rows_has_no_coefficients() -> None:
    seen = observed_units(DESIGN, 40)
    own = [unit for unit in FORCED if seen.arms[unit, 0] == 0]
    learner = scheduled(seen, own)

    learner.refit(0, 1)

    assert np.isfinite(coefficients(learner, 0, 0)).all()
    assert np.isnan(coefficients(learner, 0, 1)).all()


def test_rows_that_lack_rank_have_the_shortest_coefficients() -> None:
    seen = observed_units(DESIGN, 40)
    np.asarray(seen.features)[:, 1, 2] = 2.0 * np.asarray(seen.features)[:, 1, 0]
    learner = scheduled(seen)

    learner.refit(0, 1)

    assert_as_plain(learner, FORCED)


def test_an_estimate_may_be_wider_at_one_stage_than_at_another() -> None:
    learner = scheduled(observed_units(bare_design([(0, 0), (1, 1)], [2, 2], [3, 1]), 12), range(12))

    learner.refit(0, 1)

    assert np.isfinite(np.asarray(learner.beta)[0]).all()
    assert np.isfinite(np.asarray(learner.beta)[1, :, 0]).all()
    assert np.isnan(np.asarray(learner.beta)[1, :, 1:]).all()


def test_room_for_more_units_keeps_what_is_there() -> None:
    learner = scheduled(observed_units(DESIGN, 40))
    before = {name: array.copy() for name, array in learner.arrays().items()}

    learner.reserve(100)

    after = learner.arrays()
    assert after["count"] == before["count"]
    assert after["units"].shape == (100,)
    assert np.array_equal(after["units"][:40], before["units"])
    assert np.array_equal(after["scheduled"][:40], before["scheduled"])
    assert (after["scheduled"][40:] == -1).all()


def test_a_copy_goes_on_as_the_original_and_shares_nothing_with_it() -> None:
    seen = observed_units(DESIGN, 40)
    original, copy = scheduled(seen, FORCED[:10]), ForcedLearner(seen)
    original.refit(0, 1)

    copy.load(original.arrays())
    for unit in FORCED[10:]:
        for m in range(2):
            copy.schedule(unit, m, seen.arms[unit, m])
    copy.refit(0, 1)

    assert_as_plain(original, FORCED[:10])
    assert_as_plain(copy, FORCED)
