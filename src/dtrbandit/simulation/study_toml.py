"""Studies described in a TOML file; ``examples/study.toml`` explains every entry."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, fields, replace
from pathlib import Path
from typing import Any

import numpy as np

from dtrbandit.design.spec import Design
from dtrbandit.design.toml_text import TomlText, construct, from_table, table_at, unknown
from dtrbandit.design.values import shown, tuples, whole
from dtrbandit.environments import DURATIONS, ENVIRONMENTS, ArrivalProcess
from dtrbandit.errors import DesignError, ProtocolError
from dtrbandit.policies import UniformRandom
from dtrbandit.policies.registry import BUILTIN
from dtrbandit.simulation.closings import Closing
from dtrbandit.simulation.inputs import Inputs

IN_PYTHON = "prior"  # an earlier trial, which no file can name
ENTRIES = [each.name for each in fields(Inputs) if each.name != IN_PYTHON]
NEEDED = [each.name for each in fields(Inputs) if each.default is MISSING]
CLOSING = '{ round = 500, stage = "second", arm = "1" }'
NUMBERS = {"horizon": 1, "paths": 1, "seed": 0}  # and the least that each may be


def read_study(path: str | Path) -> Inputs:
    """Read and check a study file; an error names the line, and what is allowed there.

    Every policy is tried on the design, so that a study that is read can run.
    """
    text = TomlText.read(Path(path), what="the study")
    _check_entries(text)
    environment = from_table(text, ENVIRONMENTS, "environment", "environment")
    policies = {name: from_table(text, BUILTIN, "policy", "policies", name) for name in table_at(text, "policies")}
    numbers = {key: _whole(text, key, low=low) for key, low in NUMBERS.items() if key in text.tables}
    rest: dict[str, Any] = {**numbers, "arrivals": _arrivals(text), "design": _design(text)}
    with text.at("design" if rest["design"] else "environment"):
        inputs = Inputs(environment, {"any": UniformRandom()}, **rest)
    with text.at("arrivals"):
        if inputs.arrivals is not None:
            inputs.arrivals.events(1, len(environment.design.stages), np.random.default_rng(0))
    with text.at("closings"):
        inputs = _closed(inputs, _closings(text))
    for name, policy in policies.items():
        with text.at("policies", name):
            replace(inputs, policies={name: policy})
    with text.at("policies"):
        return replace(inputs, policies=policies)


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


def _whole(text: TomlText, key: str, *, low: int) -> int:
    with text.at(key):
        return whole(text.tables[key], key, low=low)


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


def _closed(inputs: Inputs, closings: list[Closing]) -> Inputs:
    try:
        return replace(inputs, closings=closings)
    except ProtocolError as error:  # no such arm, or the last one
        raise DesignError(str(error)) from error


def _design(text: TomlText) -> Design | None:
    """Read the learner's design, from a file beside the study's."""
    if "design" not in text.tables:
        return None
    name = text.tables["design"]
    with text.at("design"):
        if not isinstance(name, str):
            raise DesignError(f"design must be the name of a design file, from this file's folder, found {shown(name)}")
        return Design.from_toml(text.file.parent / name)
