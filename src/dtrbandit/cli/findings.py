"""What the doctor finds, how it is printed, and what it finds out without loading a kernel."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import typer

from dtrbandit import build

GOOD, NOTE, MISSING, WRONG = "good", "note", "missing", "wrong"
MARKS = {GOOD: "✓", NOTE: "·", MISSING: "?", WRONG: "✗"}


class Finding(NamedTuple):
    """What was looked at, how it is (good, worth a note, missing, or wrong), and what was found."""

    what: str
    how: str
    found: str


def report(findings: Sequence[Finding], *, as_json: bool) -> int:
    """Print what was found; return the exit code: 1 if something is wrong, 2 if there was no log to check."""
    if as_json:
        typer.echo(json.dumps({"name": "doctor", "table": [each._asdict() for each in findings]}, ensure_ascii=False))
    else:
        for what, how, found in findings:
            typer.echo(f"{MARKS[how]} {what:<12} {found}")
    ways = {each.how for each in findings}
    return 1 if WRONG in ways else 2 if MISSING in ways else 0


def broken_build(package: Path = build.PACKAGE) -> list[Finding]:
    """Say which files of kernels are lost. Compiled and plain kernels cannot be loaded together."""
    again = "nothing else was looked at; install dtrbandit again"
    if lost := build.lost_files(package):
        return [Finding("kernels", WRONG, f"files that the build had made are missing: {', '.join(lost)}; {again}")]
    if plain := build.plain_beside_compiled(package):
        message = f"some are compiled and some are not: there is no compiled {', '.join(plain)}; {again}"
        return [Finding("kernels", WRONG, message)]
    return []
