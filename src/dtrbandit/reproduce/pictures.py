"""What the pictures of experiments share: panels beside each other, titles, remarks, curves of several settings."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from dtrbandit.intervals import band
from dtrbandit.kernels.arrays import Array
from dtrbandit.plots import Curve, plot_curves
from dtrbandit.reproduce.reproduction import DTRB, Studies
from dtrbandit.rounds import times

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Picture


SIZE = 6.4, 4.4  # of a panel, in inches


def panels(count: int, *, size: tuple[float, float] = SIZE) -> tuple[Picture, Sequence[Axes]]:
    """Return a picture with so many panels beside each other."""
    from matplotlib.figure import Figure as Picture

    width, height = size
    picture = Picture(figsize=(width * count, height), layout="constrained")
    return picture, picture.subplots(1, count, squeeze=False)[0]


def title(ax: Axes, text: str) -> None:
    """Write a title as a sentence, at the left."""
    ax.set_title(text, loc="left", fontsize=11)


def note(ax: Axes, text: str, colour: str = "black") -> None:
    """Write a remark into the upper left corner."""
    box = {"facecolor": "white", "edgecolor": "none", "alpha": 0.85, "pad": 2}
    ax.text(0.03, 0.97, text, transform=ax.transAxes, color=colour, va="top", fontsize=9.5, bbox=box, zorder=5)


SHORT = 12  # characters of what is drawn, with which the words on its band fit in a line


def draw_regret(ax: Axes, studies: Studies, *, log: bool, only: Collection[str] | None = None) -> None:
    """Draw the mean regret of each setting, or of ``only`` some, with its band.

    A setting has the same colour whether the others are drawn or not.
    """
    horizon = min(study.horizon for study in studies.values())
    seed = next(iter(studies.values())).manifest.seed
    rounds = times(horizon, None if log else np.linspace(1, horizon, 400).astype(np.int64))
    totals = {name: study.total_regret(DTRB, rounds) for name, study in studies.items()}
    numbers = {name: number for number, name in enumerate(studies) if only is None or name in only}
    draw_totals(ax, {name: totals[name] for name in numbers}, rounds, log=log, seed=seed, numbers=numbers)


def draw_totals(
    ax: Axes,
    totals: dict[str, Array],
    rounds: NDArray[np.int64],
    *,
    log: bool,
    seed: int,
    y: str = "regret",
    numbers: dict[str, int] | None = None,
) -> None:
    """Draw the mean over paths of sums up to ``rounds``, (paths, points) each, with bands.

    ``numbers`` give the colours, by default those of the order.
    """
    numbers = numbers or {name: number for number, name in enumerate(totals)}
    curves, words = [], ""
    for name, values in totals.items():
        low, high, words = band(values, seed=seed)
        curves.append(Curve(name, numbers[name], rounds, values.mean(axis=0), low, high))
    paths = len(next(iter(totals.values())))
    between = " " if len(y) <= SHORT else "\n"
    plot_curves(curves, ax, y=f"{y}{between}({paths:,} paths: {words})", log=log)
    for own in ax.collections:  # many overlap
        own.set_alpha(0.5 / max(len(curves), 2.5))
