"""What one asks of a replay: value, curve, summary, picture, and how far to trust them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

import dtrbandit as dtr
from dtrbandit.datasets import OFFLINE, stard_cohort_table
from dtrbandit.environments import STARD
from dtrbandit.evaluation.cohort.cohort import Cohort
from dtrbandit.evaluation.replay.algorithm_2 import replay
from dtrbandit.evaluation.replay.result import Replay
from evaluation.replay_worlds import two_stage_cohort

small = pytest.mark.filterwarnings("ignore::dtrbandit.evaluation.SmallCohort")


@pytest.fixture(scope="module")
def found() -> Replay:
    return replay(dtr.Greedy(), two_stage_cohort(400), horizon=300, paths=5)


def test_value_and_standard_error_are_those_of_the_paths_averages(found: Replay) -> None:
    averages = found.outcomes.mean(axis=1)

    assert found.averages.tolist() == averages.tolist()
    assert found.value == pytest.approx(averages.mean())
    assert found.std_error == pytest.approx(averages.std(ddof=1) / np.sqrt(5))
    assert found.acceptance_rate == pytest.approx(1_500 / found.draws.sum())
    assert 0.1 < found.acceptance_rate < 0.9


def test_the_curve_averages_outcomes_up_to_each_round(found: Replay) -> None:
    curve = found.curve(at=[1, 100, 300])

    assert list(curve.columns) == ["t", "mean", "std_error", "low", "high"]
    assert curve["mean"].tolist() == pytest.approx([found.outcomes[:, :t].mean() for t in (1, 100, 300)])
    assert curve["std_error"].iloc[-1] == pytest.approx(found.std_error)
    assert found.curve()["t"].iloc[-1] == 300
    assert len(found.curve()) > 100


def test_the_summary_is_one_row_and_the_print_says_how_far_to_trust_it(found: Replay) -> None:
    summary, text = found.summary(), str(found)

    assert summary.shape[0] == 1
    assert summary["value"].iloc[0] == found.value
    for words in ("Greedy()", "400 units", "5 paths of 300 rounds", "were accepted", "Effective sample size", "95 %"):
        assert words in text
    assert found.different_units == np.mean([len(set(path)) for path in found.rows.tolist()])
    assert repr(found).startswith("<Replay of Greedy(): 5 paths of 300 rounds")


def stard(rows: pd.DataFrame) -> Cohort:
    cohort = Cohort.from_frame(rows, STARD().design, arms=["A1", "A2"], outcome="Y")
    return cohort.with_propensities(dtr.PropensityModel())


@pytest.mark.parametrize("policy", [dtr.UniformRandom(), dtr.Greedy(), OFFLINE], ids=["random", "Greedy", "Offline"])
def test_with_many_units_every_policy_is_accepted_as_often_as_expected(policy: Any) -> None:
    cohort = stard(pd.DataFrame(STARD().logged(20_000, np.random.default_rng(0))))

    found = replay(policy, cohort, horizon=1_000, paths=4)

    assert cohort.propensities is not None
    assert found.expected_acceptance == pytest.approx(20_000 / cohort.propensities.weights.sum())
    # the cohort's Σ 1/p over those who agree has a standard error of 3 %, 4,000 accepted rounds one of 1.4 %
    assert found.acceptance_rate == pytest.approx(found.expected_acceptance, rel=0.1)
    assert "% are to be expected." in str(found)


@small
def test_a_policy_that_wants_arms_which_hardly_anybody_had_is_told_by_its_acceptance() -> None:
    rare = dtr.LSVIUCB(beta=3.0, bound=((2, 52, 20, 2), (2, 52, 20, 2)))

    found = replay(rare, stard(stard_cohort_table(seed=0)), horizon=1_000, paths=2)

    left = (found.arms[:, :, 1] < 0).mean()
    assert left > 0.55  # where 41 % do in truth: one agreement is enough for those
    assert "too few units had the arms of this policy" in str(found)
    assert "1,000 rounds" in str(found)


def test_one_path_has_a_value_without_an_interval() -> None:
    single = replay(dtr.UniformRandom(), two_stage_cohort(100), horizon=50, paths=1)

    assert np.isnan(single.std_error)
    assert "95 %" not in str(single)
    assert "1 path of 50 rounds" in str(single)
    assert single.expected_acceptance is None


def test_the_plot_has_a_band_around_the_mean(found: Replay) -> None:
    ax = found.plot(paths=True)

    line = ax.get_lines()[-1]
    assert np.asarray(line.get_ydata())[-1] == pytest.approx(found.value)
    assert len(ax.get_lines()) == 6
    assert len(ax.collections) == 1


def test_results_cannot_be_changed(found: Replay) -> None:
    with pytest.raises(ValueError, match="read-only"):
        found.rows[0, 0] = 1
