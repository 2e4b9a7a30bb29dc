"""What the pictures of this package share: labels that fit a panel, and names as the data have them."""

from __future__ import annotations

from textwrap import fill
from typing import TYPE_CHECKING

from dtrbandit.plots import plain_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

BINS = 20
LABEL_WIDTH = 55  # characters


def panel(ax: Axes | None, x: str, y: str) -> Axes:
    """Return an Axes, new where none is given, whose label ``x`` is broken into lines no wider than a panel."""
    return plain_axes(ax, fill(x, LABEL_WIDTH), y)


def names_as_they_are(ax: Axes) -> Axes:
    """Keep names with a dollar sign from being read as formulas."""
    legend = ax.get_legend()
    for text in (ax.xaxis.label, *(legend.get_texts() if legend else ())):
        text.set_parse_math(False)
    return ax
