"""Pictures of what data say: each function draws on an Axes and returns it."""

from __future__ import annotations

from textwrap import fill
from typing import TYPE_CHECKING

import numpy as np

from dtrbandit.design.formula import Matrix, Vector
from dtrbandit.design.values import shown
from dtrbandit.errors import DesignError
from dtrbandit.plots import PALETTE, plain_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from dtrbandit.evaluation.fitted_propensities import Part

BINS = 20
LABEL_WIDTH = 55  # characters


def plot_overlap(part: Part, weights: Vector, ax: Axes | None = None, *, option: str | None = None) -> Axes:
    """Draw the law of the probability of ``option``, by default the last, for each way that units went.

    Where one of the curves is alone, nobody who went another way tells what would have happened. ``weights`` are
    those of the part's units.
    """
    fork = part.fork
    if option not in (None, *fork.options):
        raise DesignError(f"{fork}: there is no option {shown(option)} to draw")
    number = len(fork.options) - 1 if option is None else fork.options.index(option)
    ax = plain_axes(ax, _label(f"probability of {fork.options[number]}: {fork}"), "share of units")
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
    return shown_as_they_are(ax)


def plot_leads(stage: str, arms: tuple[str, ...], q: Matrix, ax: Axes | None = None) -> Axes:
    """Draw by how much the arm with the largest Q leads the next, a colour for each arm that leads.

    ``q`` is (n, K), −∞ where an arm is infeasible; units with fewer than two feasible arms are left out.
    """
    from matplotlib.ticker import MaxNLocator

    choosing = q[np.isfinite(q).sum(axis=1) > 1]
    ax = plain_axes(ax, _label(f"by how much the recommended arm leads at stage {stage}"), "units")
    ax.yaxis.set_major_locator(MaxNLocator("auto", integer=True))  # nobody is half a unit
    if len(choosing):
        ordered = np.sort(choosing, axis=1)
        lead, best = ordered[:, -1] - ordered[:, -2], choosing.argmax(axis=1)
        groups = [(k, lead[best == k]) for k in range(len(arms)) if (best == k).any()]
        ax.hist(
            [own for _, own in groups],
            bins=BINS,
            range=(0.0, max(float(lead.max()), np.finfo(float).tiny)),
            stacked=True,
            color=[PALETTE[k % len(PALETTE)] for k, _ in groups],
            label=[f"{arms[k]} ({len(own):,})" for k, own in groups],
        )
        ax.legend(frameon=False, fontsize=9, title="recommended")
    return shown_as_they_are(ax)


def _label(words: str) -> str:
    """Break a label into lines that are no wider than a panel."""
    return fill(words, LABEL_WIDTH)


def shown_as_they_are(ax: Axes) -> Axes:
    """Keep names with a dollar sign from being read as formulas."""
    legend = ax.get_legend()
    for text in (ax.xaxis.label, *(legend.get_texts() if legend else ())):
        text.set_parse_math(False)
    return ax
