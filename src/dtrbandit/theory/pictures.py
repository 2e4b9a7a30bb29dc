"""Pictures of margin and diversity; each draws on an Axes and returns it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dtrbandit.plots import PALETTE, plain_axes
from dtrbandit.theory.diversity import Diversity, deltas, profile
from dtrbandit.theory.margin import Margin

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def plot_margin(margin: Margin, ax: Axes | None = None) -> Axes:
    """Draw the law of gaps near 0 at every stage, with the power law that bounds it as a broken line."""
    ax = plain_axes(ax, "κ", "P(0 < gap ≤ κ)")
    for number, (stage, gaps) in enumerate(zip(margin.stages, margin.gaps, strict=True)):
        colour, label = PALETTE[number % len(PALETTE)], str(stage)
        for own in gaps:
            if not len(own.values):
                continue
            below = np.unique(np.geomspace(1, len(own.values), 200).astype(int))
            kappa = own.values[below - 1]
            ax.plot(kappa, below / own.units, color=colour, linewidth=1.5, label=label)
            ax.plot(kappa, np.minimum(stage.gamma * kappa**stage.power, 1), color=colour, linestyle="--", lw=1)
            label = "_"  # one entry per stage
    ax.set_xscale("log")
    ax.set_yscale("log")
    if any(len(own.values) for gaps in margin.gaps for own in gaps):
        ax.legend(frameon=False, fontsize=9)
    return ax


def plot_diversity(diversity: Diversity, ax: Axes | None = None) -> Axes:
    """Draw φ_m against Δ_m for each stage, with a dot at the Δ_m of the estimate."""
    ax = plain_axes(ax, "Δ", "φ, the smallest eigenvalue")
    evidence = diversity.evidence
    for m, stage in enumerate(evidence.design.stages):
        colour, before = PALETTE[m % len(PALETTE)], diversity.delta[:m]
        tried = deltas(evidence, m)
        ax.plot(tried, profile(evidence, m, tried, before), color=colour, linewidth=2, label=stage.name)
        ax.plot(diversity.delta[m], diversity.phi[m], "o", color=colour)
    ax.set_ylim(bottom=0)
    ax.legend(frameon=False, fontsize=9)
    return ax
