"""The numbers of Table 1 are replays, and true averages those of new patients."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import dtrbandit as dtr
from dtrbandit.datasets.stard import COHORT_SEED
from dtrbandit.environments import STARD
from dtrbandit.reproduce import Reproduction
from dtrbandit.reproduce.table1.claims import by_cohort, by_path, claims
from dtrbandit.reproduce.table1.patients import Distribution, Patients
from dtrbandit.reproduce.table1.printed import PrintedTable
from dtrbandit.reproduce.table1.results import Cell, Row, replayed, simulated
from dtrbandit.reproduce.table1.versions import COMPUTED, DTRB, TEXT
from reproduce.small_table1 import HORIZON, PATHS, frame

small_cohort = pytest.mark.filterwarnings("ignore::dtrbandit.evaluation.SmallCohort")


@small_cohort
def test_values_are_replays_and_the_first_ten_paths_are_part_of_all(small: Reproduction) -> None:
    cohort, table = Patients.simulated(COHORT_SEED).cohort, frame(small)

    played = dtr.replay(COMPUTED.online[DTRB[0]], cohort, horizon=HORIZON, paths=PATHS)

    assert table.loc[DTRB[0], "value"] == pytest.approx(played.value)
    assert table.loc[DTRB[0], "first_10_value"] == pytest.approx(played.averages[:10].mean())
    assert np.isnan(played.std_error)  # 12 paths are too few
    assert table.loc[DTRB[0], "std_error"] is None


@small_cohort
def test_the_texts_version_is_played_on_the_same_patients_with_its_own_weights(small: Reproduction) -> None:
    patients, table = Patients.simulated(COHORT_SEED).by(TEXT), frame(small)

    played = dtr.replay(TEXT.online[DTRB[0]], patients.cohort, horizon=HORIZON, paths=PATHS)

    assert table.loc[DTRB[0], "text_value"] == pytest.approx(played.value)
    assert table.loc["Offline", "text_value"] == pytest.approx(patients.benchmarks.offline.value)


def test_claims_are_judged_over_cohorts_where_there_are_several(small: Reproduction) -> None:
    assert isinstance(small.table, PrintedTable)
    results = small.table.results

    assert results.cohorts is not None
    assert len(results.cohorts) == PATHS // 2
    assert results.claims == claims(results.cohorts.averages, by_cohort) == small.claims
    assert replace(results, cohorts=None).claims == claims(results.averages, by_path)


def test_true_averages_are_those_of_new_patients(small: Reproduction) -> None:
    """Offline truly has −7.674 (docs/stard.md); an online algorithm's rewards vary by 6 a round."""
    table = frame(small)
    study = dtr.simulate(STARD(), {"Greedy": dtr.Greedy()}, horizon=HORIZON, paths=PATHS)

    assert table.loc["Offline", "true_value"] == pytest.approx(-7.674, abs=0.01)
    assert table.loc["Greedy", "true_value"] == pytest.approx(
        study.rewards["Greedy"].mean(), abs=4 * 6 / (PATHS * HORIZON) ** 0.5
    )


def test_an_estimate_has_an_interval_if_there_are_paths_enough() -> None:
    paths = np.arange(400.0)

    few, student, skewed = replayed(paths[:10]), replayed(paths[:40]), simulated(paths)

    assert few == Cell(4.5) == (4.5, None, None, None)
    assert student.std_error == pytest.approx(paths[:40].std(ddof=1) / 40**0.5)
    assert student.high == pytest.approx(19.5 + 2.022691 * paths[:40].std(ddof=1) / 40**0.5)  # t of 39 degrees
    assert simulated(paths[:80]).low is None  # regret is skewed: 200 are needed
    assert skewed.low is not None


def test_optimism_is_the_mean_over_cohorts_less_truth() -> None:
    spread = Distribution(-7.4, -8.0, -6.5, -7.5, 0.6, 0.3)
    row = Row("Greedy", None, Cell(-7), Cell(-7), spread, Cell(-7), Cell(-8.0, 0.4), None, None)

    assert row.optimism == Cell(0.5, 0.5)  # √(0.3² + 0.4²)
    assert row._replace(true=Cell(-8.0)).optimism == Cell(0.5)
    assert row._replace(true=None).optimism is None
    assert row._replace(cohorts=None).optimism is None
