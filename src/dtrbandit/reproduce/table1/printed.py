"""Table 1 for a reader: the paper's column beside ours, and what one must know to read it."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from dataclasses import dataclass

from dtrbandit.reproduce.table1.notes import cohort_in_words, notes
from dtrbandit.reproduce.table1.results import FEW, Estimate, Results, Row

WIDTH = 79


@dataclass(frozen=True, eq=False, repr=False)
class PrintedTable:
    """Table 1; printing it gives the table with its explanation, ``records`` the numbers."""

    results: Results

    def records(self) -> list[dict[str, object]]:
        """Return a row per entry, by name of column."""
        results = self.results
        size = {"paths": results.paths, "horizon": results.horizon, "cohort": cohort_in_words(results.patients)}
        return [{**_record(row), **size} for row in results.rows]

    def __str__(self) -> str:
        heading = f"Average outcome up to round {self.results.horizon:,}, ± standard error over paths"
        paragraphs = (textwrap.fill(note, WIDTH, break_on_hyphens=False) for note in notes(self.results))
        return "\n".join([heading, "", *self._lines(), "", "\n\n".join(paragraphs)])

    __repr__ = __str__

    def _lines(self) -> Iterator[str]:
        several, known = self.results.paths > FEW, self.results.truth is not None
        headings = [f"{FEW} paths"] if several else []
        headings += [f"{self.results.paths} paths", *(["true"] if known else [])]
        yield f"{'':<17}{'paper':>7}" + "".join(f"{each:^15}" for each in headings) + ("  optimism" if known else "")
        for row in self.results.rows:
            cells = [*([row.few] if several else []), row.every, *([row.true] if known else [])]
            optimism = "" if row.optimism is None else f"{row.optimism:>+10.3f}"
            yield f"{row.entry:<17}{_number(row.paper):>7}{''.join(map(_cell, cells))}{optimism}".rstrip()


def _record(row: Row) -> dict[str, object]:
    return {
        "entry": row.entry,
        "paper": row.paper,
        "first_10_value": row.few.value,
        "first_10_std_error": row.few.std_error,
        **row.every._asdict(),
        "true_value": None if row.true is None else row.true.value,
        "true_std_error": None if row.true is None else row.true.std_error,
        "optimism": row.optimism,
        "acceptance_rate": row.acceptance_rate,
        "maximum_likelihood": row.maximum_likelihood,
    }


def _cell(of: Estimate | None) -> str:
    """Return an estimate in 15 characters."""
    if of is None:
        return " " * 15
    error = "" if of.std_error is None else f" ± {of.std_error:.3f}".replace("± 0.", "± .")
    return f"  {_number(of.value)}{error:<7}"


def _number(number: float | None) -> str:
    return "–" if number is None else f"{number:.3f}"
