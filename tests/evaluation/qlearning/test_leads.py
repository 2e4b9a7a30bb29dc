"""Leads: the picture of by how much the recommended arm is better than the next."""

from __future__ import annotations

import numpy as np
import pytest

from dtrbandit.evaluation import QLearning
from dtrbandit.evaluation.qlearning.leads import plot_leads
from evaluation.tiny_trials import ONE_STAGE, read


def test_each_unit_is_counted_at_its_lead_in_the_colour_of_its_best_arm() -> None:
    q = np.array([[3.0, 1.0], [2.0, 0.0], [0.0, 4.0], [1.0, -np.inf]])  # the last has no choice

    ax = plot_leads("second", ("a", "b"), q)

    a, b = ([bar.get_height() for bar in bars] for bars in ax.containers)
    edges = np.linspace(0, 4, len(a) + 1)
    assert [edges[k] for k in np.flatnonzero(a)] == [pytest.approx(2.0)]
    assert (sum(a), sum(b)) == (2, 1)
    assert b[-1] == 1  # the largest lead, 4
    legend = ax.get_legend()
    assert legend is not None
    assert [text.get_text() for text in legend.get_texts()] == ["a (2)", "b (1)"]
    label, caution = ax.get_xlabel().split("\n")
    assert label == "by how much the recommended arm leads at stage second"
    assert caution == "(estimates alone: recommendations have their intervals)"


def test_where_nobody_has_a_choice_nothing_is_drawn() -> None:
    ax = plot_leads("second", ("a", "b"), np.array([[1.0, -np.inf]]))

    assert not ax.patches
    assert ax.get_legend() is None


def test_equal_arms_lead_by_nothing() -> None:
    ax = plot_leads("only", ("a", "b"), np.ones((3, 2)))

    assert sum(bar.get_height() for bar in ax.patches) == 3  # type: ignore[attr-defined]  # of bars
    legend = ax.get_legend()
    assert legend is not None
    assert [text.get_text() for text in legend.get_texts()] == ["a (3)"]


def test_a_fit_draws_the_leads_of_the_units_of_a_cohort() -> None:
    import matplotlib.pyplot as plt

    cohort = read({"x": [0, 1, 2, 0, 1, 2], "A1": list("aaabbb"), "Y": [0.0, 1, 2, 1, 1, 1]}, ONE_STAGE)
    ax = plt.subplots()[1]

    assert QLearning(ONE_STAGE).fit(cohort).plot("only", cohort, ax) is ax

    legend = ax.get_legend()  # Q of a is x, that of b is 1: b leads at 0, by 1; a leads at 2, by 1
    assert legend is not None
    assert sum(int(text.get_text().split("(")[1][:-1]) for text in legend.get_texts()) == 6
