"""Diagnostics of propensities: balance and overlap."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from dtrbandit.errors import DesignError
from dtrbandit.evaluation import Cohort
from dtrbandit.evaluation.propensities.model import PropensityModel
from evaluation.simulated_cohorts import cohort_of, confounded_smart, fewer_and_fewer_arms


def test_the_balance_table_has_the_standardised_differences_before_and_after() -> None:
    cohort, _ = confounded_smart(4000, seed=3)
    fit = PropensityModel().fit(cohort)
    table = fit.balance()

    x, b, p = cohort.contexts[0]["x"], cohort.arms[:, 0] == 1, fit.model_of("first").happened
    spread = np.sqrt((x[b].var() + x[~b].var()) / 2)
    after = np.average(x[b], weights=1 / p[b]) - np.average(x[~b], weights=1 / p[~b])
    row = table.iloc[0]
    assert tuple(row[["part", "stage", "option", "others", "column"]]) == ("choice", "first", "b", "a", "x")
    assert (row["before"], row["after"]) == pytest.approx(((x[b].mean() - x[~b].mean()) / spread, after / spread))
    assert len(table[(table["part"] == "choice") & (table["stage"] == "second")]) == 3 * 3  # arms, and x, z, C(first)
    assert table["before"].abs().max() > 0.5
    assert table["after"].abs().max() < 0.15


def test_the_balance_table_knows_case_weights() -> None:
    cohort, _ = confounded_smart(400, seed=3)
    times = 1 + np.arange(400) % 3
    repeated = np.repeat(np.arange(400), times)
    contexts = [{name: values[repeated] for name, values in context.items()} for context in cohort.contexts]
    copies = cohort_of(cohort.design, contexts, cohort.arms[repeated].astype(np.int64), cohort.outcome[repeated])
    model = PropensityModel(penalty=1.0)

    weighted = model.fit(replace(cohort, weights=times.astype(np.float64))).balance()

    pd.testing.assert_frame_equal(weighted, model.fit(copies).balance(), atol=1e-6)


def test_columns_that_do_not_vary_among_those_at_risk_are_balanced() -> None:
    fit = PropensityModel(choice={"one": "uniform"}).fit(fewer_and_fewer_arms())

    constant = fit.balance().query("stage == 'two' and column != 'x'")  # all had the same arm before

    assert len(constant) == (3 + 1) * 2
    assert (constant[["before", "after"]] == 0).all(axis=None)


def test_of_two_options_the_second_stands_for_both() -> None:
    cohort, _ = confounded_smart(400, seed=3)

    table = PropensityModel(penalty=1.0).fit(cohort).balance()

    first = table[(table["part"] == "choice") & (table["stage"] == "first")]
    assert set(first["option"]) == {"b"}
    assert set(first["others"]) == {"a"}
    assert set(table[table["part"] == "staying"]["option"]) == {"stayed"}


def test_each_of_several_choices_at_a_stage_has_its_picture() -> None:
    fit = PropensityModel(choice={"one": "uniform"}).fit(fewer_and_fewer_arms())

    pictures = [fit.plot(model).get_xlabel().replace("\n", " ") for model in fit.models]

    assert pictures[1:] == [
        "probability of c (choice of a or b or c at stage 'two')",
        "probability of c (choice of b or c at stage 'two')",
    ]


def test_an_option_that_is_not_there_cannot_be_drawn(stard: Cohort) -> None:
    with pytest.raises(DesignError, match="choice of ssri or other at stage 'first': there is no option 'no' to draw"):
        PropensityModel().fit(stard).plot("first", option="no")


def test_the_overlap_picture_shows_the_fitted_probabilities_by_what_happened(stard: Cohort) -> None:
    fit = PropensityModel().fit(stard)

    ax = fit.plot("first")

    for number, bars in enumerate(ax.containers):
        own = stard.arms[:, 0] == number
        counts = np.histogram(fit.model_of("first").probabilities[own, 1], 20, (0, 1))[0]
        heights = [bar.get_height() for bar in bars.patches]  # type: ignore[attr-defined]  # bars have patches
        assert heights == pytest.approx(counts / own.sum())
    legend = ax.get_legend()
    assert legend is not None
    assert [text.get_text() for text in legend.get_texts()] == [
        f"{arm} ({(stard.arms[:, 0] == k).sum()})" for k, arm in enumerate(("ssri", "other"))
    ]
    assert fit.plot("second", ax, kind="staying", option="dropped out") is ax
    assert ax.get_xlabel() == "probability of not staying until stage 'second'"
    assert fit.plot("second", kind="staying").get_xlabel() == "probability of staying until stage 'second'"


def test_with_known_probabilities_no_bar_hides_another(stard: Cohort) -> None:
    ax = PropensityModel(choice={"first": "uniform"}).fit(stard).plot("first")

    high = [bar for bar in ax.patches if bar.get_height() > 0]  # type: ignore[attr-defined]  # bars have heights
    assert [bar.get_height() for bar in high] == [1.0, 1.0]  # type: ignore[attr-defined]  # likewise
    one, other = (bar.get_window_extent() for bar in high)
    assert not one.shrunk(0.99, 0.99).overlaps(other.shrunk(0.99, 0.99))
    assert high[0].get_facecolor() != high[1].get_facecolor()
