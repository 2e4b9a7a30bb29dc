"""Overlap: pictures of the fitted probabilities by what happened."""

from __future__ import annotations

import numpy as np
import pytest

from dtrbandit.errors import DesignError
from dtrbandit.evaluation import Cohort
from dtrbandit.evaluation.propensities.model import PropensityModel
from evaluation.simulated_cohorts import fewer_and_fewer_arms


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
