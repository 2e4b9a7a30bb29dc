"""Studies described in a TOML file; ``examples/study.toml`` explains every entry."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import MISSING, fields, replace
from pathlib import Path
from typing import Any

import numpy as np

from dtrbandit.design.parameters import tuples, whole
from dtrbandit.design.spec import Design
from dtrbandit.design.toml_text import TomlText, unknown
from dtrbandit.design.values import shown
from dtrbandit.environments import DURATIONS, ENVIRONMENTS, ArrivalProcess
from dtrbandit.errors import DesignError
from dtrbandit.policies import UniformRandom
from dtrbandit.policies.builtin import BUILTIN
from dtrbandit.simulation.inputs import Inputs

Kinds = Mapping[str, type[Any]]

ENTRIES = [each.name for each in fields(Inputs)]
NEEDED = [each.name for each in fields(Inputs) if each.default is MISSING]
NUMBERS = {"horizon": 1, "paths": 1, "seed": 0}  # and the least that each may be


def read_study(path: str | Path) -> Inputs:
    """Read and check a study file; an error names the line, and what is allowed there.

    Every policy is tried on the design, so that a study that is read can run.
    """
    text = TomlText.read(Path(path), what="the study")
    _check_entries(text)
    environment = _built(text, ENVIRONMENTS, "environment", "environment")
    policies = {name: _built(text, BUILTIN, "policy", "policies", name) for name in _table(text, "policies")}
    numbers = {key: _whole(text, key, low=low) for key, low in NUMBERS.items() if key in text.tables}
    rest: dict[str, Any] = {**numbers, "arrivals": _arrivals(text), "design": _design(text)}
    with text.at("design" if rest["design"] else "environment"):
        inputs = Inputs(environment, {"any": UniformRandom()}, **rest)
    with text.at("arrivals"):
        if inputs.arrivals is not None:
            inputs.arrivals.events(1, len(environment.design.stages), np.random.default_rng(0))
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
                raise unknown("entry", key, ENTRIES)
    for key in NEEDED:
        if key not in text.tables:
            raise DesignError(f"{text.file}: {key!r} is missing; a study needs {', '.join(NEEDED)}")


def _built(text: TomlText, kinds: Kinds, what: str, *keys: str | int) -> Any:
    """Build what a table describes by its ``name`` and parameters."""
    table = _table(text, *keys)
    with text.at(*keys):
        if "name" not in table:
            raise DesignError(f"{what}: 'name' is missing; known are {', '.join(kinds)}")
    with text.at(*keys, "name"):
        if not isinstance(table["name"], str) or table["name"] not in kinds:
            raise unknown(what, table["name"], kinds)
    kind = kinds[table["name"]]
    allowed = {each.name: each for each in fields(kind)}
    for key in table:
        with text.at(*keys, key):
            if key not in allowed and key != "name":
                raise unknown(f"parameter of {kind.__name__}", key, allowed)
    with text.at(*keys):
        for name, each in allowed.items():
            if name not in table and each.default is MISSING and each.default_factory is MISSING:
                raise DesignError(f"{kind.__name__}: the parameter {name!r} is missing")
    return _called(text, kind, {name: tuples(table[name]) for name in allowed if name in table}, keys)


def _called(text: TomlText, kind: type[Any], parameters: Mapping[str, object], keys: tuple[str | int, ...]) -> Any:
    try:
        return kind(**parameters)
    except DesignError as error:
        named = [name for name in parameters if re.match(rf"\w+: {name}\b", str(error))]  # as in "DTRBandit: q must be"
        with text.at(*keys, *named[:1]):
            raise


def _table(text: TomlText, *keys: str | int) -> Mapping[str, object]:
    found: object = text.tables
    for key in keys:
        found = found[key]  # type: ignore[index]  # looked at before, one level up
    with text.at(*keys):
        if not isinstance(found, Mapping):
            raise DesignError(f'{keys[-1]} must be a table such as {{ name = "…" }}, found {shown(found)}')
    return found


def _whole(text: TomlText, key: str, *, low: int) -> int:
    with text.at(key):
        return whole(text.tables[key], key, low=low)


def _arrivals(text: TomlText) -> ArrivalProcess | None:
    if "arrivals" not in text.tables:
        return None
    table, allowed = _table(text, "arrivals"), [each.name for each in fields(ArrivalProcess)]
    for key in table:
        with text.at("arrivals", key):
            if key not in allowed:
                raise unknown("parameter of arrivals", key, allowed)
    parameters = {key: tuples(table[key]) if key == "dropout" else _durations(text, key) for key in table}
    process: ArrivalProcess = _called(text, ArrivalProcess, parameters, ("arrivals",))
    return process


def _durations(text: TomlText, key: str) -> Any:
    laws = _table(text, "arrivals")[key]
    if key == "response" and isinstance(laws, list):  # one for each later stage
        return tuple(_built(text, DURATIONS, "duration", "arrivals", key, m) for m in range(len(laws)))
    return _built(text, DURATIONS, "duration", "arrivals", key)


def _design(text: TomlText) -> Design | None:
    """Read the learner's design, from a file beside the study's."""
    if "design" not in text.tables:
        return None
    name = text.tables["design"]
    with text.at("design"):
        if not isinstance(name, str):
            raise DesignError(f"design must be the name of a design file, from this file's folder, found {shown(name)}")
        return Design.from_toml(text.file.parent / name)
