"""Table 1 for a reader: the paper's column beside ours, and what one must know to read it."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from dataclasses import dataclass

from dtrbandit.reproduce.table1.notes import cohort_in_words, notes
from dtrbandit.reproduce.table1.results import Estimate, Results, Row

WIDTH = 79


@dataclass(frozen=True, eq=False, repr=False)
class PrintedTable:
    """Table 1; printing it gives the table with its explanation, ``records`` the numbers."""

    results: Results

    def records(self) -> list[dict[str, object]]:
        """Return a row per entry, by name of column."""
        results = self.results
        size = {"paths": results.paths, "horizon": results.horizon, "cohort": cohort_in_words(results.patients)}
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
    return f"{row.entry:<17}{_number(row.paper):>7}{_cell(row.every):<12}{between}{row.text.value:>6.2f}{known}"


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


def _cell(of: Estimate) -> str:
    """Return an estimate with its standard error, three decimals each."""
    return f" {_short(of, '.3f', '.3f')}"


def _short(of: Estimate, value: str, error: str) -> str:
    """Return an estimate with its standard error, in these forms."""
    known = "" if of.std_error is None else f"±{of.std_error:{error}}".replace("±0.", "±.")
    return f"{of.value:{value}}{known}"


def _number(number: float | None) -> str:
    return "–" if number is None else f"{number:.3f}"
