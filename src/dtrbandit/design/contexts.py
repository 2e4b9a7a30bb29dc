"""Contexts and outcomes from outside: what is accepted, and what an error says."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from dtrbandit.design.spec import Design
from dtrbandit.design.values import as_float, is_among, shown
from dtrbandit.errors import ObservationError
from dtrbandit.kernels.arrays import Vector

LARGEST = 1e100  # sums of squares of anything larger could overflow


def accept_context(design: Design, m: int, context: Mapping[str, float], *, unit: str) -> dict[str, float]:
    """Return the context of ``unit`` at stage ``m`` as floats, or say what is wrong with it.

    Columns may be missing; ``require_columns`` refuses a context that lacks one it needs.
    """
    stage, columns = design.stages[m].name, design.columns[m]
    if not isinstance(context, Mapping):
        raise ObservationError(
            f"unit {unit!r}, stage {stage!r}: a context maps columns to numbers, found {shown(context)}"
        )
    accepted = {}
    for column, value in context.items():
        if column not in columns:
            raise ObservationError(
                f"unit {unit!r}, stage {stage!r}: unknown column {shown(column)}; "
                f"its context holds {', '.join(map(repr, columns)) or 'no column'}"
            )
        accepted[column] = accept_number(value, f"unit {unit!r}, stage {stage!r}, column {column!r}")
    return accepted


def require_columns(
    design: Design, m: int, context: Mapping[str, float], needed: tuple[str, ...], *, unit: str
) -> None:
    """Refuse a context in which a needed column is missing."""
    missing = [column for column in needed if column not in context]
    if missing:
        raise ObservationError(
            f"unit {unit!r}, stage {design.stages[m].name!r}: {', '.join(map(repr, missing))} missing; found "
            f"{', '.join(map(repr, context)) or 'no column'}, needed {', '.join(map(repr, needed))}"
        )


def accept_number(value: object, what: str) -> float:
    """Return a finite number as a float, or say what was found instead."""
    if type(value) is float and -LARGEST <= value <= LARGEST:
        return value
    number = as_float(value)
    if -LARGEST <= number <= LARGEST:
        exact = int(value) if isinstance(value, np.integer) else value  # numpy rounds both sides of a comparison
        if number == exact or isinstance(value, float):
            return number
    raise ObservationError(
        f"{what}: found {shown(value)} ({type(value).__name__}), allowed are finite numbers up to {LARGEST:g} in size"
    )


def history_features(design: Design, m: int, history: Mapping[str, float | str], *, where: str) -> Vector:
    """Return ψ_m of a history: columns by name, and earlier arms by the name of their stage.

    The history may hold columns and arms that ψ_m does not use.
    """
    arms, columns = history_arms(design, m, history, where=where), {}
    known = [column for columns in design.columns[: m + 1] for column in columns]
    for name, value in history.items():
        if name in arms:
            continue
        if name not in known:
            raise ObservationError(f"{where}: unknown column {name!r}; known at this stage are {known}")
        columns[name] = accept_number(value, f"{where}, column {name!r}")
    try:
        return np.array(design.parsed[m].features.row(columns, arms))
    except KeyError as error:
        raise ObservationError(f"{where}: {error} is missing; found {', '.join(map(repr, history))}") from error


def history_arms(design: Design, m: int, history: Mapping[str, float | str], *, where: str) -> dict[str, int]:
    """Return the numbers of the arms before stage ``m`` that a history names, by the name of their stage."""
    if not isinstance(history, Mapping):
        raise ObservationError(f"{where}: a history maps columns to numbers, found {history!r}")
    arms = {}
    for stage in design.stages[:m]:
        if stage.name in history:
            value = history[stage.name]
            if not is_among(value, stage.arms):
                raise ObservationError(
                    f"{where}: unknown arm {shown(value)} of stage {stage.name!r}; its arms are {stage.arms}"
                )
            arms[stage.name] = stage.arms.index(str(value))
    return arms
