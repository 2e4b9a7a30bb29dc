"""Pictures of margin and diversity; each draws on an Axes and returns it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dtrbandit.plots import COLOURS, colour_of, plain_axes
from dtrbandit.theory.diversity import Diversity, deltas, profile
from dtrbandit.theory.margin import Margin

if TYPE_CHECKING:
    from matplotlib.axes import Axes

UNBROKEN = "-", "-.", ":"  # of laws; bounds are broken lines
LINE = 0.19  # inches of a name in a legend


def plot_margin(margin: Margin, ax: Axes | None = None) -> Axes:
    """Draw the law of gaps near 0 at every stage and node, with the power law that bounds a stage as a broken line."""
    own_picture, drawn = ax is None, 0
    ax = plain_axes(ax, "κ (log scale)", "P(0 < gap ≤ κ) (log scale)")
    for stage, gaps in zip(margin.stages, margin.gaps, strict=True):
        known, first = [own for own in gaps if len(own.values)], drawn
        for own in known:
            below = np.unique(np.geomspace(1, len(own.values), 200).astype(int))
            colour, dash = colour_of(drawn), UNBROKEN[drawn // len(COLOURS) % len(UNBROKEN)]
            label = f"{stage.stage}: {own.named(margin.design)}"
            ax.plot(own.values[below - 1], below / own.units, dash, color=colour, linewidth=1.5, label=label)
            drawn += 1
        if known and np.isfinite(stage.power):
            ends = min(own.values[0] for own in known), max(own.values[-1] for own in known)
            kappa = np.geomspace(*ends, 200)
            bound = np.minimum(stage.gamma * kappa**stage.power, 1)
            ax.plot(kappa, bound, "--", color=colour_of(first), lw=1, label=f"bound γκ^α of {stage}")
    ax.set_xscale("log")
    ax.set_yscale("log")
    if ax.lines:
        _legend_above(ax, own_picture)
    return ax


def plot_diversity(diversity: Diversity, ax: Axes | None = None) -> Axes:
    """Draw φ_m against Δ_m for each stage, with a dot at the Δ_m of the estimate."""
    own_picture = ax is None
    ax = plain_axes(ax, "Δ", "φ, the smallest eigenvalue")
    evidence = diversity.evidence
    for m, stage in enumerate(evidence.design.stages):
        colour, before, own = colour_of(m), diversity.delta[:m], diversity.delta[m]
        tried = deltas(evidence, m)
        ax.plot(tried, profile(evidence, m, tried, before), color=colour, linewidth=2, label=stage.name)
        ax.plot(
            own, diversity.phi[m], "o", color=colour, label=f"{stage.name} at Δ = {own:.3g}: φ = {diversity.phi[m]:.2g}"
        )
    ax.set_ylim(bottom=0)
    _legend_above(ax, own_picture)
    return ax


def _legend_above(ax: Axes, own_picture: bool) -> None:
    """Name every line above the picture, where no line runs through the names; a picture of its own grows by them."""
    if own_picture:
        width, height = ax.figure.get_size_inches()  # type: ignore[union-attr]  # no part of a figure: panel made it
        ax.figure.set_size_inches(width, height + LINE * len(ax.lines))  # type: ignore[union-attr]  # likewise
    legend = ax.legend(frameon=False, fontsize=9, loc="lower left", bbox_to_anchor=(0, 1), borderaxespad=0)
    for text in legend.get_texts():
        text.set_parse_math(False)  # labels of arms are shown as they are
