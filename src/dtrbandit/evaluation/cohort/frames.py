"""Frames from anywhere (pandas, Arrow, CSV, Parquet), and their cells as numbers and texts."""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Integral
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dtrbandit.delimited import UNREADABLE, read_delimited
from dtrbandit.design.contexts import LARGEST
from dtrbandit.design.stages import Stage
from dtrbandit.design.values import as_float, shown
from dtrbandit.errors import DesignError
from dtrbandit.kernels.arrays import Mask, Vector

if TYPE_CHECKING:
    import pandas as pd

NO_ARM, UNKNOWN_ARM = -1, -2
BLANK = frozenset(
    {"", ".", "NA", "N/A", "<NA>", "NaN", "nan", "NULL", "null", "None"}
)  # as R, SAS, SQL, Python write it
SEPARATORS = {".csv": ",", ".tsv": "\t", ".txt": "\t"}
TABLES = (".parquet", ".pq")

Recode = Mapping[Any, str | None]  # from a cell to an arm's label, None for no arm


def read_frame(source: object) -> pd.DataFrame:
    """Return a frame: the one given, or what a file (CSV, also tab-separated, or Parquet) or Arrow's stream holds."""
    import pandas as pd

    if isinstance(source, pd.DataFrame):
        return source
    if isinstance(source, str | Path):
        return _read_file(Path(source))
    if hasattr(source, "__arrow_c_stream__"):
        import pyarrow as pa

        try:
            return _from_arrow(pa.table(source))
        except (ValueError, TypeError) as error:  # pyarrow's own are both
            raise DesignError(f"this {type(source).__name__} is no table: {error}; give a whole frame") from error
    raise DesignError(
        f"a cohort is read from a pandas frame, an Arrow table (polars and others speak it) or a path to CSV or "
        f"Parquet; found {shown(source)} ({type(source).__name__})"
    )


def _from_arrow(table: Any) -> pd.DataFrame:
    frame: pd.DataFrame = table.to_pandas(ignore_metadata=True)  # an index of pandas stays a column
    return frame


def _read_file(file: Path) -> pd.DataFrame:
    ending = Path(file.name.lower().removesuffix(".gz")).suffix
    if ending not in (*SEPARATORS, *TABLES):
        raise DesignError(f"{file}: expected a name in {', '.join((*SEPARATORS, *TABLES))}; give the frame itself")
    try:
        if ending in SEPARATORS:
            return read_delimited(file, SEPARATORS[ending])
        import pyarrow.parquet as parquet

        return _from_arrow(parquet.read_table(file))
    except DesignError:
        raise
    except UNREADABLE as error:  # pyarrow's are ValueErrors
        raise DesignError(f"cannot read {file}: {error}; give a path to a whole file, text in UTF-8") from error


def numbers(column: pd.Series) -> tuple[Vector, Mask]:
    """Return cells as numbers, NaN where blank, and which are neither blank nor a number we can work with."""
    values, blank = _floats(column)
    refused = ~blank & ~(np.abs(values) <= LARGEST)
    return np.where(refused, np.nan, values), refused


def infinite(column: pd.Series) -> Mask:
    """Return which cells hold an infinite number."""
    return np.isinf(_floats(column)[0])


def _floats(column: pd.Series) -> tuple[Vector, Mask]:
    """Return cells as floats, NaN where they are none, and which are blank."""
    blank = column.isna().to_numpy(dtype=np.bool_)
    if column.dtype.kind in "iuf":
        values = column.to_numpy(dtype=np.float64, na_value=np.nan)
    else:
        cells = [None if b else cell for cell, b in zip(column.to_numpy(dtype=object), blank, strict=True)]
        blank = np.array(
            [cell is None or (isinstance(cell, str) and cell.strip() in BLANK) for cell in cells], dtype=bool
        )
        values = np.array([_number(cell) for cell in cells], dtype=np.float64)
    return values, blank


def _number(cell: object) -> float:
    if not isinstance(cell, str):
        return as_float(cell)
    try:
        return np.nan if "_" in cell else float(cell)  # Python reads 1_000, nobody else does
    except ValueError:
        return np.nan


def texts(column: pd.Series) -> list[str]:
    """Return cells as texts, whole numbers without a point, nothing where blank."""
    blank = column.isna().to_numpy(dtype=np.bool_)
    return ["" if b else text(cell) for cell, b in zip(column.to_numpy(dtype=object), blank, strict=True)]


def text(cell: object) -> str:
    """Return a cell as text; a whole number without a point, since a column with blanks has 1.0 for 1."""
    if isinstance(cell, str):
        return cell.strip()
    if isinstance(cell, Integral) and not isinstance(cell, bool):
        return str(int(cell))  # as it is: a float would round those of more than 15 digits
    number = as_float(cell)
    return str(int(number)) if number.is_integer() else str(cell)


def arm_numbers(column: pd.Series, stage: Stage, recode: Recode) -> NDArray[np.int64]:
    """Return the number of each cell's arm, ``NO_ARM`` where it is blank, ``UNKNOWN_ARM`` where it means none.

    In ``recode`` None, or NaN, stands for every blank.
    """
    meaning = {label: arm for arm, label in enumerate(stage.arms)}
    for cell, label in recode.items():
        blank = cell is None or cell != cell  # NaN
        meaning["" if blank else text(cell)] = NO_ARM if label is None else stage.arms.index(label)
    return np.array([_meant(each, meaning) for each in texts(column)], dtype=np.int64)


def _meant(cell: str, meaning: Mapping[str, int]) -> int:
    if cell in meaning:
        return meaning[cell]
    if cell in BLANK:
        return meaning.get("", NO_ARM)
    return meaning.get(text(_number(cell)), UNKNOWN_ARM)  # 1.0 as text is 1, too
