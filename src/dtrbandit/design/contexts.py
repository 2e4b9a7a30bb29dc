"""Contexts and outcomes on arrival: what is accepted, and what an error says."""

from __future__ import annotations

from collections.abc import Mapping

from dtrbandit.design.spec import Design
from dtrbandit.design.values import as_float, shown
from dtrbandit.errors import ObservationError

LARGEST = 1e100  # sums of squares of anything larger could overflow

Context = dict[str, float]


def accept_context(design: Design, m: int, context: Mapping[str, float], *, unit: str) -> Context:
    """Return the context of ``unit`` at stage ``m`` as floats, or say what is wrong with it.

    Some columns may be missing here; ``require_columns`` says which must not be.
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
    if -LARGEST <= number <= LARGEST and (number == value or isinstance(value, float)):
        return number
    raise ObservationError(
        f"{what}: found {shown(value)} ({type(value).__name__}), allowed are finite numbers up to {LARGEST:g} in size"
    )
