"""Replay on resampled cohorts: the same ones for all policies, propensities estimated anew, failures counted."""

from __future__ import annotations

from dataclasses import replace as with_other

import numpy as np
import pytest

import dtrbandit as dtr
from dtrbandit.evaluation.cohort.cohort import Cohort
from dtrbandit.evaluation.cohort.origin import Origin
from dtrbandit.evaluation.replay.algorithm_2 import replay
from dtrbandit.evaluation.replay.paths import play_path, prepare
from dtrbandit.evaluation.replay.resampling import Resampled, Resampling
from dtrbandit.evaluation.replay.result import Replay
from evaluation.replay_worlds import two_stage_cohort

pytestmark = pytest.mark.filterwarnings("ignore::dtrbandit.evaluation.SmallCohort")
GREEDY, RULE = dtr.Greedy(), dtr.FixedRegime(rule={"first": "a", "second": "b"})
SIZE = {"horizon": 40, "paths": 3, "cohorts": 30, "cohort_paths": 2}


@pytest.fixture(scope="module")
def cohort() -> Cohort:
    return two_stage_cohort(300).with_propensities(dtr.PropensityModel(penalty=1.0))


@pytest.fixture(scope="module")
def found(cohort: Cohort) -> Replay:
    return replay(GREEDY, cohort, **SIZE)  # type: ignore[arg-type]


def resampling(cohort: Cohort, policy: dtr.Greedy | dtr.FixedRegime) -> Resampling:
    inputs = prepare(policy, cohort, None, horizon=40, seed=0, once=False)
    return Resampling(policy, cohort, None, inputs, 30, 2)


def test_resampled_outcomes_are_those_of_a_replay_of_the_resampled_units(cohort: Cohort, found: Replay) -> None:
    """Written out: draw units, estimate propensities anew, play, look up outcomes."""
    own = resampling(cohort, GREEDY)
    rows = own.rows(7)
    again = cohort.of(rows).with_propensities(dtr.PropensityModel(penalty=1.0))
    inputs = prepare(GREEDY, again, None, horizon=40, seed=own.prepared(7).seed, once=False)

    assert found.resampled is not None
    for path in range(2):
        assert found.resampled[7, path].tolist() == again.outcome[play_path(inputs, path).rows].tolist()


def test_a_resample_has_as_many_units_drawn_with_replacement_and_differs_from_others(cohort: Cohort) -> None:
    own = resampling(cohort, GREEDY)

    drawn = [own.rows(number) for number in range(30)]

    assert {len(rows) for rows in drawn} == {300}
    assert len({rows.tobytes() for rows in drawn}) == 30
    assert np.mean([len(np.unique(rows)) for rows in drawn]) == pytest.approx(300 * (1 - np.exp(-1)), rel=0.03)


def test_all_policies_meet_the_same_resampled_cohorts(cohort: Cohort) -> None:
    first, second = resampling(cohort, GREEDY), resampling(cohort, RULE)

    assert (first.rows(3) == second.rows(3)).all()
    assert first.prepared(3).seed == second.prepared(3).seed
    assert (first.prepared(3).weighting.weights == second.prepared(3).weighting.weights).all()


def test_propensities_are_estimated_anew_and_given_weights_go_with_their_units(cohort: Cohort) -> None:
    own = resampling(cohort, GREEDY)
    rows, given = own.rows(0), np.random.default_rng(0).gamma(2.0, size=300)
    assert cohort.propensities is not None

    refitted = own.prepared(0).weighting.weights
    kept = with_other(own, weights=given).prepared(0).weighting

    assert refitted != pytest.approx(cohort.propensities.weights[rows])
    assert np.corrcoef(refitted, cohort.propensities.weights[rows])[0, 1] > 0.8  # of the same model
    assert (kept.weights == given[rows]).all()


def test_the_paths_through_the_cohort_itself_are_what_they_were(cohort: Cohort, found: Replay) -> None:
    alone = replay(GREEDY, cohort, horizon=40, paths=3)

    assert (alone.rows == found.rows).all()
    assert alone.value == found.value
    assert alone.resampled is None


@pytest.mark.slow
def test_results_do_not_depend_on_the_number_of_processes(cohort: Cohort, found: Replay) -> None:
    again = replay(GREEDY, cohort, n_jobs=2, **SIZE)  # type: ignore[arg-type]

    assert again.resampled is not None
    assert found.resampled is not None
    assert (again.resampled == found.resampled).all()


def test_cohorts_that_cannot_be_played_are_left_out_and_too_many_give_no_interval() -> None:
    """Greedy tries every plan. Two units completed b, then b, and a resample has neither in e⁻² of all cases."""
    few = two_stage_cohort(300)
    rare = (few.arms == [1, 1]).all(axis=1) & ~few.dropped_out
    keep = ~rare | (np.cumsum(rare) <= 2)
    cohort = few.of(np.flatnonzero(keep)).with_propensities(dtr.PropensityModel(penalty=1.0))

    found = replay(GREEDY, cohort, **SIZE)  # type: ignore[arg-type]

    assert found.resampled is not None
    lost = int(np.isnan(found.resampled[:, 0, 0]).sum())
    assert 1.5 < lost < 15
    assert found.interval_over == "over paths through this cohort"
    assert f"no interval over cohorts: {lost} of 30 resampled cohorts could not be replayed" in str(found)
    assert found.no_interval is not None
    assert "no usable unit of this cohort completed b, then b" in found.no_interval


def test_few_lost_cohorts_still_give_an_interval() -> None:
    outcomes = np.zeros((40, 2, 5))
    outcomes[:2] = np.nan

    assert Resampled(outcomes, "why").reason is None
    outcomes[:3] = np.nan
    assert Resampled(outcomes, "because of this").reason == (
        "no interval over cohorts: 3 of 40 resampled cohorts could not be replayed (because of this)"
    )


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"cohorts": 29}, "at least 30 resampled cohorts.*found cohorts=29"),
        ({"cohort_paths": 1}, "2 paths"),
        ({"paths": 1}, "2 paths"),
        ({"cohorts": 2.5}, "cohorts"),
        ({"horizon": 10**12}, "GB of memory"),
    ],
)
def test_resamples_that_give_no_valid_interval_are_refused(
    cohort: Cohort, change: dict[str, float], message: str
) -> None:
    with pytest.raises(dtr.DesignError, match=message):
        replay(GREEDY, cohort, **{**SIZE, **change})  # type: ignore[arg-type]


def test_units_that_taught_the_policy_which_chose_their_arms_are_not_replayed(cohort: Cohort) -> None:
    adaptive = with_other(cohort, origin=Origin("adaptive", "DTRBandit(q=1, delta=1.0)"))

    with pytest.raises(dtr.DesignError, match="needs independent units"):
        replay(GREEDY, adaptive, **SIZE)  # type: ignore[arg-type]
