"""Tables in text files, separated by commas or tabs: every cell as it is, and no line shorter than the header.

pandas would fill up lines that are cut off with blanks, which read as those of people who dropped out.
"""

from __future__ import annotations

import csv
import gzip
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from dtrbandit.errors import DesignError
from dtrbandit.words import counted

if TYPE_CHECKING:
    import pandas as pd

UNREADABLE = (OSError, EOFError, ValueError, csv.Error, zlib.error)  # no UTF-8 is a ValueError
MOST_LINES = 5  # of a file that are named in a message


def read_delimited(file: Path, separator: str) -> pd.DataFrame:
    """Read every cell as text: an arm may be called NA, and a column may be there twice.

    Raises
    ------
    DesignError
        A line has more or fewer cells than the header.
    OSError, EOFError, ValueError, csv.Error, zlib.error
        The file cannot be read (``UNREADABLE``).
    """
    import pandas as pd

    lines = dict(_lines(file, separator))
    if not lines:
        raise ValueError("it is empty, where the first line must name the columns")
    header, *rows = lines.values()
    _require_whole(file, lines, len(header))
    return pd.DataFrame(rows, columns=[name.strip() for name in header], dtype=object)


def _lines(file: Path, separator: str) -> Iterator[tuple[int, list[str]]]:
    """Yield the cells of each line that is not empty, with the number of the line (of several, the first)."""
    opened = gzip.open if file.name.lower().endswith(".gz") else open
    with opened(file, "rt", encoding="utf-8-sig", newline="") as text:
        lines, number = csv.reader(text, delimiter=separator, strict=True), 1
        for cells in lines:
            if cells and not (len(cells) == 1 and cells[0].isspace()):
                yield number, cells
            number = lines.line_num + 1


def _require_whole(file: Path, lines: Mapping[int, list[str]], width: int) -> None:
    """Refuse lines that are cut off, which would read as those of drop-outs, and lines with too many cells."""
    wrong = [(number, len(cells)) for number, cells in lines.items() if len(cells) != width]
    if wrong:
        found = ", ".join(f"line {number} has {cells:,}" for number, cells in wrong[:MOST_LINES])
        more = f", and so on in {counted(len(wrong) - MOST_LINES, 'more line')}" if len(wrong) > MOST_LINES else ""
        raise DesignError(
            f"cannot read {file}: every line must have as many cells as the header, {width:,}; {found}{more} (lines "
            "count from 1, the header's). The cells of a drop-out are blank, not absent: add them, or export it again"
        )
