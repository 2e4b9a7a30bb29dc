"""Curves of several settings in one panel."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from dtrbandit.intervals import interval
from dtrbandit.plots import Curve, plot_curves
from dtrbandit.reproduce.claims import Array
from dtrbandit.reproduce.extensions.extension import DTRB, Studies
from dtrbandit.rounds import times

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def draw_regret(ax: Axes, studies: Studies, *, log: bool) -> None:
    """Draw the mean regret of each setting with its band."""
    horizon = min(study.horizon for study in studies.values())
    rounds = times(horizon, None if log else np.linspace(1, horizon, 400).astype(np.int64))
    draw_totals(ax, {name: study.total_regret(DTRB, rounds) for name, study in studies.items()}, rounds, log=log)


def draw_totals(
    ax: Axes, totals: dict[str, Array], rounds: NDArray[np.int64], *, log: bool, y: str = "regret (mean, 95 % band)"
) -> None:
    """Draw the mean over paths of sums up to ``rounds``, (paths, points) each, with bands."""
    curves = []
    for number, (name, values) in enumerate(totals.items()):
        mean, _, low, high = interval(values)
        curves.append(Curve(name, number, rounds, mean, low, high))
    plot_curves(curves, ax, y=y, log=log)
    for band in ax.collections:  # many overlap
        band.set_alpha(0.5 / max(len(curves), 2.5))
