"""The simulated STAR*D: its law, its exact Q-functions, the values of known rules, and the logged rows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import dtrbandit as dtr
from dtrbandit.datasets import OFFLINE
from dtrbandit.environments import STARD, Environment, PotentialOutcomes, checked, stard_law
from dtrbandit.environments import stard_law as law
from dtrbandit.environments.stard import draw_nature, treat
from dtrbandit.errors import DesignError
from dtrbandit.kernels.arrays import Array, Mask
from dtrbandit.testing import EnvironmentContract
from environments import stard_exact as exact
from environments.stard_rules import always, assert_mean, never, offline_first, offline_second

Log = dict[str, NDArray[Any]]
MANY = 1_000_000


class TestSTARD(EnvironmentContract):
    def environment(self) -> Environment:
        return STARD()


class TestSTARDWithoutIntercept(EnvironmentContract):
    units = 20_000

    def environment(self) -> Environment:
        return STARD(intercept=False, preference=(1, 2))


@pytest.fixture(scope="module")
def units() -> PotentialOutcomes:
    return STARD().draw(MANY, np.random.default_rng(1))


@pytest.fixture(scope="module")
def log() -> Log:
    return STARD().logged(MANY, np.random.default_rng(2))


@pytest.fixture(scope="module")
def trial() -> exact.Shares:
    return exact.follow(
        lambda _start, _slope, preference: stard_law.logged_first(preference),
        lambda _start, _slope, preference: stard_law.logged_second(preference, np.ones_like(preference)),
    )


def under(units: PotentialOutcomes, first: Mask, second: Mask) -> Array:
    """Return the outcomes, given who has an SSRI at stage 1, (n,), and after it at stage 2, (n,)."""
    after_ssri = np.where(second, units.outcome[:, 0, 0], units.outcome[:, 0, 1])
    return np.where(first, after_ssri, units.outcome[:, 1, 1])


@pytest.mark.full
def test_the_numbers_on_the_page_are_the_models(trial: exact.Shares) -> None:
    page = (Path(__file__).parents[2] / "docs/stard.md").read_text()
    rules = [(always, always), (never, never), (offline_first, offline_second)]
    values = [trial.value, STARD().optimal_value, *(exact.follow(*rule).value for rule in rules)]

    assert ", ".join(f"{1260 * share:.1f}" for share in trial[:4]) in page
    assert [f"−{-value:.3f}" in page for value in values] == [True] * 5


# -- draws ---------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_draws_follow_the_law(units: PotentialOutcomes) -> None:
    first, second = units.contexts
    ssri1 = offline_first(first["qids_start1"], first["qids_slope1"], first["preference1"])
    ssri2 = offline_second(second["qids_start2"][:, 0], second["qids_slope2"][:, 0], second["preference2"][:, 0])

    assert_mean(units.outcome[:, 0, 0], exact.follow(always, always).value)
    assert_mean(units.outcome[:, 1, 1], exact.follow(never, never).value)
    assert_mean(under(units, ssri1 > 0, ssri2 > 0), exact.follow(offline_first, offline_second).value)


def test_the_best_regime_has_the_optimal_value(units: PotentialOutcomes) -> None:
    assert units.q is not None
    first, second = units.q

    assert_mean(first.max(axis=1), STARD().optimal_value)
    best = under(units, first[:, 0] >= first[:, 1], second[:, 0, 0] >= second[:, 0, 1])
    assert_mean(best, STARD().optimal_value)


def test_one_in_remission_leaves_with_minus_the_score_and_starts_stage_2_where_stage_1_ended() -> None:
    units = checked(STARD().draw(1_000, np.random.default_rng(5)))
    end, start2 = units.contexts[1]["qids_end1"], units.contexts[1]["qids_start2"]
    left = end <= 5

    assert 300 < left[:, 0].sum() < 450  # 36 % of 1,000, five standard deviations
    np.testing.assert_array_equal(start2[left], end[left])
    np.testing.assert_array_equal(units.outcome[:, 0][left[:, 0]], -end[left[:, 0], 0][:, None] * [1, 1])
    assert not (start2 == end)[~left].all()
    for name in ("qids_slope2", "preference2"):
        assert np.isfinite(units.contexts[1][name]).all()


@pytest.mark.parametrize(
    ("environment", "value"),
    [
        (STARD(), -7.60),
        (STARD(intercept=False), -7.72),
        (STARD(intercept=False, preference=(1, 2)), -7.69),
        (STARD(intercept=False, preference=(2, 1)), -7.61),
    ],
)
def test_linear_q_functions_lead_to_rules_of_the_known_values(environment: STARD, value: float) -> None:
    """Backward induction by least squares on 300,000 uniformly randomised units.

    The regret of the rule by the true Q-functions has a standard error below 0.001; the fit moves it by 0.01.
    """
    units = environment.draw(300_000, np.random.default_rng(6))
    first, second = linear_rule(units, np.random.default_rng(7))

    arms = np.column_stack([first, np.where(first == 1, 1, second)])

    assert units.q is not None
    lost = loss(units.q, arms)
    assert abs(environment.optimal_value - lost - value) <= 0.015


def linear_rule(units: PotentialOutcomes, rng: np.random.Generator) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the first arm and, after an SSRI, the second that linear Q-functions prefer."""
    n = len(units.outcome)
    psi = [design_matrix(units, m) for m in (0, 1)]
    given1 = rng.integers(2, size=n)
    given2 = np.maximum(given1, rng.integers(2, size=n))
    rows = np.arange(n)
    outcome, own = units.outcome[rows, given1, given2], psi[1][rows, given1]
    entered = units.contexts[1]["qids_end1"][rows, given1] > 5
    second = [np.linalg.lstsq(own[k], outcome[k], rcond=None)[0] for k in (entered & (given2 == a) for a in (0, 1))]
    q2 = own @ np.array(second).T
    pseudo = np.where(entered, np.where(given1 == 0, q2.max(axis=1), q2[:, 1]), outcome)
    first = [np.linalg.lstsq(psi[0][k], pseudo[k], rcond=None)[0] for k in (given1 == a for a in (0, 1))]
    return (psi[0] @ np.array(first).T).argmax(axis=1), (psi[1][:, 0] @ np.array(second).T).argmax(axis=1)


