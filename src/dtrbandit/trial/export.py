"""Units of a trial as a table that a ``Cohort`` reads, with what was decided for them and how probable it was."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple, get_args

from dtrbandit.design.spec import Design
from dtrbandit.design.values import shown
from dtrbandit.errors import DesignError
from dtrbandit.record.durable import beside, settle
from dtrbandit.record.events import Decision, Event, Overridden

if TYPE_CHECKING:
    import pandas as pd

Format = Literal["csv", "parquet", "jsonl"]
FORMULA = ("=", "+", "-", "@", "\t", "\r")  # a spreadsheet would run a text that begins with one of these


class Exported(NamedTuple):
    """What was written: how many units, how many wait behind the first that has not ended, and the columns."""

    path: Path
    units: int
    waiting: int
    unit: str
    arms: tuple[str, ...]
    outcome: str


def write_units(log: Sequence[Event], design: Design, path: str | Path, format: str | None) -> Exported:  # noqa: A002  # the word for it
    """Write the units that ended, in the order of enrolment up to the first that has not."""
    place = Path(path)
    kind = place.suffix.removeprefix(".").lower() if format is None else format
    if kind not in get_args(Format):
        raise DesignError(
            f"format must be one of {', '.join(get_args(Format))}, found {shown(kind)}; {path} was not written"
        )
    frame, exported = _frame(log, design, place)
    with beside(place.resolve()) as draft:
        if kind == "csv":
            _without_formulas(frame).to_csv(draft, index=False, lineterminator="\n")
        elif kind == "parquet":
            frame.to_parquet(draft, index=False)
        else:
            draft.write_text("".join(_lines(frame)), encoding="utf-8")
        settle(draft, place.resolve())
    return exported


def _frame(log: Sequence[Event], design: Design, place: Path) -> tuple[pd.DataFrame, Exported]:
    """Return a row for each unit: contexts, arms given, outcome, what was decided, and what it could not have."""
    import pandas as pd

    from dtrbandit.evaluation.cohort.logs import read_log_units
    from dtrbandit.evaluation.cohort.origin import COLUMN, RANDOMISED

    found = read_log_units(log, design)
    stages, columns = [stage.name for stage in design.stages], [name for own in design.columns for name in own]
    taken = {*columns, *stages}
    unit, outcome = _free("unit", taken), _free("outcome", taken)
    rows = [
        {unit: each.unit, **each.columns, **dict(zip(stages, each.arms, strict=False)), outcome: each.outcome}
        for each in found.units
    ]
    frame = pd.DataFrame(rows, columns=[unit, *columns, *stages, outcome])
    for m, stage in enumerate(stages):
        for what in ("decided", "reason", "propensity"):
            frame[_free(f"{stage}_{what}", taken)] = [_decided(each.decisions, m, what) for each in found.units]
    for own, mask in zip(design.stages, found.excluded or (), strict=False):
        for a, arm in enumerate(own.arms):
            frame[_free(f"{own.name}_not_{arm}", taken)] = mask[:, a].astype(int)
    origin, units = found.origin, {each.unit for each in found.units}
    overridden = any(isinstance(event, Overridden) and event.unit in units for event in log)
    frame[_free(COLUMN, taken)] = None if overridden and origin.kind == RANDOMISED else origin.kind
    waiting = origin.waiting.in_flight + origin.waiting.ended if origin.waiting else 0
    return frame, Exported(place, len(frame), waiting, unit, tuple(stages), outcome)


def _free(name: str, taken: set[str]) -> str:
    """Return a name that no column has yet, and take it."""
    while name in taken:
        name += "_"
    taken.add(name)
    return name


def _decided(decisions: Sequence[Decision], m: int, what: str) -> str | float | None:
    if m >= len(decisions):
        return None
    decision = decisions[m]
    return {"decided": decision.arm, "reason": decision.reason, "propensity": decision.propensity}[what]


def _without_formulas(frame: pd.DataFrame) -> pd.DataFrame:
    """Put an apostrophe in front of texts, also of names of columns, that a spreadsheet would run."""
    safe = frame.rename(columns=_safe)
    for name in safe.columns:
        if safe[name].dtype == object or str(safe[name].dtype).startswith("str"):
            safe[name] = [_safe(cell) for cell in safe[name]]
    return safe


def _safe(cell: object) -> object:
    return f"'{cell}" if isinstance(cell, str) and cell.startswith(FORMULA) else cell


def _lines(frame: pd.DataFrame) -> Iterable[str]:
    names = list(frame.columns)
    for row in frame.itertuples(index=False, name=None):
        cells = {name: None if cell is None or cell != cell else cell for name, cell in zip(names, row, strict=True)}
        yield json.dumps(cells, ensure_ascii=False, allow_nan=False) + "\n"
