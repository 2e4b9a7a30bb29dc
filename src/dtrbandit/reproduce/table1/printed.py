"""Table 1 for a reader, as text and as a picture: the paper's values beside ours, and the truth where it is known."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from dtrbandit.intervals import REPLAY, TOO_FEW, level_of
from dtrbandit.plots import PALETTE, plain_axes
from dtrbandit.reproduce.table1.notes import describe_cohort, notes
from dtrbandit.reproduce.table1.results import Cell, Results, Row
from dtrbandit.reproduce.table1.versions import OFFLINE

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Picture


WIDTH = 79


@dataclass(frozen=True, eq=False, repr=False)
class PrintedTable:
    """Table 1; printing it gives the table with its explanation, ``records`` the numbers."""

    results: Results

    def records(self) -> list[dict[str, object]]:
        """Return a row per entry, by name of column."""
        results = self.results
        size = {"paths": results.paths, "horizon": results.horizon, "cohort": describe_cohort(results.patients)}
        size["std_error_over"] = "paths through this cohort"
        return [{**_record(row), **size} for row in results.rows]

    def __str__(self) -> str:
        heading = f"Average outcome up to round {self.results.horizon:,}; ± is a standard error"
        paragraphs = (textwrap.fill(note, WIDTH, break_on_hyphens=False) for note in notes(self.results))
        return "\n".join([heading, "", *self._lines(), "", "\n\n".join(paragraphs)])

    __repr__ = __str__

    def _lines(self) -> Iterator[str]:
        known = self.results.cohorts is not None
        several = f"{len(self.results.cohorts)} cohorts" if self.results.cohorts is not None else ""
        yield f"{'':<24}{'this cohort':^12}{several:^16}".rstrip()
        yield (
            f"{'':<17}{'paper':>7}{f'{self.results.paths} paths':^12}"
            + (f"{'median':>6}{'5 %':>5}{'95 %':>5}" if known else "")
            + f"{'text':>6}"
            + (f"{'true':^11}{'optimism':>9}" if known else "")
        )
        for row in self.results.rows:
            yield (_row(row)).rstrip()


def _row(row: Row) -> str:
    """Return a line of the table."""
    spread = row.cohorts
    between = "" if spread is None else f"{spread.median:>6.2f}{spread.low:>5.1f}{spread.high:>5.1f}"
    known = "" if row.true is None else f" {_short(row.true, '.2f', '.3f')}".ljust(11)
    known += "" if row.optimism is None else f" {_short(row.optimism, '+.2f', '.2f')}"
    return f"{row.entry:<17}{_number(row.paper):>7}{_precise(row.every):<12}{between}{row.text.value:>6.2f}{known}"


def _record(row: Row) -> dict[str, object]:
    names = ("median", "5", "95", "mean", "deviation", "std_error")
    spread = dict.fromkeys(names) if row.cohorts is None else dict(zip(names, row.cohorts, strict=True))
    return {
        "entry": row.entry,
        "paper": row.paper,
        "first_10_value": row.few.value,
        **row.every._asdict(),
        **{f"cohorts_{name}": value for name, value in spread.items()},
        "text_value": row.text.value,
        "text_std_error": row.text.std_error,
        "true_value": None if row.true is None else row.true.value,
        "true_std_error": None if row.true is None else row.true.std_error,
        "true_low": None if row.true is None else row.true.low,
        "true_high": None if row.true is None else row.true.high,
        "optimism": None if row.optimism is None else row.optimism.value,
        "optimism_std_error": None if row.optimism is None else row.optimism.std_error,
        "acceptance_rate": row.acceptance_rate,
        "maximum_likelihood": row.maximum_likelihood,
    }


def _precise(cell: Cell) -> str:
    """Return a number with its standard error, three decimals each."""
    return f" {_short(cell, '.3f', '.3f')}"


def _short(cell: Cell, value: str, error: str) -> str:
    """Return a number with its standard error, in these formats."""
    known = "" if cell.std_error is None else f"±{cell.std_error:{error}}".replace("±0.", "±.")
    return f"{cell.value:{value}}{known}"


def _number(number: float | None) -> str:
    return "–" if number is None else f"{number:.3f}"


BLUE, ORANGE, BLACK = PALETTE[0], PALETTE[1], PALETTE[-1]
APART = 0.24  # of the space between entries


class Marks(NamedTuple):
    """One kind of mark, ``shift`` below the entry's line; with a number, or None, for each entry."""

    label: str
    colour: str
    marker: str
    shift: float
    cells: list[Cell | None]


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
    ax.set_title(f"Table 1; this cohort is {describe_cohort(results.patients)}", loc="left", fontsize=11)
    picture.legend(loc="outside lower center", ncols=2, frameon=False, fontsize=9)
    return picture


def _draw_spread(ax: Axes, rows: list[Row], cohorts: int) -> None:
    """Draw how each entry varies between cohorts: a bar from 5 % to 95 %, with the median."""
    spread = [row.cohorts for row in rows if row.cohorts is not None]
    lines, low, median = range(len(spread)), [own.low for own in spread], [own.median for own in spread]
    widths = [own.high - own.low for own in spread]
    label = f"replay on {cohorts} cohorts: 5 %, median, 95 %"
    ax.barh(lines, widths, height=0.72, left=low, color="0.88", label=label, zorder=1)
    ax.use_sticky_edges = False  # so that no bar ends at the edge of the picture
    ax.plot(median, lines, linestyle="", marker="|", markersize=15, color="0.45", zorder=2)


def _marks(results: Results, rows: list[Row]) -> list[Marks]:
    paper = [None if row.paper is None else Cell(row.paper) for row in rows]
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
    """Draw marks; a number that is exact has no interval."""
    known = [(line, each) for line, each in enumerate(marks.cells) if each is not None]
    reach = [
        [0.0 if each.low is None else each.value - each.low for _, each in known],
        [0.0 if each.high is None else each.high - each.value for _, each in known],
    ]
    ax.errorbar(
        [each.value for _, each in known],
        [line + marks.shift for line, _ in known],
        xerr=reach,
        fmt=marks.marker,
        color=marks.colour,
        label=marks.label,
        markersize=5,
        zorder=3,
        markerfacecolor="white" if marks.marker == "D" else marks.colour,
    )
