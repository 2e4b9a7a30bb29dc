"""What a command found in a user's own data: a table, its explanation, and files; nothing is claimed of it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd

    from dtrbandit.reproduce.reproduction import Table


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
    table: Table
    files: tuple[Path, ...]
