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

    from dtrbandit.evaluation.propensities.fitted import Part


def plot_overlap(part: Part, weights: Vector, ax: Axes | None = None, *, option: str | None = None) -> Axes:
    """Draw the law of the probability of ``option``, by default the last, for each way that units went.

    Where one of the curves is alone, nobody who went another way tells what would have happened. ``weights`` are
    those of the part's units.
    """
    fork = part.fork
    if option not in (None, *fork.options):
        raise DesignError(f"{fork}: there is no option {shown(option)} to draw")
    number = len(fork.options) - 1 if option is None else fork.options.index(option)
    ax = panel(ax, f"probability of {fork.options[number]}: {fork}", "share of units")
    for k, name in enumerate(fork.options):
        own = fork.happened == k
        if not own.any():
            continue
        counts, edges = np.histogram(part.probabilities[own, number], BINS, (0.0, 1.0), weights=weights[own])
        colour = PALETTE[k % len(PALETTE)]
        ax.stairs(counts / counts.sum(), edges, color=colour, linewidth=2, label=f"{name} ({own.sum():,})")
        ax.stairs(counts / counts.sum(), edges, color=colour, alpha=0.15, fill=True)
    ax.set_xlim(0, 1)
    ax.legend(frameon=False, fontsize=9)
    return names_as_they_are(ax)
