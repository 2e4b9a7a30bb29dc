"""The numbers of Table 1 are replays, and true averages those of new patients."""

from __future__ import annotations

import numpy as np
import pytest

import dtrbandit as dtr
from dtrbandit.datasets.stard import COHORT_SEED
from dtrbandit.environments import STARD
from dtrbandit.reproduce import Reproduction
from dtrbandit.reproduce.table1.entries import DTRB, ONLINE
from dtrbandit.reproduce.table1.patients import Patients
from dtrbandit.reproduce.table1.results import Estimate, Row
from reproduce.small_table1 import HORIZON, PATHS, frame


def test_values_are_replays_and_the_first_ten_paths_are_part_of_all(small: Reproduction) -> None:
    cohort, table = Patients.simulated(COHORT_SEED).cohort, frame(small)

    played = dtr.replay(ONLINE[DTRB[0]], cohort, horizon=HORIZON, paths=PATHS)

    assert table.loc[DTRB[0], "value"] == pytest.approx(played.value)
    assert table.loc[DTRB[0], "first_10_value"] == pytest.approx(played.averages[:10].mean())
    assert table.loc[DTRB[0], "std_error"] == pytest.approx(played.std_error)


def test_true_averages_are_those_of_new_patients(small: Reproduction) -> None:
    """Offline truly has −7.674 (docs/stard.md); an online algorithm's rewards vary by 6 a round."""
    table = frame(small)
    study = dtr.simulate(STARD(), {"Greedy": dtr.Greedy()}, horizon=HORIZON, paths=PATHS)

    assert table.loc["Offline", "true_value"] == pytest.approx(-7.674, abs=0.01)
    assert table.loc["Greedy", "true_value"] == pytest.approx(
        study.rewards["Greedy"].mean(), abs=4 * 6 / (PATHS * HORIZON) ** 0.5
    )


def test_an_estimate_is_the_mean_with_its_interval_or_an_exact_value() -> None:
    found = Estimate.over(np.array([1.0, 2.0, 3.0]))

    assert (found.value, found.std_error) == pytest.approx((2.0, 3**-0.5))
    assert found.low is not None
    assert found.high is not None
    assert found.high - 2 == pytest.approx(2 - found.low) == pytest.approx(4.302653 * 3**-0.5)  # t of 2 degrees
    assert Estimate(2.0) == (2.0, None, None, None)


def test_optimism_is_replay_less_truth() -> None:
    row = Row("Greedy", None, Estimate(-7.0), Estimate(-7.5), Estimate(-8.0), None, None)

    assert row.optimism == 0.5
    assert row._replace(true=None).optimism is None
