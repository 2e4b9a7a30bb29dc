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
from dtrbandit.record.events import Assigned, Decision, Event, Overridden

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
    from dtrbandit.evaluation.cohort.logs import OUTCOME, UNIT, log_frame
    from dtrbandit.evaluation.cohort.origin import COLUMN, RANDOMISED

    frame, _, origin, excluded = log_frame(log, design)
    stages = [stage.name for stage in design.stages]
    taken = {*frame.columns}
    unit, outcome = _free("unit", taken), _free("outcome", taken)
    decisions: dict[str, list[Decision]] = {name: [] for name in frame[UNIT]}
    for event in log:
        if isinstance(event, Assigned) and event.unit in decisions:
            decisions[event.unit].append(event.decision)
    for m, stage in enumerate(stages):
        for what in ("decided", "reason", "propensity"):
            frame[_free(f"{stage}_{what}", taken)] = [_decided(own, m, what) for own in decisions.values()]
    for own, mask in zip(design.stages, excluded or (), strict=False):
        for a, arm in enumerate(own.arms):
            frame[_free(f"{own.name}_not_{arm}", taken)] = mask[:, a].astype(int)
    overridden = any(isinstance(event, Overridden) and event.unit in decisions for event in log)
    frame[_free(COLUMN, taken)] = None if overridden and origin.kind == RANDOMISED else origin.kind
    waiting = origin.waiting.in_flight + origin.waiting.ended if origin.waiting else 0
    frame = frame.rename(columns={UNIT: unit, OUTCOME: outcome})
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
