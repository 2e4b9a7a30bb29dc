"""Looks during a trial: against a plain version, in order without gaps, at the end of blocks, and what is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import dtrbandit as dtr
from dtrbandit.errors import DesignError, NotEstimable
from dtrbandit.evaluation.cohort.origin import recorded_of
from dtrbandit.evaluation.looks.sequence import reach
from dtrbandit.evaluation.values.adaptive import predictable_scores, recorded_models
from dtrbandit.evaluation.values.adherence import decisions, regime_risk_sets
from evaluation.collected import REGIMES, leavers_session, synthetic_session

EPSILON = dtr.EpsilonGreedy(epsilon=0.2)
PAPER, PERMUTED = dtr.DTRBandit(q=5, delta=0.5), dtr.DTRBandit(q=5, delta=0.5, schedule="permuted")
TWO, ONE = REGIMES.values()
ENDS = [20, 40, 80, 160]


def scores_of(cohort: dtr.Cohort, regime: dtr.FixedRegime) -> NDArray[np.float64]:
    risk_sets = regime_risk_sets(cohort, decisions(cohort, regime), tuple(recorded_models(cohort)))
    return predictable_scores(cohort, risk_sets, dtr.OutcomeModel())


# -- free rounds -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("policy", [EPSILON, dtr.UniformRandom(), dtr.DTRBandit(q=3, delta=0.5, floor=0.1)])
def test_in_free_rounds_each_look_is_the_mean_difference_of_scores_so_far(policy: Any) -> None:
    session = synthetic_session(policy, 150, seed=1)

    looks = session.monitor(REGIMES)

    cohort = dtr.Cohort.from_log(session.log)
    _, recorded = recorded_of(cohort)
    scores = scores_of(cohort, TWO) - scores_of(cohort, ONE)
    scored = ~recorded.forced.any(axis=1) & np.isfinite(scores)
    (rows,) = np.nonzero(scored)
    assert looks.units.tolist() == (rows + 1).tolist()
    assert looks.scored.tolist() == list(range(1, len(rows) + 1))
    for t in (30, len(rows)):
        own, seen = scores[rows[:t]], rows[:t]
        both = [int((cohort.arms[seen] == arm).all(axis=1).sum()) for arm in (1, 0)]
        half = own.std(ddof=1) * reach(np.array([t]), alpha=0.05, tightest=500)[0]
        assert looks.followed[t - 1].tolist() == both
        assert looks.difference[t - 1] == pytest.approx(own.mean())
        limits = (own.mean() - half, own.mean() + half) if min(both) >= 10 else (np.nan, np.nan)
        assert (looks.low[t - 1], looks.high[t - 1]) == pytest.approx(limits, nan_ok=True)
    assert np.isfinite(looks.low[-1])


@pytest.mark.parametrize("policy", [EPSILON, PERMUTED])
def test_earlier_looks_stay_as_they_were_when_the_trial_goes_on(policy: Any) -> None:
    later = synthetic_session(policy, 170, seed=2, delay=5.0)
    before = dtr.monitor(later.log[: len(later.log) // 2], REGIMES)
    after = later.monitor(REGIMES)

    count = len(before.units)
    assert 0 < count < len(after.units)
    for name in ("units", "scored", "followed", "difference", "low", "high"):
        np.testing.assert_allclose(getattr(after, name)[:count], getattr(before, name), rtol=1e-9)


def test_units_behind_the_first_that_has_not_ended_do_not_count() -> None:
    session = synthetic_session(EPSILON, 100, seed=3)
    before = session.monitor(REGIMES)
    session.enroll("late", {"x1": 0.5})
    for k in range(30):
        unit = f"quick{k}"
        session.enroll(unit, {"x1": 0.5})
        session.respond(unit, {"x2": 0.5})
        session.complete(unit, 50.0)

    after = session.monitor(REGIMES)

    np.testing.assert_array_equal(after.difference, before.difference)
    assert "Left out: all units from 'late' on" in " ".join(str(after).split())


def test_fewer_than_ten_on_a_side_have_no_limits_and_it_says_how_many_are_missing() -> None:
    looks = synthetic_session(EPSILON, 40, seed=1).monitor(REGIMES)

    few = looks.followed[-1]
    assert few.min() < 10
    assert np.isnan(looks.low).all()
    side = list(REGIMES)[int(few.argmin())]
    assert f"{10 - few.min()} for {side!r}" in " ".join(str(looks).split())


def test_units_that_follow_both_regimes_are_on_no_side() -> None:
    """Who left before the second stage had what both regimes want."""
    session = leavers_session(EPSILON, 150, seed=1)
    pair = [dtr.FixedRegime(rule={"first": "a", "second": arm}) for arm in ("a", "b")]

    looks = session.monitor(pair)

    cohort = dtr.Cohort.from_log(session.log)
    scored = cohort.arms[looks.units - 1]
    assert looks.followed[-1].tolist() == [int((scored == (0, second)).all(axis=1).sum()) for second in (0, 1)]


def test_arms_of_one_stage_are_compared_by_their_labels() -> None:
    session = dtr.Session(dtr.Design([dtr.Stage("dose", ("low", "high"), "1")]), EPSILON, seed=1)
    for t in range(120):
        arm = session.enroll(f"u{t}", {}).arm
        session.complete(f"u{t}", 2.0 * (arm == "high") + t % 7)

    looks = session.monitor(("high", "low"))

    assert looks.low[-1] < 2 < looks.high[-1]
    assert looks.names == ("high", "low")


# -- forced rounds -----------------------------------------------------------------------------------------------


def plain_block_scores(cohort: dtr.Cohort, regime: int) -> NDArray[np.float64]:
    """Return Γ of units of forced blocks: probability ½ at each stage, models from units before the block."""
    _, recorded = recorded_of(cohort)
    one, two = (
        np.column_stack([np.ones(len(cohort)), c[name]]) for c, name in zip(cohort.contexts, ("x1", "x2"), strict=True)
    )
    first, second = cohort.arms[:, 0] == regime, cohort.arms[:, 1] == regime
    found = np.full(len(cohort), np.nan)
    for end in ENDS[1:]:
        start = end - 20
        known = recorded.ended < recorded.enrolled[start]
        later = np.linalg.lstsq(two[known & second], cohort.outcome[known & second], rcond=None)[0]
        now = np.linalg.lstsq(one[known & first], (two @ later)[known & first], rcond=None)[0]
        mu_1, mu_2 = one @ now, two @ later
        scores = mu_1 + 2 * first * (mu_2 + 2 * second * (cohort.outcome - mu_2) - mu_1)
        found[start:end] = scores[start:end]
    return found


@pytest.mark.parametrize("policy", [PAPER, PERMUTED])
def test_where_free_arms_are_certain_looks_are_at_the_end_of_forced_blocks(policy: dtr.DTRBandit) -> None:
    session = synthetic_session(policy, 200, seed=1)

    looks = session.monitor(REGIMES)

    cohort = dtr.Cohort.from_log(session.log)
    scores = plain_block_scores(cohort, 1) - plain_block_scores(cohort, 0)
    assert looks.units.tolist() == ENDS
    assert looks.scored.tolist() == [0, 20, 40, 60]  # the first block only teaches
    assert looks.followed.tolist() == [[0, 0], [5, 5], [10, 10], [15, 15]]
    assert np.isfinite(looks.low).tolist() == [False, False, True, True]
    for k, end in enumerate(ENDS[1:], 1):
        own = scores[:end][np.isfinite(scores[:end])]
        half = own.std(ddof=1) * reach(np.array([len(own)]), alpha=0.05, tightest=500)[0]
        assert looks.difference[k] == pytest.approx(own.mean())
        if k > 1:
            assert looks.high[k] == pytest.approx(own.mean() + half)


@pytest.mark.parametrize("policy", [PAPER, PERMUTED])
def test_a_block_counts_when_all_its_units_have_ended(policy: dtr.DTRBandit) -> None:
    session = synthetic_session(policy, 79, seed=1)
    session.enroll("last", {"x1": 0.5})
    session.respond("last", {"x2": 0.5})

    assert session.monitor(REGIMES).units.tolist() == [20, 40]
    session.complete("last", 1.0)
    assert session.monitor(REGIMES).units.tolist() == [20, 40, 80]


def test_a_void_unit_has_no_score_and_its_block_is_whole_all_the_same() -> None:
    session = synthetic_session(PAPER, 80, seed=1)
    session.void("u70", reason="not eligible")

    looks = session.monitor(REGIMES)

    assert looks.units.tolist() == [20, 40, 79]
    assert looks.scored.tolist() == [0, 20, 39]


@pytest.mark.parametrize("policy", [dtr.DTRBandit(q=4, delta=0.5), dtr.UniformRandom()])
def test_units_to_whom_an_arm_was_closed_have_no_score_and_it_is_said(policy: Any) -> None:
    session = dtr.Session(dtr.Design([dtr.Stage("dose", ("a", "b", "c"), "1")]), policy, seed=1)
    for t in range(48):
        if t == 39:
            before = session.monitor(("a", "b"))
        if t == 40:
            session.close_arm("dose", "c", reason="recalled")
        session.enroll(f"u{t}", {})
        session.complete(f"u{t}", t % 5)

    looks = session.monitor(("a", "b"))

    assert "Left out: 8 units to whom an arm was closed or contraindicated." in " ".join(str(looks).split())
    np.testing.assert_allclose(looks.difference[: len(before.units)], before.difference)
    if policy.forces_plans:
        assert looks.units.tolist() == [12, 24, 48]
        assert looks.scored.tolist() == [0, 12, 16]
    else:
        assert looks.units[-1] == 40


# -- a look changes nothing ------------------------------------------------------------------------------------


@pytest.mark.parametrize("policy", [EPSILON, PERMUTED])
def test_a_look_changes_neither_the_log_nor_the_next_decision(policy: Any) -> None:
    looked, other = (synthetic_session(policy, 100, seed=4) for _ in range(2))

    looked.monitor(REGIMES)

    assert list(looked.log) == list(other.log)
    assert looked.enroll("next", {"x1": 0.3}) == other.enroll("next", {"x1": 0.3})


def test_a_cohort_is_looked_at_as_its_log_is() -> None:
    session = synthetic_session(EPSILON, 100, seed=4)
    cohort = dtr.Cohort.from_log(session.log)

    np.testing.assert_array_equal(dtr.monitor(cohort, REGIMES).low, session.monitor(REGIMES).low)
    with pytest.raises(DesignError, match="needs all 100 units of the log in order, and this cohort has 50"):
        dtr.monitor(cohort.of(np.arange(50)), REGIMES)


# -- what is refused ----------------------------------------------------------------------------------------------


def test_without_a_weight_for_the_arm_not_given_it_is_refused_and_what_is_possible_is_said() -> None:
    with pytest.raises(NotEstimable, match=r"Greedy gave its arm with probability 1 or 0: no weight exists"):
        synthetic_session(dtr.Greedy(), 60, seed=1).monitor(REGIMES)
    with pytest.raises(NotEstimable, match="FixedRegime gave its arm with probability 1 or 0: no weight exists"):
        synthetic_session(TWO, 30, seed=1).monitor(REGIMES)


def test_before_the_first_forced_block_is_whole_it_is_refused() -> None:
    with pytest.raises(NotEstimable, match="no forced block is whole yet: the first ends with round 20"):
        synthetic_session(PAPER, 19, seed=1).monitor(REGIMES)


def test_lost_units_are_refused_unless_it_is_said_that_loss_is_by_chance() -> None:
    session = synthetic_session(EPSILON, 100, seed=1)
    session.enroll("lost", {"x1": 0.5})
    before = session.monitor(REGIMES)
    session.withdraw("lost", reason="moved away")

    with pytest.raises(NotEstimable, match=r'1 of 101 units dropped out.*dropouts="complete"'):
        session.monitor(REGIMES)
    looks = session.monitor(REGIMES, dropouts="complete")

    np.testing.assert_allclose(looks.difference, before.difference)
    assert "Left out: 1 unit that dropped out." in " ".join(str(looks).split())


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"alpha": 0.0}, "alpha must be above 0"),
        ({"alpha": 0.5}, "below 0.5"),
        ({"tightest": 0}, "tightest must be a whole number"),
        ({"dropouts": "imputed"}, "must be 'refuse' or 'complete'"),
        ({"outcome_model": "1 + x1"}, "must be an OutcomeModel"),
    ],
)
def test_options_that_mean_nothing_are_refused(options: Any, said: str) -> None:
    with pytest.raises(DesignError, match=said):
        synthetic_session(EPSILON, 30, seed=1).monitor(REGIMES, **options)
