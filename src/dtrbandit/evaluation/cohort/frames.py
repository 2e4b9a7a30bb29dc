"""Frames from anywhere (pandas, Arrow, CSV, Parquet): which columns hold what, and cells as numbers and texts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from numbers import Integral
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

from dtrbandit.delimited import UNREADABLE, read_delimited
from dtrbandit.design.contexts import LARGEST
from dtrbandit.design.spec import Design
from dtrbandit.design.stages import Stage
from dtrbandit.design.values import as_float, nearest, shown
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
Columns = Mapping[str, Mapping[str, str]]  # by stage and arm
Missing = Literal["refuse", "drop"]  # what to do about a unit without a covariate that it needs


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


class Roles(NamedTuple):
    """Which columns of a frame hold what, beside the contexts, whose columns the design names."""

    arms: Sequence[str]
    outcome: str
    unit: str | None
    weights: str | None
    recode: Mapping[str, Recode]
    exclude: Mapping[str, Mapping[str, str]] = {}  # by stage and arm


def require_columns(frame: pd.DataFrame, design: Design, roles: Roles) -> None:
    """Refuse roles that do not fit the design, and columns that the frame does not have, or has twice."""
    if isinstance(roles.arms, str) or not isinstance(roles.arms, Sequence) or len(roles.arms) != len(design.stages):
        names = [stage.name for stage in design.stages]
        raise DesignError(f"arms must list one column for each of the stages {names}, found {shown(roles.arms)}")
    named = [*roles.arms, roles.outcome, *(name for name in (roles.unit, roles.weights) if name is not None)]
    if strange := [name for name in named if not isinstance(name, str)]:
        raise DesignError(f"columns are called by a text, found {shown(strange)}")
    wrong = [*_strange_recodes(design, roles), *strange_exclusions(design, roles.exclude)]
    if not wrong:
        named += [column for columns in roles.exclude.values() for column in columns.values()]
    if len(set(roles.arms)) < len(roles.arms):
        wrong.append(f"arms must name a column for each stage, found {list(roles.arms)}")
    contexts = [name for columns in design.columns for name in columns]
    if roles.outcome in (*contexts, *roles.arms, roles.weights):
        wrong.append(f"outcome={roles.outcome!r} is also a column of the design, of arms or of weights; it comes last")
    needed = dict.fromkeys([*contexts, *named])
    columns = list(frame.columns)
    if missing := [name for name in needed if name not in columns]:
        names = [name for name in columns if isinstance(name, str)]
        meant = {name: nearest(name, (other for other in names if other not in needed)) for name in missing}
        near = ", ".join(f"{other!r} for {name!r}" for name, other in meant.items() if other)
        wrong.append(f"the frame lacks {missing}; it has {shown(columns)}{f'; did you mean {near}?' if near else ''}")
    if twice := [name for name in needed if columns.count(name) > 1]:
        wrong.append(f"the frame has more than one column {twice}; rename or drop one")
    if not wrong and not len(frame):
        wrong.append("the frame has no rows; a cohort needs at least one unit")
    if wrong:
        raise DesignError("; ".join(wrong))


def _strange_recodes(design: Design, roles: Roles) -> list[str]:
    if not isinstance(roles.recode, Mapping):
        return [f"recode must map columns of arms to what their cells mean, found {shown(roles.recode)}"]
    stages, wrong = dict(zip(roles.arms, design.stages, strict=True)), []
    for name, recode in roles.recode.items():
        if name not in stages:
            wrong.append(f"recode is for the columns of arms, {list(roles.arms)}, found {shown(name)}")
        elif not isinstance(recode, Mapping):
            wrong.append(f"recode[{name!r}] must map cells to arms, found {shown(recode)}")
        elif strange := [label for label in recode.values() if label is not None and label not in stages[name].arms]:
            allowed = f"{list(stages[name].arms)}, or to None for no arm (with --recode, nothing behind '=')"
            wrong.append(f"recode[{name!r}] must lead to {allowed}; found {shown(strange)}")
    return wrong


def strange_exclusions(design: Design, exclude: object) -> list[str]:
    """Say what does not fit the design in ``exclude``."""
    example = "{'first': {'ssri': 'no_ssri'}}"
    if not isinstance(exclude, Mapping) or not all(isinstance(each, Mapping) for each in exclude.values()):
        return [f"exclude must map stages to arms to columns, such as {example}, found {shown(exclude)}"]
    stages, wrong = {stage.name: stage.arms for stage in design.stages}, []
    for name, columns in exclude.items():
        if name not in stages:
            wrong.append(f"exclude names the stage {shown(name)}; the stages are {list(stages)}")
        elif strange := [arm for arm in columns if arm not in stages[name]]:
            wrong.append(
                f"exclude names the arm {shown(strange[0])} of stage {name!r}; its arms are {list(stages[name])}"
            )
        elif strange := [column for column in columns.values() if not isinstance(column, str)]:
            wrong.append(f"exclude leads to columns, called by a text, found {shown(strange[0])}")
    return wrong


def read_exclusions(frame: pd.DataFrame, design: Design, exclude: Columns) -> tuple[tuple[Mask, ...], dict[str, Mask]]:
    """Return for whom each arm is contraindicated, (n, K_m) for each stage; and by column which cells are neither."""
    masks = tuple(np.zeros((len(frame), count), dtype=np.bool_) for count in design.arm_counts)
    wrong: dict[str, Mask] = {}
    for m, stage in enumerate(design.stages):
        for arm, column in exclude.get(stage.name, {}).items():
            values, _ = numbers(frame[column].astype(float) if frame[column].dtype == np.bool_ else frame[column])
            wrong[column] = ~np.isin(values, (0.0, 1.0))
            masks[m][:, stage.arms.index(arm)] = values == 1.0
    return masks, wrong


@dataclass(frozen=True)
class LeftOut:
    """The units that were left out, by ``missing="drop"``.

    Attributes
    ----------
    units
        Their ids.
    columns
        How many of them lack each column, in the design's order; a unit may lack several.

    Examples
    --------
    >>> print(LeftOut(("u7", "u9"), {"age": 2, "weight": 1}))
    Left out, because a covariate is blank that a stage of theirs needs:
           2  units
             2  without 'age'
             1  without 'weight'
    """

    units: tuple[str, ...] = ()
    columns: Mapping[str, int] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.units)

    def __str__(self) -> str:
        if not self.units:
            return "Left out: nobody."
        lines = [
            "Left out, because a covariate is blank that a stage of theirs needs:",
            f"  {len(self):>6,}  unit{'' if len(self) == 1 else 's'}",
        ]
        return "\n".join([*lines, *(f"    {count:>6,}  without {name!r}" for name, count in self.columns.items())])


def require_missing(missing: object) -> None:
    """Refuse what is no way to go about missing values."""
    if not (isinstance(missing, str) and missing in get_args(Missing)):
        raise DesignError(
            f"missing must be 'refuse', so that a blank covariate is an error, or 'drop', so that its unit is left out "
            f"and counted; found {shown(missing)}"
        )