def design_matrix(units: PotentialOutcomes, m: int) -> Array:
    columns = [units.contexts[m][f"{name}{m + 1}"] for name in ("qids_start", "qids_slope", "preference")]
    one = [np.ones_like(columns[0])] if units.design.dimensions[m] == 4 else []
    return np.stack([*one, *columns], axis=-1)


def loss(q: tuple[Array, ...], arms: NDArray[np.int64]) -> float:
    """Return the mean regret of Proposition 1."""
    rows = np.arange(len(arms))
    second = q[1][rows, arms[:, 0]]
    lost = q[0].max(axis=1) - q[0][rows, arms[:, 0]] + np.nanmax(second, axis=1) - second[rows, arms[:, 1]]
    return float(lost.mean())


# -- logged rows ---------------------------------------------------------------------------------------------------


def test_logged_patients_come_to_their_ends_as_often_as_the_law_says(log: Log, trial: exact.Shares) -> None:
    after_ssri = (log["status"] == "stage 2") & (log["A1"] == "ssri")

    assert_mean(1.0 * (log["status"] == "remitted"), trial.remitted)
    assert_mean(1.0 * (log["status"] == "dropped out"), trial.lost)
    assert_mean(1.0 * (log["status"] == "stage 2"), trial.second)
    assert_mean(1.0 * after_ssri, trial.second_after_ssri)


def test_weighted_by_the_chance_of_staying_logged_outcomes_have_the_trials_value(log: Log, trial: exact.Shares) -> None:
    arm = np.where(log["A1"] == "ssri", 1.0, -1.0)
    stayed = log["status"] != "dropped out"
    lost = stard_law.dropout(log["qids_end1"], log["qids_slope2"], arm, log["preference1"])
    weight = np.where(log["status"] == "stage 2", 1 / (1 - lost), 1.0)

    assert_mean(np.where(stayed, weight * np.nan_to_num(log["Y"]), 0.0), trial.value)


def test_arms_are_given_as_the_trial_gave_them(log: Log) -> None:
    second = log["status"] == "stage 2"
    after_ssri = second & (log["A1"] == "ssri")

    for preference, first, then in ((1, 0.948, 0.885), (-1, 0.305, 0.060)):
        assert_mean(1.0 * (log["A1"] == "ssri")[log["preference1"] == preference], first)
        assert_mean(1.0 * (log["A2"] == "ssri")[after_ssri & (log["preference2"] == preference)], then)
    assert (log["A2"][second & (log["A1"] == "other")] == "other").all()


def test_what_was_not_observed_is_blank(log: Log) -> None:
    remitted, lost, second = (log["status"] == each for each in ("remitted", "dropped out", "stage 2"))

    known = {name for name in log if name not in ("A1", "A2", "status") and np.isfinite(log[name][lost]).all()}
    assert known == {"qids_start1", "qids_slope1", "preference1", "qids_end1", "qids_slope2"}
    assert all(np.isnan(log[name][lost]).all() for name in ("qids_start2", "preference2", "qids_end2", "Y"))
    assert np.isnan(log["qids_end2"][remitted]).all()
    assert (log["qids_start2"] == log["qids_end1"])[remitted].all()
    assert np.isfinite(log["preference2"][remitted]).all()
    assert ((log["A2"] == None) == ~second).all()  # noqa: E711
    np.testing.assert_array_equal(log["Y"][remitted], -log["qids_end1"][remitted])
    np.testing.assert_array_equal(log["Y"][second], -(log["qids_end1"] + log["qids_end2"])[second] / 2)


