"""Overlap: how probable an arm was for those who had it, and for those who had another."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dtrbandit.design.values import shown
from dtrbandit.errors import DesignError
from dtrbandit.evaluation.panels import BINS, names_as_they_are, panel
from dtrbandit.evaluation.propensities.risk_sets import STAYED, RiskSet
from dtrbandit.kernels.arrays import Vector
from dtrbandit.plots import colour_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from dtrbandit.evaluation.propensities.fitted import FittedModel


FILLED = 0.9  # of a bin, by its bars


def plot_overlap(model: FittedModel, weights: Vector, ax: Axes | None = None, *, option: str | None = None) -> Axes:
    """Draw the distribution of the probability of ``option``, by default the last, by what happened.

    Bars of a bin stand side by side, so that equal ones are all seen. Where only one is above zero, there is nobody to
    compare with. ``weights`` are those of the units at risk.
    """
    risk_set = model.risk_set
    if option not in (None, *risk_set.options):
        raise DesignError(f"{risk_set}: there is no option {shown(option)} to draw")
    number = len(risk_set.options) - 1 if option is None else risk_set.options.index(option)
    ax = panel(ax, f"probability of {_in_words(risk_set, risk_set.options[number])}", "share of units")
    happened = [k for k in range(len(risk_set.options)) if (risk_set.happened == k).any()]
    for place, k in enumerate(happened):
        own = risk_set.happened == k
        counts, edges = np.histogram(model.probabilities[own, number], BINS, (0.0, 1.0), weights=weights[own])
        width = np.diff(edges) * FILLED / len(happened)
        left = edges[:-1] + np.diff(edges) * (1 - FILLED) / 2 + place * width
        label = f"{risk_set.options[k]} ({own.sum():,})"
        ax.bar(left, counts / counts.sum(), width, align="edge", color=colour_of(k), label=label)
    ax.set_xlim(0, 1)
    ax.legend(frameon=False, fontsize=9)
    return names_as_they_are(ax)


def _in_words(risk_set: RiskSet, option: str) -> str:
    """Name an option: an arm by its choice, "stayed" and "dropped out" by what could be stayed for."""
    if risk_set.kind == "choice":
        return f"{option} ({risk_set})"
    return str(risk_set) if option == STAYED else f"not {risk_set}"
