"""The law of the simulated STAR*D, summed without error."""

from __future__ import annotations

import numpy as np
import pytest

from dtrbandit.environments import stard_law
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
