"""An earlier trial that teaches this one: a fact for each of its units, before anything else happens.

Such a unit has no round and no place in the schedule, and it is no unit of this trial: its id may come again. What
happened to it is told in one fact, and never changes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from dtrbandit.design.contexts import accept_number, require_columns
from dtrbandit.design.spec import Design
from dtrbandit.design.values import shown
from dtrbandit.errors import DesignError, ObservationError, ProtocolError
from dtrbandit.record.checks import Rules
from dtrbandit.record.events import Opened, Taught
from dtrbandit.record.histories import Context, History, advance, columns_of, goes_on
from dtrbandit.record.rules import accept
from dtrbandit.record.units import Histories
from dtrbandit.record.values import is_unit_id
from dtrbandit.words import counted


class Prior(Protocol):
    """What can teach a trial: a ``Cohort``, for one."""

    def teaching(self, design: Design) -> Sequence[Taught]:
        """Return what teaches a trial of this design, a fact for each unit; DesignError if it does not fit."""


def facts_of(prior: Prior, design: Design) -> Sequence[Taught]:
    """Return what an earlier trial teaches a trial of this design, as it says it: not checked yet."""
    teaching = getattr(prior, "teaching", None)
    if isinstance(prior, type) or not callable(teaching):
        raise DesignError(f"prior= needs a Cohort, or what has a method teaching(design), found {shown(prior)}")
    facts: Sequence[Taught] = teaching(design)
    if wrong := [fact for fact in facts if type(fact) is not Taught]:
        raise DesignError(f"prior={shown(prior)}: teaching(design) must give Taught facts, found {shown(wrong[0])}")
    return facts


def histories_of(prior: Prior, design: Design) -> list[History]:
    """Return the histories of the units of an earlier trial, checked."""
    known, found = Histories(design, Opened({}, {}, 0, 0)), []
    for each in facts_of(prior, design):
        fact, _ = taught(known, each)
        found.append(advance(design, None, fact))
        known.taught.add(fact.unit)
        known.count += 1
    return found


def taught(
    histories: Histories, fields: tuple[str, Sequence[Mapping[str, float]], Sequence[str], float | None]
) -> tuple[Taught, None]:
    """Return what a unit of an earlier trial teaches."""
    unit, contexts, labels, outcome = fields
    _require_first(histories, unit)
    if not isinstance(labels, list | tuple) or not isinstance(contexts, list | tuple):
        raise ObservationError(f"unit {unit!r}: contexts and arms must be tuples, found {contexts!r} and {labels!r}")
    design, given = histories.design, len(labels)
    if not max(given, 1) <= len(contexts) <= min(given + 1, len(design.stages)):
        raise ProtocolError(
            f"unit {unit!r} has {counted(len(contexts), 'context')} and {counted(given, 'arm')}: it must have a "
            f"context for each arm, and at most one more, of the {len(design.stages)} stages"
        )
    _require_feasible(design, unit, labels)
    accepted: tuple[Context, ...] = ()
    for m, context in enumerate(contexts):
        accepted += (accept(histories, unit, m, context),)
        _require_context(design, unit, m, accepted, treated=m < given)
    left = given < len(accepted) and not goes_on(design, accepted, given)
    return Taught(unit, accepted, tuple(labels), _accept_outcome(design, unit, outcome, given, left=left)), None


def _require_first(histories: Histories, unit: object) -> None:
    """Refuse to be taught once something has happened, and twice by the same unit."""
    if not is_unit_id(unit):
        raise ObservationError(f"a unit's id must be a printable text of 1 to 200 characters, found {unit!r}")
    if before := histories.count - 1 - len(histories.taught):
        raise ProtocolError(
            f"unit {unit!r} of an earlier trial cannot teach now: a trial is taught before anything happens in it, and "
            f"{counted(before, 'event')} came before; open a new session with prior="
        )
    if unit in histories.taught:
        raise ProtocolError(f"unit {unit!r} of an earlier trial has taught already: each needs an id of its own")


def _require_feasible(design: Design, unit: str, labels: Sequence[str]) -> None:
    """Refuse arms that no plan has."""
    node = 0
    for m, label in enumerate(labels):
        arms = design.stages[m].arms
        arm = arms.index(label) if label in arms else -1
        node = design.tree.following[node][arm] if arm >= 0 else -1
        if node < 0:
            raise ProtocolError(
                f"unit {unit!r} of an earlier trial had {list(labels)}, which no plan of this design has; leave it out"
            )


def _require_context(design: Design, unit: str, m: int, contexts: tuple[Context, ...], *, treated: bool) -> None:
    """Refuse a context without the columns of ``enter_if``, or if the unit enters, without any of its stage's."""
    condition, own = design.parsed[m].condition, design.columns[m]
    if m > 0 and condition is not None:
        decisive = tuple([column for column in condition.columns if column in own])
        require_columns(design, m, contexts[m], decisive, unit=unit)
        enters = condition.holds(columns_of(contexts))
        if treated and not enters:
            raise ProtocolError(
                f"unit {unit!r} of an earlier trial has an arm at stage {design.stages[m].name!r}, which it does not "
                "enter by enter_if"
            )
        if not enters:
            return
    if contexts[m].labels != own:
        require_columns(design, m, contexts[m], own, unit=unit)


def _accept_outcome(design: Design, unit: str, outcome: Any, given: int, *, left: bool) -> float | None:
    """Return the outcome of a unit that has been through its stages or left early, None if it dropped out."""
    if outcome is None:
        return None
    if given == 0 or not (left or given == len(design.stages)):
        raise ProtocolError(
            f"unit {unit!r} of an earlier trial has an outcome and {counted(given, 'arm')}, but neither went through "
            "all stages nor left early; an outcome of None says that it dropped out"
        )
    return accept_number(outcome, f"unit {unit!r}, outcome")


RULES: Rules = {Taught: taught}
