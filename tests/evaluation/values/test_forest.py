"""The forest plot."""

from __future__ import annotations

import numpy as np

from dtrbandit.evaluation.values.estimate import AUGMENTED, REGRESSION, Support, of_influence, without_interval
from dtrbandit.evaluation.values.forest import plot_forest

SUPPORT = Support(50, 40.0, 0.1)
ESTIMATES = (
    of_influence("always $a$", AUGMENTED, (1.0, np.array([0.1, 0.0])), SUPPORT),
    of_influence("always b", AUGMENTED, (2.0, np.array([0.1, 0.2])), SUPPORT),
    without_interval("learned", REGRESSION, 3.0, SUPPORT, "it flatters"),
)
JOINT = [(0.7, 1.3), (1.4, 2.6), (np.nan, np.nan)]


def test_every_regime_is_named_and_drawn_where_its_value_is() -> None:
    ax = plot_forest(ESTIMATES, JOINT)

    marks = [line for line in ax.get_lines() if line.get_marker() not in ("None", None)]
    assert [float(np.ravel(mark.get_xdata())[0]) for mark in marks] == [1.0, 2.0, 3.0]
    heights = [float(np.ravel(mark.get_ydata())[0]) for mark in marks]
    assert heights == sorted(heights, reverse=True)  # the first on top
    assert [label.get_text() for label in ax.get_yticklabels()] == ["always $a$", "always b", "learned"]
    assert not ax.get_yticklabels()[0].get_parse_math()


def test_the_picture_says_what_its_lines_are() -> None:
    ax = plot_forest(ESTIMATES, JOINT)

    said = ax.get_xlabel()
    assert "thick: 95 % interval" in said
    assert "thin: for all fixed regimes together" in said
    assert "hollow: no valid interval" in said
    legend = ax.get_legend()
    assert legend is not None
    assert [text.get_text() for text in legend.get_texts()] == ["augmented", "q-learning"]


def test_what_is_not_there_is_not_explained() -> None:
    ax = plot_forest(ESTIMATES[:1], [(np.nan, np.nan)])

    assert ax.get_xlabel() == "value (thick: 95 % interval)"


def test_it_draws_where_it_is_told() -> None:
    from matplotlib.figure import Figure

    own = Figure().subplots()

    assert plot_forest(ESTIMATES, JOINT, own) is own
