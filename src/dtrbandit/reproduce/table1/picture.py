"""Table 1 as a picture: the paper's values, ours with intervals, and the truth where it is known."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from dtrbandit.intervals import REPLAY, TOO_FEW, level_of
from dtrbandit.plots import PALETTE, plain_axes
from dtrbandit.reproduce.table1.entries import OFFLINE
from dtrbandit.reproduce.table1.notes import cohort_in_words
from dtrbandit.reproduce.table1.results import Estimate, Results, Row

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Picture

BLUE, ORANGE, BLACK = PALETTE[0], PALETTE[1], PALETTE[-1]
APART = 0.24  # of the space between entries


class Marks(NamedTuple):
    """One kind of mark, ``shift`` below the entry's line; with an estimate, or None, for each entry."""

    label: str
    colour: str
    marker: str
    shift: float
    estimates: list[Estimate | None]


def draw(results: Results) -> Picture:
    """Draw each entry on a line of its own."""
    from matplotlib.figure import Figure as Picture

    picture, rows = Picture(figsize=(8.5, 6.6), layout="constrained"), results.rows
    ax = plain_axes(picture.subplots(), f"average outcome up to round {results.horizon:,} (higher is better)", "")
    if results.cohorts is not None:
        _draw_spread(ax, rows, len(results.cohorts))
    for each in _marks(results, rows):
        _draw(ax, each)
    ax.set_yticks(range(len(rows)), [row.entry for row in rows])
    ax.invert_yaxis()
    ax.set_title(f"Table 1; this cohort is {cohort_in_words(results.patients)}", loc="left", fontsize=11)
    picture.legend(loc="outside lower center", ncols=2, frameon=False, fontsize=9)
    return picture


def _draw_spread(ax: Axes, rows: list[Row], cohorts: int) -> None:
    """Draw how each entry varies between cohorts: a bar from 5 % to 95 %, with the median."""
    spread = [row.cohorts for row in rows if row.cohorts is not None]
    places, low, median = range(len(spread)), [own.low for own in spread], [own.median for own in spread]
    widths = [own.high - own.low for own in spread]
    label = f"replay on {cohorts} cohorts: 5 %, median, 95 %"
    ax.barh(places, widths, height=0.72, left=low, color="0.88", label=label, zorder=1)
    ax.use_sticky_edges = False  # so that no bar ends at the edge of the picture
    ax.plot(median, places, linestyle="", marker="|", markersize=15, color="0.45", zorder=2)


def _marks(results: Results, rows: list[Row]) -> list[Marks]:
    paper = [None if row.paper is None else Estimate(row.paper) for row in rows]
    worth = level_of(results.paths, REPLAY)
    label = f"replay on this cohort, {results.paths} paths" + (
        "" if worth == TOO_FEW else f", {worth} interval over paths"
    )
    marks = [
        Marks("the paper", BLACK, "D", -APART, paper),
        Marks(label, BLUE, "o", 0.0, [row.every for row in rows]),
    ]
    if results.truth is not None:
        worth = level_of(len(results.truth[OFFLINE]))
        label = "true, on new patients" + ("" if worth == TOO_FEW else f", {worth} interval")
        marks.append(Marks(label, ORANGE, "^", APART, [row.true for row in rows]))
    return marks


def _draw(ax: Axes, marks: Marks) -> None:
    """Draw marks; an estimate that is exact has no interval."""
    known = [(place, each) for place, each in enumerate(marks.estimates) if each is not None]
    reach = [
        [0.0 if each.low is None else each.value - each.low for _, each in known],
        [0.0 if each.high is None else each.high - each.value for _, each in known],
    ]
    ax.errorbar(
        [each.value for _, each in known],
        [place + marks.shift for place, _ in known],
        xerr=reach,
        fmt=marks.marker,
        color=marks.colour,
        label=marks.label,
        markersize=5,
        zorder=3,
        markerfacecolor="white" if marks.marker == "D" else marks.colour,
    )
