"""Pictures: each function draws on an Axes and returns it."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dtrbandit.kernels.arrays import Array

if TYPE_CHECKING:
    from matplotlib.axes import Axes


PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#000000")  # Okabe & Ito
COLOURS = *PALETTE, "#7F7F7F"  # of curves
DASHES = ("-", "--", "-.", ":")
LEGEND_LINE = 0.19  # inches of a name in a legend


class Curve(NamedTuple):
    """A mean over paths at rounds ``t`` with what surrounds it; ``singles`` are the paths themselves, (paths, points).

    Curves of the same ``number`` have the same colour in every picture and panel.
    """

    label: str
    number: int
    t: NDArray[np.int64]
    mean: Array
    low: Array
    high: Array
    singles: Array | None = None


def plot_curves(
    curves: Sequence[Curve], ax: Axes | None = None, *, y: str, log: bool = False, zero: bool = True
) -> Axes:
    """Draw curves with bands, each labelled at its end; single paths are faint lines behind them.

    With ``log`` the axis of rounds is logarithmic: regret that grows like log T is then a straight line. With ``zero``
    the other axis includes 0, as it should for sums of regret.
    """
    ax = _axes(max(len(curve.label) for curve in curves)) if ax is None else ax
    for curve in curves:
        _draw(ax, curve)
    if log:
        ax.set_xscale("log")
    ax.set_xlabel("round t (log scale)" if log else "round t")
    ax.set_ylabel(y, parse_math=False)  # it may hold the name of a policy
    ax.set_xlim(max(1, curves[0].t[0]) if log else 0, curves[0].t[-1])
    if zero:
        ax.set_ylim(bottom=min(0.0, ax.get_ylim()[0]) if any(curve.mean.min() < 0 for curve in curves) else 0.0)
    _style(ax)
    _label_ends(ax, curves)
    return ax


def plain_axes(ax: Axes | None, x: str, y: str) -> Axes:
    """Return an Axes, new where none is given, with labels and a light grid."""
    if ax is None:
        import matplotlib.pyplot as plt

        ax = plt.subplots(figsize=(6.5, 4.5), layout="constrained")[1]
    ax.set_xlabel(x)
    ax.set_ylabel(y)
    ax.grid(True, color="0.9", linewidth=0.8)
    ax.set_axisbelow(True)
    ax.spines[["top", "right"]].set_visible(False)
    return ax


def legend_above(ax: Axes, own_picture: bool) -> None:
    """Put the legend above the axes, where no line runs through it; ``own_picture`` grows by its height."""
    if own_picture:
        width, height = ax.figure.get_size_inches()  # type: ignore[union-attr]  # a whole figure: plain_axes made it
        ax.figure.set_size_inches(width, height + LEGEND_LINE * len(ax.lines))  # type: ignore[union-attr]  # likewise
    legend = ax.legend(frameon=False, fontsize=9, loc="lower left", bbox_to_anchor=(0, 1), borderaxespad=0)
    for text in legend.get_texts():
        text.set_parse_math(False)  # labels of arms are shown as they are


def _axes(label: int) -> Axes:
    """Return new Axes with room for labels of so many characters at the right."""
    import matplotlib.pyplot as plt

    return plt.subplots(figsize=(max(7.5, 6.0 + 0.09 * label), 4.5), layout="constrained")[1]


def colour_of(number: int) -> str:
    """Return the colour of curves of this number, in every picture."""
    return COLOURS[number % len(COLOURS)]


def _draw(ax: Axes, curve: Curve) -> None:
    colour, dash = colour_of(curve.number), DASHES[curve.number // len(PALETTE) % len(DASHES)]
    if curve.singles is not None:
        opacity = float(np.clip(12 / len(curve.singles), 0.08, 0.5))
        ax.plot(curve.t, curve.singles.T, color=colour, linewidth=0.6, alpha=opacity, zorder=1)
    faint = 0.2 if curve.singles is None else 0.09
    ax.fill_between(curve.t, curve.low, curve.high, color=colour, alpha=faint, linewidth=0, zorder=2)
    ax.plot(curve.t, curve.mean, color=colour, linestyle=dash, linewidth=2, label=curve.label, zorder=3)


def _style(ax: Axes) -> None:
    from matplotlib.ticker import FuncFormatter, NullFormatter

    thousands = FuncFormatter(lambda value, _: f"{value:,.10g}")
    for axis in (ax.xaxis, ax.yaxis):
        axis.set_major_formatter(thousands)
        axis.set_minor_formatter(NullFormatter())
    ax.grid(True, color="0.9", linewidth=0.8)
    ax.set_axisbelow(True)
    ax.spines[["top", "right"]].set_visible(False)


def _label_ends(ax: Axes, curves: Sequence[Curve]) -> None:
    """Write each label to the right of its curve's end, moved apart where they would touch; a thin line leads there."""
    from matplotlib.patches import FancyArrowPatch

    low, high = ax.get_ylim()
    room = 13.0 / (ax.get_window_extent().height / ax.figure.dpi * 72)  # of a line of text, as a share of the axis
    ends = [float(np.clip((curve.mean[-1] - low) / (high - low), 0, 1)) for curve in curves]
    for curve, end, place in zip(curves, ends, _apart(ends, room), strict=True):
        colour, moved = colour_of(curve.number), abs(place - end) > room / 4
        if moved:
            leader = FancyArrowPatch((1, end), (1.035, place), arrowstyle="-", shrinkA=0, shrinkB=0, color=colour)
            leader.set(transform=ax.transAxes, clip_on=False, linewidth=0.8)
            ax.add_patch(leader)
        text = ax.text(1.04 if moved else 1.015, place, curve.label, transform=ax.transAxes, va="center", fontsize=10)
        text.set(color=colour, parse_math=False)  # a name is shown as it is


def _apart(ends: Sequence[float], room: float) -> list[float]:
    """Return places near ``ends``, in the same order, at which each label has this much room."""
    places = list(ends)
    order = sorted(range(len(ends)), key=lambda k: ends[k])
    for _ in range(100):  # neighbours that touch push each other away, equally
        for below, above in pairwise(order):
            overlap = room - (places[above] - places[below])
            if overlap > 1e-9:
                places[below] -= overlap / 2
                places[above] += overlap / 2
    return places
