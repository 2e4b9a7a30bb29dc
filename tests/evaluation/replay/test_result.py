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
from dtrbandit.evaluation.replay.replay import replay
from dtrbandit.evaluation.replay.result import Replay
from dtrbandit.intervals import over_cohorts
from evaluation.replay_worlds import two_stage_cohort

pytestmark = pytest.mark.filterwarnings(
    "ignore::dtrbandit.evaluation.EqualWeights"
)  # leavers, drawn with equal weights
small = pytest.mark.filterwarnings("ignore::dtrbandit.evaluation.SmallCohort")


@pytest.fixture(scope="module")
def found() -> Replay:
    return replay(dtr.Greedy(), two_stage_cohort(400), horizon=300, paths=60)


def test_value_and_standard_error_are_those_of_the_paths_averages(found: Replay) -> None:
    averages = found.outcomes.mean(axis=1)

    assert found.averages.tolist() == averages.tolist()
    assert found.value == pytest.approx(averages.mean())
    assert found.std_error == pytest.approx(averages.std(ddof=1) / np.sqrt(60))
    assert found.acceptance_rate == pytest.approx(18_000 / found.draws.sum())
    assert 0.1 < found.acceptance_rate < 0.9


def test_the_curve_averages_outcomes_up_to_each_round(found: Replay) -> None:
    curve = found.curve(at=[1, 100, 300])

    assert list(curve.columns) == ["t", "mean", "std_error", "low", "high", "interval", "interval_over"]
    assert set(curve["interval_over"]) == {"over paths through this cohort"}
    assert curve["mean"].tolist() == pytest.approx([found.outcomes[:, :t].mean() for t in (1, 100, 300)])
    assert curve["std_error"].iloc[-1] == pytest.approx(found.std_error)
    assert found.curve()["t"].iloc[-1] == 300
    assert len(found.curve()) > 100


def test_the_summary_is_one_row_and_the_print_says_how_far_to_trust_it(found: Replay) -> None:
    summary, text = found.summary(), str(found)

    assert summary.shape[0] == 1
    assert summary["value"].iloc[0] == found.value
    for words in ("Greedy()", "400 units", "60 paths of 300 rounds", "were accepted", "Effective sample size", "95 %"):
        assert words in text
    assert found.different_units == np.mean([len(set(path)) for path in found.rows.tolist()])
    assert repr(found).startswith("<Replay of Greedy(): 60 paths of 300 rounds")


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
@pytest.mark.filterwarnings("ignore::dtrbandit.policies.UnscaledOutcomes")
def test_a_policy_that_wants_arms_which_hardly_anybody_had_is_told_by_its_acceptance() -> None:
    rare = dtr.LSVIUCB(beta=3.0, bound=((2, 52, 20, 2), (2, 52, 20, 2)))

    found = replay(rare, stard(stard_cohort_table(seed=0)), horizon=1_000, paths=2)

    left = (found.arms[:, :, 1] < 0).mean()
    assert left > 0.55  # where 41 % do in truth: one agreement is enough for those
    assert "too few units had the arms of this policy" in str(found)
    assert "1,000 rounds" in str(found)


@pytest.mark.parametrize(("paths", "words"), [(1, "1 path is too few"), (19, "19 paths are too few")])
def test_with_few_paths_there_is_a_value_without_an_interval_and_the_spread_in_pictures(paths: int, words: str) -> None:
    few = replay(dtr.UniformRandom(), two_stage_cohort(100), horizon=50, paths=paths)

    assert np.isnan([few.std_error, few.low, few.high]).all()
    assert f"{words} for an interval over paths: 20 give one of about 90 %, 60 one of 95 %." in str(few)
    assert few.summary()["interval"].tolist() == ["too few paths for an interval"]
    assert few.expected_acceptance is None
    assert ("band: 5 to 95 % of paths" in few.plot().get_ylabel()) == (paths > 1)


def test_the_plot_has_a_band_around_the_mean(found: Replay) -> None:
    ax = found.plot(paths=True)

    line = ax.get_lines()[-1]
    assert np.asarray(line.get_ydata())[-1] == pytest.approx(found.value)
    assert len(ax.get_lines()) == 61
    assert len(ax.collections) == 1


def test_results_cannot_be_changed(found: Replay) -> None:
    with pytest.raises(ValueError, match="read-only"):
        found.rows[0, 0] = 1


# -- which interval is meant ---------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def weighted() -> Cohort:
    return two_stage_cohort(300).with_propensities(dtr.PropensityModel(penalty=1.0))


RULE = dtr.FixedRegime(rule={"first": "a", "second": "b"})


@small
def test_the_interval_says_over_what_it_is_in_print_frames_and_picture(weighted: Cohort) -> None:
    alone = replay(dtr.Greedy(), weighted, horizon=60, paths=60)
    many = replay(dtr.Greedy(), weighted, horizon=60, paths=3, cohorts=30)

    for result, words in ((alone, "over paths through this cohort"), (many, "over cohorts")):
        assert f"95 % interval {words} {result.low:.4g} to {result.high:.4g}" in str(result)
        assert result.summary()["interval_over"].tolist() == [words]
        assert set(result.curve()["interval_over"]) == {words}
        assert words in result.plot().get_ylabel()
    assert many.std_error == pytest.approx(over_cohorts(many.averages, many.cohort_averages).std_error)  # type: ignore[arg-type]
    assert many.curve(at=[60])["std_error"][0] == pytest.approx(many.std_error)
    assert "rests on 30 resampled cohorts of 4 paths each" in str(many)
    assert "Other cohorts would differ more" in str(alone)


@small
@pytest.mark.parametrize(
    ("policy", "once", "about"),
    [
        (dtr.Greedy(), False, "replay's mean over cohorts, which differs from the truth by replay's optimism"),
        (dtr.Greedy(), True, "the value in the population"),
        (RULE, False, "the value in the population"),
        (dtr.UniformRandom(), False, "the value in the population"),
    ],
)
def test_over_cohorts_the_interval_is_about_the_value_but_for_a_learner_that_meets_units_again(
    weighted: Cohort, policy: Any, once: bool, about: str
) -> None:
    found = replay(policy, weighted, horizon=15, paths=2, cohorts=30, cohort_paths=2, replace=not once)

    assert found.interval_over == "over cohorts"
    assert found.interval_of == about
    assert f"It is about {about}." in str(found)


def test_equal_weights_where_units_left_early_are_cautioned_about_at_the_number(found: Replay) -> None:
    assert found.caution is not None
    assert "Caution: rows are drawn with equal weights, but 70 of 400 units left early" in str(found)
    assert found.summary()["caution"].tolist() == [found.caution]
    assert "Caution" in found.plot().get_title(loc="left")


@small
def test_with_propensities_there_is_no_caution(weighted: Cohort) -> None:
    result = replay(RULE, weighted, horizon=20, paths=2)

    assert result.caution is None
    assert "Caution" not in str(result)
    assert result.plot().get_title(loc="left") == ""
