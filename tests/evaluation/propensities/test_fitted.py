"""Fitted propensities: their weights, coefficients and summary, and the models behind them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import dtrbandit as dtr
from dtrbandit.evaluation import Cohort
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
