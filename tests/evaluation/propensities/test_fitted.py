"""Fitted propensities: their weights, coefficients and summary, and the models behind them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dtrbandit as dtr
from dtrbandit.errors import DesignError
from dtrbandit.evaluation import Cohort
from dtrbandit.evaluation.propensities.fitted import as_bounds, bounded, least
from dtrbandit.evaluation.propensities.model import PropensityModel
from evaluation.simulated_cohorts import fewer_and_fewer_arms, stard_like


def test_the_columns_of_an_arm_that_all_who_could_choose_had_are_left_out_and_named(stard: Cohort) -> None:
    text = PropensityModel().fit(stard).summary()

    assert "Left out, determined by the others here: C(first)[other], qids_start1:C(first)[other]" in text
    assert "Not observed for all of them, so not used: qids_start2, preference2" in text
    assert f"of whom {stard.dropped_out.sum()} dropped out" in text


def test_drop_outs_count_neither_in_the_effective_sample_size_nor_in_the_largest_weight(stard: Cohort) -> None:
    fit = PropensityModel().fit(stard)

    weights = fit.weights[~stard.dropped_out]
    assert fit.effective_sample_size == pytest.approx(weights.sum() ** 2 / (weights**2).sum())
    assert fit.largest_weight == pytest.approx(weights.max() / weights.sum())


def test_where_nobody_dropped_out_staying_is_certain(stard: Cohort) -> None:
    kept = replace(stard, outcome=np.nan_to_num(stard.outcome))  # those who left: early, with an outcome

    fit = PropensityModel().fit(kept)

    assert np.array_equal(fit.staying, np.ones(len(kept)))
    assert "dropped out" not in fit.summary().splitlines()[2]


def test_the_coefficients_give_the_log_odds_of_each_option_against_the_first(stard: Cohort) -> None:
    fit = PropensityModel().fit(stard)

    table = fit.coefficients()

    own = table[(table["part"] == "choice") & (table["stage"] == "first")].set_index("term")["estimate"]
    x1 = np.column_stack([np.ones(len(stard)), *stard.contexts[0].values()])
    p = fit.model_of("first").probabilities
    assert x1 @ own.to_numpy() == pytest.approx(np.log(p[:, 1] / p[:, 0]))


def test_a_model_that_is_not_there_is_refused(stard: Cohort) -> None:
    fit = PropensityModel().fit(stard)

    with pytest.raises(dtr.DesignError, match="there is no choice 'third' to speak of; found are choice 'first'"):
        fit.model_of("third")


def test_the_names_of_the_first_release_still_work(stard: Cohort) -> None:
    fit = PropensityModel().fit(stard)

    assert fit.parts is fit.models
    assert fit.part("second", "staying") is fit.model_of("second", "staying")
    assert all(part.fork is part.risk_set for part in fit.parts)


def test_scores_sum_to_zero_at_the_maximum_and_are_zero_where_nobody_is_at_risk() -> None:
    cohort = stard_like(900, seed=3)

    fitted = PropensityModel().fit(cohort)

    scores = fitted.scores
    assert scores.shape == (900, len(fitted.coefficients()))
    assert np.abs(scores.sum(axis=0)).max() < 1e-4 * np.abs(scores).sum(axis=0).max()
    last = fitted.models[-1]
    others = np.setdiff1d(np.arange(900), last.risk_set.rows)
    assert not scores[others, -last.scores.shape[1] :].any()
    assert fitted.by_likelihood


def test_known_probabilities_have_no_scores() -> None:
    cohort = fewer_and_fewer_arms()

    fitted = PropensityModel(choice={"one": "uniform", "two": "uniform"}, penalty=1.0).fit(cohort)

    assert fitted.scores.shape == (600, 0)
    assert not fitted.by_likelihood


@given(
    st.integers(2, 6),
    st.floats(0.001, 0.999),
    st.floats(0.001, 0.999),
    st.lists(st.sampled_from([0.0, 1e-12, 0.3, 1.0, 5.0]), min_size=6, max_size=6),
)
def test_bounds_are_kept_and_probabilities_sum_to_one(
    options: int, below: float, above: float, shares: list[float]
) -> None:
    clip = (below / options, 1 / options + above * (1 - 1 / options))
    p = np.array([shares[:options]]) + np.where(sum(shares[:options]), 0.0, 1.0)
    p /= p.sum()

    found = bounded(p, least(clip, options, where="here"))

    assert found.sum() == pytest.approx(1, abs=1e-12)
    assert clip[0] - 1e-12 <= found.min()
    assert found.max() <= clip[1] + 1e-12
    assert (np.diff(found[0, np.argsort(p[0])]) >= -1e-12).all()  # what was more probable still is


def test_two_options_are_moved_to_the_nearest_bound_and_otherwise_left_alone() -> None:
    p = np.array([[0.01, 0.99], [0.3, 0.7], [0.96, 0.04]])

    assert bounded(p, least((0.05, 0.95), 2, where="here")) == pytest.approx(
        np.array([[0.05, 0.95], [0.3, 0.7], [0.95, 0.05]])
    )


def test_if_one_of_two_options_may_not_have_more_the_other_has_no_less() -> None:
    assert least((0.05, 0.9), 2, where="here") == pytest.approx(0.1)
    assert least((0.05, 0.7), 4, where="here") == pytest.approx(0.1)
    assert least((0.2, 0.7), 4, where="here") == 0.2


def test_more_options_are_drawn_towards_equal_shares() -> None:
    p = np.array([[0.0, 0.25, 0.75]])

    assert bounded(p, 0.1) == pytest.approx(0.1 + (1 - 3 * 0.1) * p)
    assert bounded(p, 0.0).tolist() == p.tolist()


@pytest.mark.parametrize(("clip", "options"), [((0.4, 0.9), 3), ((1 / 3, 0.9), 3), ((0.01, 0.3), 3), ((0.1, 0.4), 2)])
def test_bounds_that_no_probabilities_can_keep_are_refused(clip: tuple[float, float], options: int) -> None:
    with pytest.raises(
        DesignError, match=rf"^here: probabilities of {options} .*; low must be below 1/{options}, and high above it$"
    ):
        least(clip, options, where="here")


@pytest.mark.parametrize("clip", [(0.0, 0.9), (0.1, 1.0), (0.6, 0.4), (0.1,), 0.1, "ab", (None, 0.5)])
def test_what_is_no_pair_of_bounds_is_refused(clip: object) -> None:
    with pytest.raises(DesignError, match="clip must be two numbers, 0 < low < high < 1, or None; found "):
        as_bounds(clip)
    assert as_bounds([0.1, 0.9]) == (0.1, 0.9)
