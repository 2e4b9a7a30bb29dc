"""Pictures of propensities; each draws on an Axes and returns it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dtrbandit.design.formula import Vector
from dtrbandit.design.values import shown
from dtrbandit.errors import DesignError
from dtrbandit.plots import PALETTE, plain_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from dtrbandit.evaluation.fitted_propensities import Part

BINS = 20


def plot_overlap(part: Part, weights: Vector, ax: Axes | None = None, *, option: str | None = None) -> Axes:
    """Draw the law of the probability of ``option``, by default the last, for each way that units went.

    Where one of the curves is alone, nobody who went another way tells what would have happened. ``weights`` are
    those of the part's units.
    """
    fork = part.fork
    if option not in (None, *fork.options):
        raise DesignError(f"{fork}: there is no option {shown(option)} to draw")
    number = len(fork.options) - 1 if option is None else fork.options.index(option)
    ax = plain_axes(ax, f"probability of {fork.options[number]}: {fork}", "share of units")
    for k, name in enumerate(fork.options):
        own = fork.happened == k
        if not own.any():
            continue
        counts, edges = np.histogram(part.probabilities[own, number], BINS, (0.0, 1.0), weights=weights[own])
        colour = PALETTE[k % len(PALETTE)]
        ax.stairs(counts / counts.sum(), edges, color=colour, linewidth=2, label=f"{name} ({own.sum():,})")
        ax.stairs(counts / counts.sum(), edges, color=colour, alpha=0.15, fill=True)
    ax.set_xlim(0, 1)
    for text in (ax.xaxis.label, *ax.legend(frameon=False, fontsize=9).get_texts()):
        text.set_parse_math(False)  # a name is shown as it is
    return ax
