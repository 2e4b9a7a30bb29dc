"""Balance: standardised differences before and after weighting, against sums by hand."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

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
