"""Studies described in a TOML file; ``examples/study.toml`` explains every entry."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import MISSING, fields
from functools import partial
from pathlib import Path
from typing import Any

from dtrbandit.design.spec import Design
from dtrbandit.design.toml_text import TomlText, construct, from_table, table_at, unknown
from dtrbandit.design.values import shown, tuples, whole
from dtrbandit.environments import DURATIONS, ENVIRONMENTS, ArrivalProcess
from dtrbandit.errors import DesignError, ProtocolError
from dtrbandit.policies.registry import BUILTIN
from dtrbandit.simulation.inputs import Closing, Inputs

IN_PYTHON = "prior"  # an earlier trial, which no file can name
ENTRIES = [each.name for each in fields(Inputs) if each.init and each.name != IN_PYTHON]
NEEDED = [each.name for each in fields(Inputs) if each.init and each.default is MISSING]
CLOSING = '{ round = 500, stage = "second", arm = "1" }'


def read_study(path: str | Path, *, paths: int | None = None) -> Inputs:
    """Read and check a study file; an error names the line, and what is allowed there.

    Every policy is tried on the design, so that a study that is read can run. ``paths`` replaces the file's.
    """
    text = TomlText.read(Path(path), what="the study")
    _check_entries(text)
    entries: dict[str, Any] = {
        **text.tables,
        "environment": from_table(text, ENVIRONMENTS, "environment", "environment"),
        "policies": {
            name: from_table(text, BUILTIN, "policy", "policies", name) for name in table_at(text, "policies")
        },
        "arrivals": _arrivals(text),
        "design": _design(text),
        "closings": _closings(text),
    }
    if paths is not None:
        entries["paths"] = whole(paths, "paths", low=1)
    return Inputs(**entries, at=partial(_at, text))


@contextmanager
def _at(text: TomlText, *keys: str) -> Iterator[None]:
    """Add file and line to an error, that of an arm that cannot be closed as well."""
    with text.at(*keys):
        try:
            yield
        except ProtocolError as error:  # a closing names no arm, or the last one
            raise DesignError(str(error)) from error


def _check_entries(text: TomlText) -> None:
    """Refuse an entry that is no argument of a study, and a study without those that it needs."""
    for key in text.tables:
        if key not in ENTRIES:
            with text.at(key):
                if key == IN_PYTHON:
                    raise DesignError("an earlier trial is given in Python: simulate(..., prior=cohort); take this out")
                raise unknown("entry", key, ENTRIES)
    for key in NEEDED:
        if key not in text.tables:
            raise DesignError(f"{text.file}: {key!r} is missing; a study needs {', '.join(NEEDED)}")


def _arrivals(text: TomlText) -> ArrivalProcess | None:
    if "arrivals" not in text.tables:
        return None
    table, allowed = table_at(text, "arrivals"), [each.name for each in fields(ArrivalProcess)]
    for key in table:
        with text.at("arrivals", key):
            if key not in allowed:
                raise unknown("parameter of arrivals", key, allowed)
    parameters = {key: tuples(table[key]) if key == "dropout" else _durations(text, key) for key in table}
    process: ArrivalProcess = construct(text, ArrivalProcess, parameters, ("arrivals",))
    return process


def _durations(text: TomlText, key: str) -> Any:
    laws = table_at(text, "arrivals")[key]
    if key == "response" and isinstance(laws, list):  # one for each later stage
        return tuple(from_table(text, DURATIONS, "duration", "arrivals", key, m) for m in range(len(laws)))
    return from_table(text, DURATIONS, "duration", "arrivals", key)


def _closings(text: TomlText) -> list[Closing]:
    """Read the arms that are closed on the way."""
    found = text.tables.get("closings", [])
    with text.at("closings"):
        if not isinstance(found, list):
            raise DesignError(f"closings must be a list of tables, {CLOSING}, found {shown(found)}")
        return [_closing(table) for table in found]


def _closing(table: object) -> Closing:
    if not isinstance(table, Mapping) or not table.keys() >= {*Closing._fields}:
        raise DesignError(f"a closing is a table such as {CLOSING}, found {shown(table)}")
    for key in table:
        if key not in Closing._fields:
            raise unknown("entry of a closing", key, list(Closing._fields))
    return Closing(**table)


def _design(text: TomlText) -> Design | None:
    """Read the learner's design, from a file beside the study's."""
    if "design" not in text.tables:
        return None
    name = text.tables["design"]
    with text.at("design"):
        if not isinstance(name, str):
            raise DesignError(f"design must be the name of a design file, from this file's folder, found {shown(name)}")
        return Design.from_toml(text.file.parent / name)
