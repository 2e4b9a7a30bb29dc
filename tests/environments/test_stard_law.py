"""The law of the simulated STAR*D, summed without error."""

from __future__ import annotations

import numpy as np
import pytest

from dtrbandit.environments import STARD, stard_law
from dtrbandit.kernels.arrays import Array
from environments import stard_exact as exact
from environments.stard_rules import POPULATION, always, never, offline_first, offline_second


@pytest.fixture(scope="module")
def trial() -> exact.Shares:
    return exact.follow(
        lambda _start, _slope, preference: stard_law.logged_first(preference),
        lambda _start, _slope, preference: stard_law.logged_second(preference, np.ones_like(preference)),
    )


def test_of_1260_patients_as_many_as_published_are_in_remission_drop_out_and_enter_stage_2(trial: exact.Shares) -> None:
    """The model's own counts, known from 2·10⁷ rows: three standard deviations of those are 0.4 of 1,260."""
    counts = 1260 * np.array(trial[:4])

    np.testing.assert_allclose(counts, [468.6, 463.8, 327.6, 188.6], atol=0.45)
    np.testing.assert_allclose(counts, [468, 465, 327, 189], atol=1.5)  # the trial's


@pytest.mark.parametrize(
    ("first", "second", "value"),
    [(always, always, -8.550), (never, never, -7.655), (offline_first, offline_second, -7.672)],
)
def test_fixed_rules_have_the_known_values(first: exact.First, second: exact.Second, value: float) -> None:
    """Known from 2·10⁷ rows: three standard errors of 6.5 / √(2·10⁷), and half a unit of the last digit."""
    found = exact.follow(first, second).value

    assert abs(found - value) <= 3 * 6.5 / np.sqrt(POPULATION) + 0.0005


def test_the_trials_own_way_of_treating_has_the_known_value(trial: exact.Shares) -> None:
    assert abs(trial.value - -8.443) <= 3 * 6.5 / np.sqrt(POPULATION) + 0.0005


# -- Q-functions are sums over every course that follows -----------------------------------------------------------


def test_first_q_functions_are_sums_over_every_course_that_follows() -> None:
    few = STARD().draw(20, np.random.default_rng(3))
    assert few.q is not None

    for unit in range(20):
        start, slope, preference = (float(few.contexts[0][name][unit]) for name in few.design.columns[0])
        for arm, sign in enumerate((1.0, -1.0)):
            ends = exact.score_law(np.asarray(stard_law.end_mean(start, slope, preference, sign)), 6.0)
            expected = ends @ exact.after(start, preference, sign, best_second)[:, 4]
            np.testing.assert_allclose(few.q[0][unit, arm], expected, rtol=1e-12)


def best_second(_start: Array, slope: Array, preference: Array) -> Array:
    """Return the better arm for each of the 27 scores of start₂, by the exact means of end₂."""
    ssri, other = (exact.mean_end2(float(slope[0]), float(preference[0]), arm) for arm in (1.0, -1.0))
    return np.where(ssri <= other, 1.0, 0.0)


def test_second_q_functions_are_sums_over_scores() -> None:
    few = STARD().draw(200, np.random.default_rng(4))
    assert few.q is not None
    second = {name: few.contexts[1][name][:, 0] for name in few.design.columns[1]}

    for unit in np.flatnonzero(second["qids_end1"] > 5):
        start, slope, preference, end = (float(values[unit]) for values in second.values())
        for arm, sign in enumerate((1.0, -1.0)):
            expected = -(end + exact.mean_end2(slope, preference, sign)[int(start)]) / 2
            np.testing.assert_allclose(few.q[1][unit, 0, arm], expected, rtol=1e-12)
