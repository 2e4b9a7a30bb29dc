"""Leads: by how much the recommended arm is better than the next, unit by unit."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dtrbandit.evaluation.panels import BINS, names_as_they_are, panel
from dtrbandit.kernels.arrays import Matrix
from dtrbandit.plots import PALETTE

if TYPE_CHECKING:
    from matplotlib.axes import Axes

ESTIMATES = "(estimates alone: recommendations have their intervals)"


def plot_leads(stage: str, arms: tuple[str, ...], q: Matrix, ax: Axes | None = None) -> Axes:
    """Draw by how much the arm with the largest Q leads the next, a colour for each arm that leads.

    These are estimates alone, and the picture says so.

    ``q`` is (n, K), −∞ where an arm is infeasible; units with fewer than two feasible arms are left out.
    """
    from matplotlib.ticker import MaxNLocator

    choosing = q[np.isfinite(q).sum(axis=1) > 1]
    ax = panel(ax, f"by how much the recommended arm leads at stage {stage}\n{ESTIMATES}", "units")
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
    return names_as_they_are(ax)
