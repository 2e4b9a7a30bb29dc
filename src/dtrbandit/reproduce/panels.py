"""What the pictures of experiments share: panels beside each other, titles, remarks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

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
