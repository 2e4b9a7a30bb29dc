"""Results for a reader, or as one JSON document."""

from __future__ import annotations

import json
from collections.abc import Sequence
from math import isnan
from typing import TYPE_CHECKING

import typer

from dtrbandit.cli.result import Result
from dtrbandit.reproduce import Claim, Reproduction

if TYPE_CHECKING:
    from rich.table import Table

WIDTH = 110  # where there is no terminal to ask


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
        "claims": [claim._asdict() for result in results for claim in _claims_of(result)],
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
    for file in result.files:
        console.print(f"Written: {file}", markup=False, highlight=False, soft_wrap=True)


def _claims_of(result: Reproduction | Result) -> Sequence[Claim]:
    return result.claims if isinstance(result, Reproduction) else ()


def _claims(claims: Sequence[Claim]) -> Table:
    from rich.box import HORIZONTALS
    from rich.table import Table
    from rich.text import Text

    table = Table(title="Claims", title_justify="left", box=HORIZONTALS, show_lines=True)
    table.add_column("")
    for heading, share in (("claim", 4), ("measured", 4), ("allowed", 3)):
        table.add_column(heading, ratio=share)
    for claim in claims:
        mark = Text("✓", "green") if claim.holds else Text("✗", "bold red")
        table.add_row(mark, *(Text(text) for text in claim[:3]))
    return table
