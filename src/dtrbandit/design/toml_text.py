"""The reader of TOML: files that can say on which line an entry stands, and what their tables describe."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import MISSING, dataclass, fields
from functools import cached_property
from pathlib import Path
from typing import Any

from dtrbandit.design.values import nearest, shown, tuples
from dtrbandit.errors import DesignError

Kinds = Mapping[str, type[Any]]


def toml_tables(text: str) -> dict[str, Any]:
    r"""Return what a text in TOML says; whatever is wrong with it is a ValueError.

    Examples
    --------
    >>> toml_tables("q = 1\ndelta = [0.5, 1.0]")
    {'q': 1, 'delta': [0.5, 1.0]}
    """
    try:
        return tomllib.loads(text)
    except RecursionError:
        raise ValueError("nested too deeply") from None


@dataclass(frozen=True)
class TomlText:
    """The text of a TOML file, and which file that is."""

    file: Path
    text: str

    @classmethod
    def read(cls, file: Path, *, what: str) -> TomlText:
        """Read a file, or say why ``what`` it holds, such as "the design", cannot be read."""
        try:
            return cls(file, file.read_text(encoding="utf-8"))
        except UnicodeDecodeError as error:
            raise DesignError(f"{file} is not valid TOML: {error}; save it as UTF-8") from error
        except (OSError, ValueError) as error:  # a ValueError: there is a NUL in the name
            reason = error.strerror if isinstance(error, OSError) else error
            raise DesignError(f"cannot read {what} {str(file)[:100]!r}: {reason}; give a TOML file") from error

    @cached_property
    def tables(self) -> Mapping[str, object]:
        """What the file says."""
        try:
            return toml_tables(self.text)
        except ValueError as error:  # TOMLDecodeError, and an integer of more digits than Python reads
            raise DesignError(f"{self.file} is not valid TOML: {error}") from error

    @contextmanager
    def at(self, *keys: str | int) -> Iterator[None]:
        """Add file and line of an entry, or of the table that lacks it, to a DesignError."""
        try:
            yield
        except DesignError as error:
            raise DesignError(f"{self.file}, line {self.line(*keys)}: {error}") from error

    def line(self, *keys: str | int) -> int:
        r"""Return the line, from 1, on which an entry begins; if there is none, its table's.

        Examples
        --------
        >>> TomlText(Path("study.toml"), "seed = 1\n[policies]\nmine = {name = 'Greedy'}").line("policies", "mine")
        3
        """
        while keys and not _has(self.tables, keys):
            keys = keys[:-1]
        lines, begins = self.text.split("\n"), 1
        for end in range(1, len(lines)):  # an entry begins after the longest beginning that is TOML but lacks it
            try:
                if _has(toml_tables("\n".join(lines[:end])), keys):
                    return begins
            except ValueError:  # cut within an entry
                continue
            begins = end + 1
        return begins


def _has(tables: object, keys: tuple[str | int, ...]) -> bool:
    for key in keys:
        if not isinstance(tables, Mapping) or key not in tables:
            return False
        tables = tables[key]
    return True


def unknown(what: str, found: object, known: Mapping[str, object] | list[str]) -> DesignError:
    """Return the error for a name that is not known, with the one that was probably meant.

    Examples
    --------
    >>> print(unknown("policy", "greddy", ["Greedy", "LSVIUCB"]))
    unknown policy 'greddy', did you mean 'Greedy'? Known are Greedy, LSVIUCB
    """
    near = nearest(found, known)
    meant = f", did you mean {near!r}? Known are" if near else "; known are"
    return DesignError(f"unknown {what} {str(found)[:100]!r}{meant} {', '.join(known) or 'none'}")


# -- what a table describes by a name and parameters --------------------------------------------------------------


def from_table(text: TomlText, kinds: Kinds, what: str, *keys: str | int) -> Any:
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
    return construct(text, kind, {name: tuples(table[name]) for name in allowed if name in table}, keys)


def construct(text: TomlText, kind: type[Any], parameters: Mapping[str, object], keys: tuple[str | int, ...]) -> Any:
    """Call a class with parameters; an error names the line of the parameter that it is about."""
    try:
        return kind(**parameters)
    except DesignError as error:
        named = [name for name in parameters if re.match(rf"\w+: {name}\b", str(error))]  # as in "DTRBandit: q must be"
        with text.at(*keys, *named[:1]):
            raise


def table_at(text: TomlText, *keys: str | int) -> Mapping[str, object]:
    """Return the table under these keys, or say that something else is there."""
    found: Any = text.tables
    for key in keys:
        found = found[key]
    with text.at(*keys):
        if not isinstance(found, Mapping):
            raise DesignError(f'{keys[-1]} must be a table such as {{ name = "…" }}, found {shown(found)}')
    table: Mapping[str, object] = found
    return table
