"""Pictures: each function draws on an Axes and returns it."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Array = NDArray[np.float64]

PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#000000")  # Okabe & Ito
DASHES = ("-", "--", "-.", ":")


class Curve(NamedTuple):
    """A mean over paths at rounds ``t`` with its band; ``singles`` are the paths themselves, (paths, points).

    Curves of the same ``number`` have the same colour in every picture.
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
    ax = _axes() if ax is None else ax
    for curve in curves:
        _draw(ax, curve)
    if log:
        ax.set_xscale("log")
    ax.set_xlabel("round t (log scale)" if log else "round t")
    ax.set_ylabel(y)
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


def _axes() -> Axes:
    import matplotlib.pyplot as plt

    return plt.subplots(figsize=(7.5, 4.5), layout="constrained")[1]


def _colour(curve: Curve) -> str:
    return PALETTE[curve.number % len(PALETTE)]


def _draw(ax: Axes, curve: Curve) -> None:
    colour, dash = _colour(curve), DASHES[curve.number // len(PALETTE) % len(DASHES)]
    if curve.singles is not None:
        opacity = float(np.clip(12 / len(curve.singles), 0.08, 0.5))
        ax.plot(curve.t, curve.singles.T, color=colour, linewidth=0.6, alpha=opacity, zorder=1)
    ax.fill_between(curve.t, curve.low, curve.high, color=colour, alpha=0.2, linewidth=0, zorder=2)
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
    """Write each label to the right of its curve's end, moved apart where they would touch."""
    low, high = ax.get_ylim()
    height = ax.get_window_extent().height / ax.figure.dpi * 72  # points
    texts = [textwrap.fill(curve.label, 24) for curve in curves]
    room = [13.0 * (text.count("\n") + 1) / height for text in texts]  # shares of the axis
    ends = [(float(curve.mean[-1]) - low) / (high - low) for curve in curves]
    for curve, text, place in zip(curves, texts, _apart(ends, room), strict=True):
        end = ax.text(1.015, place, text, transform=ax.transAxes, color=_colour(curve), va="center", fontsize=10)
        end.set_parse_math(False)  # a name is shown as it is


def _apart(ends: Sequence[float], room: Sequence[float]) -> list[float]:
    """Return places near ``ends``, in the same order, at which each label has its room."""
    places = list(ends)
    order = sorted(range(len(ends)), key=lambda k: ends[k])
    for _ in range(100):  # neighbours that touch push each other away, equally
        for below, above in pairwise(order):
            overlap = (room[below] + room[above]) / 2 - (places[above] - places[below])
            if overlap > 1e-9:
                places[below] -= overlap / 2
                places[above] += overlap / 2
    return places