# -- options and studies -------------------------------------------------------------------------------------------


def test_the_design_is_the_example_of_section_5_3() -> None:
    design = STARD().design

    assert design.stages[1].features == "1 + qids_start2 + qids_slope2 + preference2"
    assert design.stages[1].enter_if == "qids_end1 > 5"
    assert design.plans == (("ssri", "ssri"), ("ssri", "other"), ("other", "other"))
    assert STARD(intercept=False).design.dimensions == (3, 3)


def test_another_coding_changes_the_preferences_and_nothing_else() -> None:
    plain, coded = (each.draw(500, np.random.default_rng(8)) for each in (STARD(), STARD(preference=(1, 2))))

    np.testing.assert_array_equal(coded.contexts[1]["preference2"], (3 - plain.contexts[1]["preference2"]) / 2)
    np.testing.assert_array_equal(coded.outcome, plain.outcome)
    assert coded.q is not None
    assert plain.q is not None
    np.testing.assert_array_equal(coded.q[0], plain.q[0])


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"intercept": 1}, "STARD: intercept must be True or False, found 1"),
        ({"preference": (1, 1)}, r"STARD: preference must be two different numbers, found \(1, 1\)"),
        ({"preference": "12"}, "STARD: preference must be two different numbers, found '12'"),
        ({"preference": (1, np.nan)}, r"STARD: preference\[1\] must be a finite number"),
    ],
)
def test_impossible_parameters_are_refused(parameters: dict[str, object], message: str) -> None:
    with pytest.raises(DesignError, match=message):
        STARD(**parameters)  # type: ignore[arg-type]  # wrong on purpose


def test_a_fractional_number_of_units_is_refused() -> None:
    with pytest.raises(DesignError, match=r"STARD: n must be a whole number of at least 0, found 1\.5"):
        STARD().draw(1.5, np.random.default_rng(0))  # type: ignore[arg-type]  # wrong on purpose


def test_a_study_measures_the_regret_of_the_offline_rule() -> None:
    """Its regret a round is the optimal value less its own; five standard errors over paths."""
    study = dtr.simulate(STARD(), {"Offline": OFFLINE}, horizon=4_000, paths=20, seed=3, n_jobs=1)

    mean = study.total_regret("Offline", [4_000])[:, 0] / 4_000

    assert_mean(mean, STARD().optimal_value - exact.follow(offline_first, offline_second).value)


# -- patients ------------------------------------------------------------------------------------------------------


N = 50_000


def test_scores_are_whole_numbers_on_their_scales() -> None:
    nature = draw_nature(N, np.random.default_rng(1))

    for scores, (low, high) in (
        (nature.baseline, law.BASELINE),
        (nature.start1, law.START),
        (nature.end1, (0, law.LAST)),
        (nature.start2, (0, law.LAST)),
        (nature.end2, (0, law.LAST)),
    ):
        assert (scores == np.rint(scores)).all()
        assert low <= scores.min() < scores.max() <= high


def test_slopes_are_changes_over_the_weeks_they_took() -> None:
    nature = draw_nature(300, np.random.default_rng(2))

    weeks1, weeks2 = law.WEEKS[nature.weeks1], law.WEEKS[nature.weeks2]
    assert np.allclose(nature.slope1 * weeks1, nature.start1 - nature.baseline)
    assert np.allclose(nature.slope2 * weeks2, nature.end1 - nature.start1)


def test_weeks_come_as_often_as_the_law_says() -> None:
    nature = draw_nature(N, np.random.default_rng(3))

    for weeks, chances in ((nature.weeks1, law.WEEKS_BEFORE), (nature.weeks2[0], law.WEEKS_FIRST)):
        for place, chance in enumerate(chances):
            assert_mean(1.0 * (weeks == place), float(chance))


def test_the_outcome_is_minus_the_mean_of_both_ends_or_of_the_first_in_remission() -> None:
    nature = draw_nature(400, np.random.default_rng(4))

    outcome = nature.outcome(nature.end2)

    for patient in range(400):
        for a1, a2 in ((0, 0), (0, 1), (1, 1)):
            end1, end2 = nature.end1[a1, patient], nature.end2[a1, a2, patient]
            assert outcome[a1, a2, patient] == (-end1 if end1 <= 5 else -(end1 + end2) / 2)
    assert np.isnan(outcome[1, 0]).all()


def test_nobody_in_remission_is_lost_and_none_has_an_ssri_after_another_drug() -> None:
    nature = draw_nature(N, np.random.default_rng(5))

    treated = treat(nature, np.random.default_rng(6))

    end1 = nature.end1[treated.arm1, np.arange(N)]
    assert treated.remitted.tolist() == (end1 <= law.REMISSION).tolist()
    assert not (treated.remitted & treated.lost).any()
    assert (treated.arm2[treated.arm1 == 1] == 1).all()
    assert_mean(1.0 * (treated.arm1 == 0)[nature.preference1 > 0], 0.948)
