"""Q-learning: against plain formulas, a session that saw the same, examples by hand, and the truth where known."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import dtrbandit as dtr
from dtrbandit.environments import Synthetic
from dtrbandit.errors import NotEstimable, ObservationError, ProtocolError
from dtrbandit.evaluation import Cohort, QLearning
from dtrbandit.record.events import Assigned
from evaluation import cohorts
from evaluation.tiny_trials import MEANS, ONE_STAGE, read


def estimates(fit: QLearning) -> dict[tuple[str, str, str], float]:
    return {(row.stage, row.arm, row.term): row.estimate for row in fit.coef_.itertuples()}


# -- backward induction --------------------------------------------------------------------------------------


@pytest.mark.parametrize("load", cohorts.OPEN)
def test_estimates_are_those_of_least_squares_written_out(load: Callable[[], Cohort]) -> None:
    cohort = load()

    fit = QLearning(cohort.design).fit(cohort)

    arms, features = cohort.arms, cohort.features
    second = [_plain(features[1], cohort.outcome, (arms[:, 1] == arm) & ~cohort.dropped_out) for arm in range(2)]
    targets = cohort.outcome.copy()
    for i in range(len(cohort)):
        if cohort.entered[i, 1]:
            node = cohort.design.tree.after((int(arms[i, 0]),))
            q = [features[1][i] @ second[a] for a in range(2) if cohort.design.tree.feasible[node][a]]
            targets[i] = max(q)
    first = [_plain(features[0], targets, (arms[:, 0] == arm) & np.isfinite(targets)) for arm in range(2)]
    assert fit.coefficients_[1] == pytest.approx(np.array(second), rel=1e-8, abs=1e-9)
    assert fit.coefficients_[0] == pytest.approx(np.array(first), rel=1e-8, abs=1e-9)
    assert fit.value_ == pytest.approx(np.mean((features[0] @ np.array(first).T).max(axis=1)), rel=1e-9)


def _plain(rows: np.ndarray, targets: np.ndarray, own: np.ndarray) -> np.ndarray:
    return np.asarray(np.linalg.lstsq(rows[own], targets[own], rcond=None)[0])


@pytest.mark.parametrize(
    "load", [*cohorts.OPEN, lambda: cohorts.branching(400, seed=5), lambda: cohorts.branching(60, seed=6)]
)
def test_a_session_that_was_told_the_same_facts_has_the_same_estimates(load: Callable[[], Cohort]) -> None:
    cohort = load()

    fit = QLearning(cohort.design).fit(cohort)

    session = cohorts.session_of(cohort, dtr.Greedy())
    hats = {(c.stage, c.arm, c.term): c.hat for c in session.coefficients()}
    found = estimates(fit)
    assert found.keys() == hats.keys()
    size = max(map(abs, found.values()))
    assert [found[key] for key in hats] == pytest.approx(list(hats.values()), rel=1e-9, abs=1e-9 * size)


def test_a_small_trial_is_what_the_hand_finds() -> None:
    cohort = read(
        {
            "r": [1, 1, 1, 0, 1, 1, None],
            "A1": ["a", "a", "a", "a", "b", "b", "a"],
            "A2": ["a", "a", "b", None, "b", None, None],
            "Y": [4.0, 6.0, 2.0, 9.0, 8.0, None, None],
        },
        MEANS,
    )

    fit = QLearning(MEANS).fit(cohort)

    assert estimates(fit) == pytest.approx(
        {
            ("first", "a", "1"): (5 + 5 + 5 + 9) / 4,  # the better of a and b, thrice; who left early has its outcome
            ("first", "b", "1"): (5 + 5) / 2,  # b alone is feasible, also for the unit lost after its response
            ("second", "a", "1"): (4 + 6) / 2,
            ("second", "b", "1"): (2 + 8) / 2,
        }
    )
    assert fit.value_ == pytest.approx(6.0)


def test_weights_of_two_estimate_what_units_twice_do() -> None:
    cohort = cohorts.branching(300, seed=7)
    weights = np.random.default_rng(0).integers(1, 4, size=300)
    weighted = replace(cohort, weights=weights.astype(float))
    rows = np.repeat(np.arange(300), weights)
    repeated = Cohort(
        cohort.design,
        tuple(map(str, range(len(rows)))),
        tuple({name: values[rows] for name, values in context.items()} for context in cohort.contexts),
        cohort.arms[rows],
        cohort.outcome[rows],
        np.ones(len(rows)),
    )

    one, other = QLearning(cohort.design).fit(weighted), QLearning(cohort.design).fit(repeated)

    assert one.value_ == pytest.approx(other.value_, rel=1e-10)
    assert one.coef_["estimate"].to_numpy() == pytest.approx(other.coef_["estimate"].to_numpy(), rel=1e-8, abs=1e-9)


def test_the_truth_of_the_synthetic_problem_is_found() -> None:
    n, rng = 20_000, np.random.default_rng(3)
    units = Synthetic().draw(n, rng)
    arms = rng.integers(2, size=(n, 2))
    every = np.arange(n)
    contexts = units.contexts[0], {"x2": units.contexts[1]["x2"][every, arms[:, 0]]}
    outcome = units.outcome[every, arms[:, 0], arms[:, 1]]
    cohort = Cohort(units.design, tuple(map(str, every)), contexts, arms.astype(np.int8), outcome, np.ones(n))

    fit = QLearning(units.design).fit(cohort)

    # eight estimates within 4 standard errors: misses once in 2,000 seeds
    z = (fit.coef_["estimate"] - np.concatenate([c.ravel() for c in Synthetic().coefficients])) / fit.coef_["std_error"]
    assert np.abs(z).max() < 4
    assert fit.value_ == pytest.approx(Synthetic().optimal_value, abs=0.03)


# -- what people ask for -------------------------------------------------------------------------------------


def test_coefficients_come_as_a_tidy_frame() -> None:
    fit = QLearning(MEANS).fit(
        read({"r": [1, 1, 1, 1], "A1": list("aabb"), "A2": list("abbb"), "Y": [1.0, 2.0, 3.0, 5.0]}, MEANS)
    )

    columns = ["stage", "arm", "term", "estimate", "std_error", "low", "high", "method"]
    assert list(fit.coef_.columns) == columns
    assert fit.coef_[["stage", "arm", "term"]].to_numpy().tolist() == [
        ["first", "a", "1"],
        ["first", "b", "1"],
        ["second", "a", "1"],
        ["second", "b", "1"],
    ]


def test_the_arm_recommended_is_the_best_among_the_feasible() -> None:
    cohort = cohorts.autism()
    fit = QLearning(cohort.design).fit(cohort)
    history = {"Y1": 500.0, "O21": -200.0}

    q = fit.q("second", history)

    best = max(q, key=q.__getitem__)
    assert fit.recommend("second", {**history, "first": "without"}) == best
    assert fit.recommend("second", {**history, "first": "with"}) == "intensify"
    assert {fit.recommend("second", {"Y1": y, "O21": 0.0, "first": "without"}) for y in (-1e4, 1e4)} == set(q)


def test_arms_given_before_are_asked_for_where_they_matter() -> None:
    cohort = cohorts.autism()
    fit = QLearning(cohort.design).fit(cohort)

    with pytest.raises(ObservationError, match=r"feasible depends on those given at \['first'\]; add them"):
        fit.recommend("second", {"Y1": 1.0, "O21": 1.0})
    with pytest.raises(ObservationError, match="unknown arm 'x' of stage 'first'"):
        fit.recommend("second", {"Y1": 1.0, "O21": 1.0, "first": "x"})
    with pytest.raises(ObservationError, match="'O21' is missing"):
        fit.recommend("second", {"Y1": 1.0, "first": "with"})
    with pytest.raises(dtr.DesignError, match="no stage 'third'"):
        fit.recommend("third", {})


def test_arms_that_no_plan_joins_are_refused() -> None:
    cohort = cohorts.branching(400, seed=5)
    fit = QLearning(cohort.design).fit(cohort)

    with pytest.raises(ObservationError, match=r"\['a', 'c'\] given before are in no plan"):
        fit.recommend("third", {"z": 0.0, "first": "a", "second": "c"})


@pytest.mark.parametrize("load", [cohorts.ctn0030, cohorts.autism, lambda: cohorts.branching(300, seed=8)])
def test_a_fixed_regime_made_of_a_fit_does_what_the_fit_recommends(load: Callable[[], Cohort]) -> None:
    cohort = load()
    fit = QLearning(cohort.design).fit(cohort)

    session = cohorts.session_of(cohort, dtr.FixedRegime.from_qlearning(fit))

    decided = {(e.decision.unit, e.decision.stage): e.decision.arm for e in session.log if isinstance(e, Assigned)}
    advised = fit.recommend_all(cohort).stack().dropna().to_dict()
    assert decided == advised
    for i in range(0, len(cohort), 25):
        history = {name: float(values[i]) for context in cohort.contexts for name, values in context.items()}
        for m, stage in enumerate(cohort.design.stages):
            if cohort.entered[i, m]:
                known = {name: history[name] for names in cohort.design.columns[: m + 1] for name in names}
                before = {s.name: s.arms[cohort.arms[i, k]] for k, s in enumerate(cohort.design.stages[:m])}
                assert fit.recommend(stage.name, {**known, **before}) == advised[cohort.units[i], stage.name]


def test_of_equals_the_lowest_arm_is_recommended() -> None:
    cohort = read({"x": [0.0, 1.0, 0.0, 1.0], "A1": list("aabb"), "Y": [1.0, 3.0, 1.0, 3.0]}, ONE_STAGE)

    fit = QLearning(ONE_STAGE).fit(cohort)

    session = dtr.Session(ONE_STAGE, dtr.FixedRegime.from_qlearning(fit))
    assert fit.coefficients_[0][0].tolist() == fit.coefficients_[0][1].tolist()
    assert fit.recommend("only", {"x": 0.3}) == session.enroll("u", {"x": 0.3}).arm == "a"
    assert fit.recommend_all(cohort)["only"].tolist() == ["a"] * 4


def test_the_regime_of_a_fit_can_be_logged_and_resumed() -> None:
    cohort = cohorts.autism()
    policy = dtr.FixedRegime.from_qlearning(QLearning(cohort.design).fit(cohort))

    session = cohorts.session_of(cohort, policy)

    assert dtr.Session.resume(session.log).policy == policy


# -- what cannot be estimated --------------------------------------------------------------------------------


def test_an_arm_that_nobody_received_is_named_with_a_remedy() -> None:
    cohort = read({"r": [1, 1, 0], "A1": list("aaa"), "A2": ["a", "a", None], "Y": [1.0, 2.0, 3.0]}, MEANS)

    with pytest.raises(NotEstimable) as refusal:
        QLearning(MEANS).fit(cohort)

    assert "'b' at stage 'first' (none did); 'b' at stage 'second' (none did)" in str(refusal.value)
    assert "leave out of the design the plans that have them" in str(refusal.value)


def test_an_arm_received_only_by_drop_outs_is_named() -> None:
    cohort = read({"x": [1, 2, 3], "A1": list("aab"), "Y": [1.0, 2.0, None]}, ONE_STAGE)

    with pytest.raises(NotEstimable, match=r"'b' at stage 'only' \(the 1 that did dropped out\)"):
        QLearning(ONE_STAGE).fit(cohort)


def test_a_cohort_without_outcomes_teaches_nothing() -> None:
    cohort = read({"x": [1, 2], "A1": list("ab"), "Y": [None, None]}, ONE_STAGE)

    with pytest.raises(NotEstimable, match="none of the 2 units has an outcome"):
        QLearning(ONE_STAGE).fit(cohort)


def test_a_failed_fit_keeps_what_was_learned() -> None:
    good = read({"x": [1, 2, 0], "A1": list("aab"), "Y": [1.0, 2.0, 3.0]}, ONE_STAGE)
    poor = read({"x": [1, 2, 0], "A1": list("aaa"), "Y": [1.0, 2.0, 3.0]}, ONE_STAGE)
    fit = QLearning(ONE_STAGE).fit(good)
    before = fit.coef_

    with pytest.raises(NotEstimable):
        fit.fit(poor)

    pd.testing.assert_frame_equal(fit.coef_, before)


def test_asking_before_fitting_is_refused() -> None:
    fit = QLearning(ONE_STAGE)

    for ask in (lambda: fit.coef_, lambda: fit.value_, fit.summary, lambda: dtr.FixedRegime.from_qlearning(fit)):
        with pytest.raises(ProtocolError, match="call fit"):
            ask()


def test_a_cohort_of_another_design_is_refused() -> None:
    cohort = read({"x": [1, 2, 0], "A1": list("aab"), "Y": [1.0, 2.0, 3.0]}, ONE_STAGE)

    with pytest.raises(dtr.DesignError, match="read with its own design"):
        QLearning(MEANS).fit(cohort)
    with pytest.raises(dtr.DesignError, match="needs a Design"):
        QLearning("design.toml")  # type: ignore[arg-type]  # wrong on purpose


# -- contrasts and effects -----------------------------------------------------------------------------------


def three_arms() -> QLearning:
    rng = np.random.default_rng(4)
    design = dtr.Design([dtr.Stage("only", ("a", "b", "c"), "1 + x")])
    arms, x = rng.choice(list("abc"), 200), rng.normal(size=200)
    outcome = (arms == "b") * x + rng.normal(size=200)
    return QLearning(design).fit(read({"x": x, "A1": arms, "Y": outcome}, design))  # type: ignore[dict-item]  # arrays


def test_contrasts_are_differences_of_coefficients_against_the_reference() -> None:
    fit = three_arms()
    known = estimates(fit)

    found = fit.contrasts(reference={"only": "b"})

    assert [(row.arm, row.reference, row.term) for row in found.itertuples()] == [
        ("a", "b", "1"), ("a", "b", "x"), ("c", "b", "1"), ("c", "b", "x"),
    ]  # fmt: skip
    for row in found.itertuples():
        assert row.estimate == pytest.approx(known["only", row.arm, row.term] - known["only", "b", row.term])
        assert (row.low, row.high) == pytest.approx(
            (row.estimate - 1.959964 * row.std_error, row.estimate + 1.959964 * row.std_error)
        )


def test_at_the_only_stage_arms_are_independent() -> None:
    fit = three_arms()
    errors = {(row.arm, row.term): row.std_error for row in fit.coef_.itertuples()}

    for row in fit.contrasts().itertuples():
        assert row.std_error == pytest.approx(np.hypot(errors[row.arm, row.term], errors["a", row.term]))


def test_the_effect_for_a_history_is_the_difference_of_q() -> None:
    fit = three_arms()
    q = fit.q("only", {"x": 0.7})

    found = fit.effect("only", {"x": 0.7})

    assert found["arm"].tolist() == ["b", "c"]
    assert found["estimate"].tolist() == pytest.approx([q["b"] - q["a"], q["c"] - q["a"]])
    assert (found["low"] < found["estimate"]).all()
    assert fit.effect("only", {"x": 0.7}, reference="c")["arm"].tolist() == ["a", "b"]


def test_an_effect_is_asked_of_feasible_arms_only() -> None:
    fit = QLearning(MEANS).fit(
        read({"r": [1] * 6, "A1": list("aaaabb"), "A2": list("aabbbb"), "Y": [1.0, 2, 3, 4, 5, 7]}, MEANS)
    )

    assert fit.effect("second", {"first": "a"})["arm"].tolist() == ["b"]
    assert fit.effect("second", {"first": "b"}).empty


def test_contrasts_before_the_last_stage_have_the_bootstrap_where_arms_cannot_be_told_apart() -> None:
    rng = np.random.default_rng(1)
    frame = {"A1": rng.choice(list("ab"), 200), "A2": rng.choice(list("ab"), 200), "Y": rng.normal(size=200)}
    design = dtr.Design([dtr.Stage("first", ("a", "b"), "1"), dtr.Stage("second", ("a", "b"), "1 + C(first)")])

    fit = QLearning(design).fit(read(frame, design))  # type: ignore[arg-type]  # arrays

    assert fit.contrasts()["method"].tolist() == ["m-out-of-n", "sandwich", "sandwich"]
    assert fit.regularity()["near"].tolist() == [200, 0]


@pytest.mark.parametrize(
    ("reference", "message"),
    [({"first": "a"}, "there is no stage 'first'; the stages are"), ({"only": "z"}, r"has the arms \['a', 'b', 'c'\]")],
)
def test_an_unknown_reference_is_refused(reference: dict[str, str], message: str) -> None:
    with pytest.raises(dtr.DesignError, match=message):
        three_arms().contrasts(reference=reference)


def test_an_unknown_way_with_drop_outs_is_refused() -> None:
    with pytest.raises(dtr.DesignError, match="dropouts must be one of imputed, complete, weighted, found 'drop'"):
        QLearning(ONE_STAGE, dropouts="drop")  # type: ignore[arg-type]  # wrong on purpose


def test_complete_cases_are_what_a_frame_without_drop_outs_gives() -> None:
    cohort = cohorts.ctn0030()
    complete = cohort.design, [not lost for lost in cohort.dropped_out]

    fit = QLearning(cohort.design, dropouts="complete").fit(cohort)

    assert sum(arm.units for arm in fit.summary().arms if arm.stage == "first") == sum(complete[1]) == 401
