"""Paired differences between replays: path by path, or cohort by cohort, and only of the same rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dtrbandit as dtr
from dtrbandit.evaluation.cohort.cohort import Cohort
from dtrbandit.evaluation.replay.comparison import compare
from dtrbandit.evaluation.replay.result import Replay
from dtrbandit.intervals import interval, over_cohorts
from evaluation.replay_worlds import two_stage_cohort

pytestmark = pytest.mark.filterwarnings("ignore::dtrbandit.evaluation.SmallCohort")
RULES = {arm: dtr.FixedRegime(rule={"first": "a", "second": arm}) for arm in ("a", "b")}
POLICIES = {**RULES, "Greedy": dtr.Greedy()}


@pytest.fixture(scope="module")
def cohort() -> Cohort:
    return two_stage_cohort(300).with_propensities(dtr.PropensityModel(penalty=1.0))


def played(cohort: Cohort, name: str, **changes: Any) -> Replay:
    return dtr.replay(POLICIES[name], cohort, **{"horizon": 40, "paths": 4, **changes})


@pytest.fixture(scope="module")
def replays(cohort: Cohort) -> dict[str, Replay]:
    return {name: played(cohort, name, cohorts=30) for name in POLICIES}


def test_every_pair_has_its_difference_by_path(cohort: Cohort) -> None:
    found = {name: played(cohort, name, paths=25) for name in POLICIES}

    table = compare(found)

    assert table[["policy", "other"]].to_numpy().tolist() == [["a", "b"], ["a", "Greedy"], ["b", "Greedy"]]
    expected = interval(found["a"].averages - found["Greedy"].averages)
    assert table.iloc[1][["difference", "std_error", "low", "high"]].tolist() == pytest.approx(list(expected[:4]))
    assert set(table["interval"]) == {"about 90 %"}
    assert set(table["interval_over"]) == {"over paths through this cohort"}
    assert set(table["interval_of"]) == {"replay's mean on this cohort"}
    few = compare({name: played(cohort, name) for name in POLICIES})
    assert set(few["interval"]) == {"too few paths for an interval"}
    assert few[["std_error", "low", "high"]].isna().all(axis=None)


@pytest.mark.full
def test_with_resampled_cohorts_it_is_over_cohorts_and_says_whose_optimism_is_in_it(replays: dict[str, Replay]) -> None:
    table = compare(replays)

    rules, learner = table.iloc[0], table.iloc[1]
    first, second = replays["a"], replays["b"]
    assert first.resampled is not None
    assert second.resampled is not None
    apart = first.resampled.mean(axis=2) - second.resampled.mean(axis=2)
    expected = over_cohorts(first.averages - second.averages, apart)
    assert rules[["difference", "std_error", "low", "high"]].tolist() == pytest.approx(list(expected[:4]))
    assert set(table["interval_over"]) == {"over cohorts"}
    assert rules["interval_of"] == "the difference in the population"
    assert "optimism" in learner["interval_of"]


def test_a_cohort_that_one_policy_could_not_play_counts_for_neither(replays: dict[str, Replay]) -> None:
    from dataclasses import replace

    first, second = replays["a"], replays["b"]
    assert first.resampled is not None
    assert second.resampled is not None
    lost = np.array(first.resampled)
    lost[4] = np.nan

    table = compare({"a": replace(first, resampled=lost), "b": second})

    kept = np.arange(30) != 4
    apart = (first.resampled - second.resampled)[kept].mean(axis=2)
    assert table["std_error"][0] == pytest.approx(over_cohorts(first.averages - second.averages, apart).std_error)


def test_a_list_is_named_by_policy_and_where_one_has_no_cohorts_it_is_over_paths(
    cohort: Cohort, replays: dict[str, Replay]
) -> None:
    table = compare([replays["a"], played(cohort, "Greedy")])

    assert table["other"].tolist() == ["Greedy()"]
    assert table["interval_over"].tolist() == ["over paths through this cohort"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"seed": 1}, "another seed"),
        ({"horizon": 30}, "another horizon"),
        ({"paths": 3}, "another number of paths"),
        ({"replace": False}, "another replace="),
        ({"weights": np.arange(1.0, 301.0)}, "another units, or weights"),
    ],
)
def test_replays_of_other_rows_are_not_compared(cohort: Cohort, change: dict[str, Any], message: str) -> None:
    with pytest.raises(dtr.DesignError, match=message):
        compare({"one": played(cohort, "a"), "other": played(cohort, "b", **change)})


@pytest.mark.parametrize("wrong", [3, "text", [], ["no replay", "neither"], {"a": 1, "b": 2}])
def test_what_is_no_replay_is_refused(wrong: Any) -> None:
    with pytest.raises(dtr.DesignError, match="compare needs"):
        compare(wrong)


def test_one_replay_or_one_name_twice_is_refused(replays: dict[str, Replay]) -> None:
    for wrong in ({"a": replays["a"]}, [replays["a"], replays["a"]]):
        with pytest.raises(dtr.DesignError, match="two replays or more, under different names"):
            compare(wrong)
