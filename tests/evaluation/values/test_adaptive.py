"""Values from data that a policy collected: against a plain version, what is refused, and coverage with known truth."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

import dtrbandit as dtr
from dtrbandit.errors import NotEstimable
from dtrbandit.evaluation import Cohort
from dtrbandit.evaluation.cohort.origin import recorded_of
from dtrbandit.evaluation.values import past_propensities as past_module
from dtrbandit.evaluation.values.adaptive import (
    adaptive_value,
    model_variance,
    predictable_scores,
    recorded_models,
)
from dtrbandit.evaluation.values.adherence import decisions, regime_risk_sets
from dtrbandit.evaluation.values.augmented import OutcomeModel
from dtrbandit.evaluation.values.past_propensities import (
    PropensitiesByLevel,
    past_propensities,
    weights_at_enrolment,
)
from effort import scaled
from evaluation.collected import REGIMES, TRUTH, leavers_session, plain_mean, synthetic_session

EPSILON = dtr.EpsilonGreedy(epsilon=0.2)
TRIALS, UNITS = 40, 300


PERMUTED = dtr.DTRBandit(q=2, delta=1.0, schedule="permuted", floor=0.2)


def collected(units: int, seed: int, delay: float = 0.0, policy: Any = EPSILON) -> Cohort:
    return Cohort.from_log(synthetic_session(policy, units, seed=seed, delay=delay).log)


def scores_of(cohort: Cohort, regime: dtr.FixedRegime) -> NDArray[np.float64]:
    risk_sets = regime_risk_sets(cohort, decisions(cohort, regime), tuple(recorded_models(cohort)))
    return predictable_scores(cohort, risk_sets, OutcomeModel(), bounded=True)


def plain_scores(cohort: Cohort, arm: int, *, permuted: bool) -> NDArray[np.float64]:
    """Return Γ_t unit by unit, for the regime that gives everybody ``arm`` twice on the synthetic problem.

    In ``permuted`` forced blocks each arm has the probability ½, and outcome models are those from before the block.
    """
    assert cohort.origin is not None
    recorded = cohort.origin.recorded
    assert recorded is not None
    one, two = (
        np.column_stack([np.ones(len(cohort)), c[name]]) for c, name in zip(cohort.contexts, ("x1", "x2"), strict=True)
    )
    first, second, found = cohort.arms[:, 0] == arm, cohort.arms[:, 1] == arm, []
    for t in range(len(cohort)):
        block = t // 8 if permuted else -1  # of eight rounds; the first, second, fourth and eighth are forced
        forced = block in (0, 1, 3, 7)
        known = recorded.ended < recorded.enrolled[block * 8 if forced else t]
        if min((known & second).sum(), (known & first).sum()) < 4:  # two more than a line has terms
            found.append(np.nan)
            continue
        later = plain_line(two, cohort.outcome, known & second)
        now = plain_line(one, later, known & first)
        mu_1, mu_2, (e_1, e_2) = now[t], later[t], (0.5, 0.5) if forced else recorded.propensity[t]
        found.append(mu_1 + first[t] / e_1 * (mu_2 + second[t] / e_2 * (cohort.outcome[t] - mu_2) - mu_1))
    return np.array(found)


def plain_line(
    features: NDArray[np.float64], targets: NDArray[np.float64], taught: NDArray[np.bool_]
) -> NDArray[np.float64]:
    """Return what a line through some targets predicts for all units, kept within these targets."""
    line = np.linalg.lstsq(features[taught], targets[taught], rcond=None)[0]
    return np.clip(features @ line, targets[taught].min(), targets[taught].max())


@settings(max_examples=scaled(10), deadline=None)
@given(
    seed=st.integers(0, 1_000),
    delay=st.sampled_from([0.0, 5.0, 30.0]),
    name=st.sampled_from(sorted(REGIMES)),
    policy=st.sampled_from([EPSILON, PERMUTED]),
)
def test_scores_are_those_of_the_plain_version(seed: int, delay: float, name: str, policy: Any) -> None:
    cohort = collected(40, seed, delay, policy)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(past_module, "GROWTH", 0.0)  # models are fitted again for every unit
        found = scores_of(cohort, REGIMES[name])

    np.testing.assert_allclose(
        found, plain_scores(cohort, int(name[1]) - 1, permuted=policy is PERMUTED), rtol=1e-8, atol=1e-8
    )


@pytest.mark.parametrize("delay", [0.0, 10.0])
def test_what_a_score_rests_on_was_known_before_its_unit_came(delay: float) -> None:
    """Other outcomes of later units, and of units still under way, change no score but their own."""
    cohort = collected(80, 1, delay)
    assert cohort.origin is not None
    recorded = cohort.origin.recorded
    assert recorded is not None
    before = scores_of(cohort, REGIMES["(2, 2)"])

    for t in (50, 65, 79):
        late = recorded.ended > recorded.enrolled[t]
        changed = replace(cohort, outcome=np.where(late, cohort.outcome + 100.0, cohort.outcome))
        after = scores_of(changed, REGIMES["(2, 2)"])
        untouched = (recorded.enrolled <= recorded.enrolled[t]) & ~late
        np.testing.assert_array_equal(after[untouched], before[untouched])
        assert (after[t] == before[t]) == ((cohort.arms[t] != 1).any())  # its own outcome counts if it followed


def test_a_value_is_the_weighted_mean_score_of_free_rounds_with_the_larger_error() -> None:
    cohort = collected(100, 3)
    regime = REGIMES["(1, 1)"]
    _, recorded = recorded_of(cohort)
    scored, decided = ~recorded.forced.any(axis=1), decisions(cohort, regime)
    past = past_propensities(cohort)

    found = adaptive_value(cohort, decided, OutcomeModel(), past)

    scores, h = scores_of(cohort, regime)[scored], weights_at_enrolment(cohort, decided, past)[scored]
    assert scored.sum() == 92  # each of four plans was pulled twice at first
    assert h.max() > 1.2 * h.min()
    assert found.value == pytest.approx((h * scores).sum() / h.sum())
    assert found.by_scores == pytest.approx(np.sqrt((h**2 * (scores - found.value) ** 2).sum()) / h.sum())
    assert np.sqrt((found.influence**2).sum()) == pytest.approx(max(found.by_scores, found.by_model))
    assert not found.influence[~scored].any()
    printed = dtr.evaluate(cohort, {"(1, 1)": regime})
    assert printed.to_frame()["estimator"].tolist() == ["adaptive"]
    assert printed.estimates[0].value == found.value
    said = " ".join(str(printed).split())
    assert "Scores of 92 units" in said
    assert f"the largest is {h.max() / h.min():.2g} times the smallest" in said


def test_with_equal_weights_a_value_is_the_mean_score() -> None:
    cohort = collected(100, 3)
    regime = REGIMES["(1, 1)"]
    _, recorded = recorded_of(cohort)

    found = adaptive_value(cohort, decisions(cohort, regime), OutcomeModel(), PropensitiesByLevel((), "for comparison"))

    scores = scores_of(cohort, regime)[~recorded.forced.any(axis=1)]
    assert found.value == pytest.approx(scores.mean())
    assert found.by_scores == pytest.approx(scores.std() / np.sqrt(92))
    assert "Equal weights (h = 1): for comparison." in found.note


def test_the_variance_by_recorded_probabilities_is_that_of_the_formula() -> None:
    """For two stages Σ h² (Var(μ₁) + τ² / e₁ + σ² 1{A₁ = d₁} / (e₁² e₂)), h summing to 1."""
    cohort = collected(100, 5)
    _, recorded = recorded_of(cohort)
    models, scored = tuple(recorded_models(cohort)), ~np.any(recorded.forced, axis=1)
    risk_sets = regime_risk_sets(cohort, decisions(cohort, REGIMES["(2, 2)"]), models)
    share = np.where(scored, np.arange(1.0, 101.0), 0.0)
    share /= share.sum()

    found = model_variance(cohort, risk_sets, models, share, OutcomeModel())

    one, two = (np.column_stack([np.ones(100), c[name]]) for c, name in zip(cohort.contexts, ("x1", "x2"), strict=True))
    means = []
    spreads = []
    target = cohort.outcome
    for features, arms in ((two, cohort.arms[:, 1]), (one, cohort.arms[:, 0])):
        fits = [np.linalg.lstsq(features[arms == arm], target[arms == arm], rcond=None)[0] for arm in (0, 1)]
        residual = target - np.where(arms == 1, features @ fits[1], features @ fits[0])
        spreads.append((residual**2).sum() / (100 - 4))
        target = features @ fits[1]
        means.append(target)
    e_1, e_2 = recorded.propensities[0][scored, 1], recorded.propensities[1][scored, 1]
    followed = cohort.arms[scored, 0] == 1
    each = np.var(means[1][scored]) + spreads[1] / e_1 + spreads[0] * followed / (e_1**2 * e_2)
    assert found == pytest.approx(share[scored] ** 2 @ each)


def test_leavers_and_arms_that_are_not_always_feasible_are_valued_too() -> None:
    cohort = Cohort.from_log(leavers_session(EPSILON, 300, seed=1).log)
    regime = dtr.FixedRegime(rule={"first": "b", "second": "b"})

    frame = dtr.evaluate(cohort, {"b, then b": regime}).to_frame()

    assert cohort.left_early.any()
    assert frame["std_error"].gt(0).all()
    followed = (cohort.arms[:, 0] == 1) & (cohort.arms[:, 1] != 2)
    assert cohort.origin is not None
    assert cohort.origin.recorded is not None
    scored = ~cohort.origin.recorded.forced.any(axis=1) & np.isfinite(scores_of(cohort, regime))
    assert frame["units"][0] == (followed & scored).sum() > 100


def test_units_with_overrides_count_as_decided() -> None:
    session = synthetic_session(EPSILON, 150, seed=2)
    before = dtr.evaluate(Cohort.from_log(session.log), REGIMES).to_frame()
    given = Cohort.from_log(session.log).arms[-1, 1]
    session.override("u150", "1" if given == 1 else "2", reason="allergy", stage="second")

    values = dtr.evaluate(Cohort.from_log(session.log), REGIMES)

    assert values.to_frame()["value"].tolist() == pytest.approx(before["value"].tolist())
    assert "1 of them had another arm than was decided, and count as decided." in " ".join(str(values).split())


def test_with_three_arms_the_variance_by_recorded_probabilities_is_that_of_the_formula_on_average() -> None:
    """A log has the probability of the arm given alone. 1 / e is then D / e² on average, D whether it was given."""
    design = dtr.Design([dtr.Stage("only", ("a", "b", "c"), "1")])
    session, rng = dtr.Session(design, dtr.EpsilonGreedy(epsilon=0.3), seed=1), np.random.default_rng(1)
    for t in range(80):
        session.enroll(f"u{t}", {})
        session.complete(f"u{t}", float(rng.normal()))
    cohort = Cohort.from_log(session.log)
    _, recorded = recorded_of(cohort)
    models, scored = tuple(recorded_models(cohort)), ~np.any(recorded.forced, axis=1)
    regime = dtr.FixedRegime(rule={"only": "c"})
    share = np.where(scored, 1 / scored.sum(), 0.0)

    found = model_variance(
        cohort, regime_risk_sets(cohort, decisions(cohort, regime), models), models, share, OutcomeModel()
    )

    means = np.array([cohort.outcome[cohort.arms[:, 0] == arm].mean() for arm in range(3)])
    spread = ((cohort.outcome - means[cohort.arms[:, 0]]) ** 2).sum() / 77
    had = scored & (cohort.arms[:, 0] == 2)
    assert found == pytest.approx(spread * (1 / recorded.propensity[had, 0] ** 2).sum() / scored.sum() ** 2)


# -- what is refused -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("policy", [dtr.DTRBandit(q=5, delta=0.5), dtr.Greedy()])
def test_where_free_arms_were_certain_weighting_is_refused_and_what_is_possible_is_said(policy: dtr.Greedy) -> None:
    cohort = Cohort.from_log(synthetic_session(policy, 60, seed=1).log)

    with pytest.raises(NotEstimable, match=r"probability 1 or 0: no weight .* dtr.evaluate\(cohort.forced\(\)"):
        dtr.evaluate(cohort, REGIMES)


def test_fewer_than_five_units_that_follow_tell_no_value() -> None:
    (row,) = dtr.evaluate(collected(60, 2), {"rare": REGIMES["(1, 1)"]}).to_frame().to_dict("records")

    assert np.isnan([row["value"], row["low"]]).all()
    assert row["note"] == "There is no value: 1 unit followed the regime to an outcome, and at least 5 are needed."


def test_a_regime_that_these_units_suggested_is_refused() -> None:
    cohort = collected(60, 1)

    with pytest.raises(NotEstimable, match="neither cross-fitting nor an interval is valid there"):
        dtr.evaluate(cohort, {"learned": dtr.QLearning(cohort.design).fit(cohort)})


def test_units_that_dropped_out_are_refused() -> None:
    session = synthetic_session(EPSILON, 60, seed=1)
    session.enroll("lost", {"x1": 0.5})
    session.withdraw("lost", reason="moved away")

    with pytest.raises(NotEstimable, match=r"1 of 61 units dropped out, .* no estimator for both is built"):
        dtr.evaluate(Cohort.from_log(session.log), REGIMES)


# -- known truth ---------------------------------------------------------------------------------------------


@pytest.mark.full
def test_intervals_hold_the_truth_where_plain_means_do_not() -> None:
    """To reach are 93 %, within two Monte-Carlo errors of 40 trials. Plain means are to hold it in less than half."""
    held, naive = [], []
    for trial in range(TRIALS):
        cohort = collected(UNITS, 1_000 + trial)
        found = dtr.evaluate(cohort, {"(2, 2)": REGIMES["(2, 2)"]}).estimates[0]
        held.append(found.low <= TRUTH["(2, 2)"] <= found.high)
        mean, error = plain_mean(cohort, REGIMES["(2, 2)"])
        naive.append(abs(mean - TRUTH["(2, 2)"]) <= 1.96 * error)

    share = np.mean(held)

    assert share + 2 * np.sqrt(share * (1 - share) / TRIALS) >= 0.93
    assert np.mean(naive) < 0.5
