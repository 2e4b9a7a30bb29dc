"""What a table of a TOML file describes by a ``name`` and parameters: a policy, an environment, a duration."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import MISSING, fields
from typing import Any

from dtrbandit.design.parameters import tuples
from dtrbandit.design.toml_text import TomlText, unknown
from dtrbandit.design.values import shown
from dtrbandit.errors import DesignError

Kinds = Mapping[str, type[Any]]


def built(text: TomlText, kinds: Kinds, what: str, *keys: str | int) -> Any:
    """Build what a table describes; an error names the line, and what is allowed there."""
    table = table_at(text, *keys)
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
    return called(text, kind, {name: tuples(table[name]) for name in allowed if name in table}, keys)


def called(text: TomlText, kind: type[Any], parameters: Mapping[str, object], keys: tuple[str | int, ...]) -> Any:
    """Call a class with parameters; an error names the line of the parameter that it is about."""
    try:
        return kind(**parameters)
    except DesignError as error:
        named = [name for name in parameters if re.match(rf"\w+: {name}\b", str(error))]  # as in "DTRBandit: q must be"
        with text.at(*keys, *named[:1]):
            raise


def table_at(text: TomlText, *keys: str | int) -> Mapping[str, object]:
    """Return the table at a place of a file, or say that something else is there."""
    found: Any = text.tables
    for key in keys:
        found = found[key]
    with text.at(*keys):
        if not isinstance(found, Mapping):
            raise DesignError(f'{keys[-1]} must be a table such as {{ name = "…" }}, found {shown(found)}')
    table: Mapping[str, object] = found
    return table
