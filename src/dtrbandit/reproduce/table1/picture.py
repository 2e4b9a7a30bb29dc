"""Table 1 as a picture: the paper's values, ours with intervals, and the truth where it is known."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from dtrbandit.plots import PALETTE, plain_axes
from dtrbandit.reproduce.table1.notes import cohort_in_words
from dtrbandit.reproduce.table1.results import FEW, Estimate, Results, Row

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Picture

BLUE, ORANGE, _, _, LIGHT_BLUE, _, BLACK = PALETTE
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

    picture, rows = Picture(figsize=(8.5, 6.2), layout="constrained"), results.rows
    ax = plain_axes(picture.subplots(), f"average outcome up to round {results.horizon:,} (higher is better)", "")
    marks = _marks(results, rows)
    for each in marks:
        _draw(ax, each)
    ax.set_yticks(range(len(rows)), [row.entry for row in rows])
    ax.invert_yaxis()
    ax.set_title(f"Table 1; the cohort is {cohort_in_words(results.patients)}", loc="left", fontsize=11)
    picture.legend(loc="outside lower center", ncols=len(marks), frameon=False, fontsize=9)
    return picture


def _marks(results: Results, rows: list[Row]) -> list[Marks]:
    paper = [None if row.paper is None else Estimate(row.paper) for row in rows]
    marks = [Marks("the paper", BLACK, "D", -APART, paper)]
    if results.paths > FEW:
        marks.append(Marks(f"replay, {FEW} paths", LIGHT_BLUE, "o", 0.0, [row.few for row in rows]))
    marks.append(
        Marks(f"replay, {results.paths} paths, 95 % interval", BLUE, "o", 0.75 * APART, [row.every for row in rows])
    )
    if results.truth is not None:
        marks.append(Marks("true, on new patients", ORANGE, "^", 1.5 * APART, [row.true for row in rows]))
    return marks


def _draw(ax: Axes, marks: Marks) -> None:
    """Draw marks; an estimate that is exact has no interval."""
    known = [(place, each) for place, each in enumerate(marks.estimates) if each is not None]
    reach = [0.0 if each.high is None else each.high - each.value for _, each in known]
    ax.errorbar(
        [each.value for _, each in known],
        [place + marks.shift for place, _ in known],
        xerr=reach,
        fmt=marks.marker,
        color=marks.colour,
        label=marks.label,
        markersize=5,
        markerfacecolor="white" if marks.marker == "D" else marks.colour,
    )
