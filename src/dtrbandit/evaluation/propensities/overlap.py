"""Overlap: how probable an arm was for those who had it, and for those who had another."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dtrbandit.design.formula import Vector
from dtrbandit.design.values import shown
from dtrbandit.errors import DesignError
from dtrbandit.evaluation.panels import BINS, names_as_they_are, panel
from dtrbandit.plots import PALETTE

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from dtrbandit.evaluation.propensities.fitted import FittedModel


def plot_overlap(model: FittedModel, weights: Vector, ax: Axes | None = None, *, option: str | None = None) -> Axes:
    """Draw the distribution of the fitted probability of ``option``, by default the last, by what happened.

    Where only one curve is above zero, there is nobody to compare with. ``weights`` are those of the units at risk.
    """
    risk_set = model.risk_set
    if option not in (None, *risk_set.options):
        raise DesignError(f"{risk_set}: there is no option {shown(option)} to draw")
    number = len(risk_set.options) - 1 if option is None else risk_set.options.index(option)
    ax = panel(ax, f"probability of {risk_set.options[number]}: {risk_set}", "share of units")
    for k, name in enumerate(risk_set.options):
        own = risk_set.happened == k
        if not own.any():
            continue
        counts, edges = np.histogram(model.probabilities[own, number], BINS, (0.0, 1.0), weights=weights[own])
        colour = PALETTE[k % len(PALETTE)]
        ax.stairs(counts / counts.sum(), edges, color=colour, linewidth=2, label=f"{name} ({own.sum():,})")
        ax.stairs(counts / counts.sum(), edges, color=colour, alpha=0.15, fill=True)
    ax.set_xlim(0, 1)
    ax.legend(frameon=False, fontsize=9)
    return names_as_they_are(ax)
