"""What a command found: tables, claims and files, for a reader or as one JSON document."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from math import isnan
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from dtrbandit.reproduce import Claim, Reproduction, Verdict, Whose

if TYPE_CHECKING:
    import pandas as pd
    from rich.table import Table

    from dtrbandit.reproduce.reproduction import Table as ResultTable

WIDTH = 110  # where there is no terminal to ask
LEGEND = (
    "In brackets: 95 % intervals; those of one claim hold together. A typical path is the median over paths.",
    "✓ shown   ✗ the contrary is shown   ? cannot be told: the interval lies on both sides, or there is none",
)
WHOSE = {Whose.PAPER: "the paper's claim", Whose.OURS: "our own claim"}
STYLES = {Verdict.HOLDS: "green", Verdict.REFUTED: "bold red", Verdict.OPEN: "yellow"}


@dataclass(frozen=True)
class ExplainedTable:
    """A table, printed as the words that explain it.

    Examples
    --------
    >>> import pandas as pd
    >>> table = ExplainedTable("Two units.", pd.DataFrame({"unit": ["u1", "u2"]}))
    >>> print(table)
    Two units.
    >>> table.records()
    [{'unit': 'u1'}, {'unit': 'u2'}]
    """

    words: str
    table: pd.DataFrame

    def records(self) -> list[dict[str, object]]:
        """Return its rows, by name of column."""
        return [{str(name): value for name, value in row.items()} for row in self.table.to_dict("records")]

    def __str__(self) -> str:
        return self.words


@dataclass(frozen=True)
class Result:
    """What a command found, under a name, and the files that it wrote."""

    name: str
    table: ResultTable
    files: tuple[Path, ...]


def show(name: str, results: Sequence[Reproduction | Result], *, as_json: bool) -> None:
    """Print tables, claims and files, or the same as one JSON document."""
    if as_json:
        typer.echo(json.dumps(_document(name, results), ensure_ascii=False, indent=2, allow_nan=False))
        return
    for result in results:
        _print(result)


def _document(name: str, results: Sequence[Reproduction | Result]) -> dict[str, object]:
    return {
        "name": name,
        "files": [str(file) for result in results for file in result.files],
        "table": [_row(result.name, row) for result in results for row in result.table.records()],
        "claims": [claim.record() for result in results for claim in _claims_of(result)],
    }


def _row(study: str, row: dict[str, object]) -> dict[str, object]:
    values = {key: None if isinstance(value, float) and isnan(value) else value for key, value in row.items()}
    return {"study": study, **values}


def _print(result: Reproduction | Result) -> None:
    from rich.console import Console

    console = Console()
    if not console.is_terminal:
        console = Console(width=WIDTH)
    console.print(result.name, style="bold", markup=False, highlight=False)
    console.print(str(result.table), markup=False, highlight=False)
    if claims := _claims_of(result):
        console.print(_claims(claims))
        for line in _legend(result):
            console.print(line, markup=False, highlight=False)
    for file in result.files:
        console.print(f"Written: {file}", markup=False, highlight=False, soft_wrap=True)


def _legend(result: Reproduction | Result) -> Sequence[str]:
    """Say how to read claims, on how many paths they rest, and what to do about those that cannot be told."""
    more = (result.basis, result.advice) if isinstance(result, Reproduction) else ()
    return (*LEGEND, *(line for line in more if line))


def _claims_of(result: Reproduction | Result) -> Sequence[Claim]:
    return result.claims if isinstance(result, Reproduction) else ()


def _claims(claims: Sequence[Claim]) -> Table:
    from rich.box import HORIZONTALS
    from rich.table import Table
    from rich.text import Text

    table = Table(title="Claims", title_justify="left", box=HORIZONTALS, show_lines=True)
    table.add_column("")
    for heading, share in (("claim", 4), ("measured", 4), ("allowed", 3), ("verdict", 3)):
        table.add_column(heading, ratio=share)
    for claim in claims:
        mark = Text(claim.verdict.mark, STYLES[claim.verdict])
        verdict = Text(f"{claim.verdict}\n({WHOSE[claim.whose]})", STYLES[claim.verdict])
        table.add_row(mark, *(Text(text) for text in claim[:3]), verdict)
    return table
