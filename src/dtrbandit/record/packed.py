"""A log in memory: facts packed into entries of blocks (``record/blocks.py``).

The kind of an entry is the number of a *template*: what many facts have in common, such as labels, arm and reason,
which is kept once. What is a fact's own is numbers. Kinds of facts that are rare have no template, and are pickled. The
round of an entry is that of its unit; facts of the trial as a whole, and of units of an earlier one, stand in round 0.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from math import nan
from struct import Struct
from typing import Any

from dtrbandit.record.blocks import HEADER, Blocks
from dtrbandit.record.events import (
    AMENDMENTS,
    Assigned,
    Completed,
    Decision,
    Enrolled,
    Event,
    Fact,
    Opened,
    QValues,
    Responded,
    Taught,
    Withdrawn,
    new,
)
from dtrbandit.record.histories import History
from dtrbandit.record.values import Values

MOST_TEMPLATES = 4096  # beyond these, what facts have in common is not looked for
MOST_REASONS = 1024  # templates beyond which withdrawals get none: each may have a reason in its own words
NUMBER = Struct("=d")

Template = tuple[Any, ...]  # what unpacks a fact, then what many facts have in common
Unpack = Callable[[Template, str, int, bytes], Fact]
Split = tuple[Template, bytes]  # a template, and the bytes of a fact's own numbers


class PackedLog:
    """Events by their place, from 0, and all events of each unit. It only grows.

    ``names`` are the units by round and ``rounds`` the reverse, which whoever appends keeps up to date. Whatever
    interrupts an append, the events before it can be read.
    """

    def __init__(self, opened: Opened, names: list[str], rounds: Mapping[str, int]) -> None:
        self.opened, self._names, self._rounds = opened, names, rounds
        self.blocks = Blocks()
        self.templates: list[Template] = [(_unpickled,), COMPLETION]  # by number
        self.numbers: dict[Template, int] = {COMPLETION: COMPLETED}  # of templates, where they are looked for
        self.amended = False  # whether there is an amendment, or a closed arm, anywhere

    def __len__(self) -> int:
        return len(self.blocks)

    # -- writing ---------------------------------------------------------------------------------------------

    def append(self, fact: Fact, history: History) -> None:
        """Pack a fact of the unit of a history, whose first one is its enrolment; or one of the trial itself."""
        self.append_of(fact, history.round)

    def append_of(self, fact: Fact, t: int) -> None:
        """Pack a fact of the unit of a round; 0 for the trial itself."""
        kind = type(fact)
        self.amended = self.amended or kind in AMENDMENTS
        split = SPLITS[kind](fact) if kind in SPLITS else None
        number = 0 if split is None else self.number_of(split[0])
        self.blocks.append(number, t, split[1] if split and number else pickle.dumps((kind, _without_unit(fact, t))))

    def number_of(self, template: Template) -> int:
        """Return the number of a template, 0 if there are too many."""
        return self.numbers.get(template) or self._new(template)

    def _new(self, template: Template) -> int:
        number = len(self.templates)
        if number == MOST_TEMPLATES or (number >= MOST_REASONS and template[0] is _withdrawn):
            return 0
        self.templates.append(template)
        self.numbers[template] = number  # last: a number that is known has its template
        return number

    # -- reading ---------------------------------------------------------------------------------------------

    def __getitem__(self, place: int) -> Event:
        return next(self.events(place, place + 1))

    def events(self, start: int, stop: int) -> Iterator[Event]:
        """Give the events from one place to before another."""
        if start == 0 < stop:
            yield self.opened
        yield from map(self._fact, self.blocks.between(max(start, 1), stop))

    def kinds(self, start: int, stop: int) -> Iterator[tuple[type, str]]:
        """Give the kind and the unit of the events between two places; few of them must be unpacked for it."""
        if start == 0 < stop:
            yield Opened, ""
        for entry in self.blocks.between(max(start, 1), stop):
            number, t, _ = HEADER.unpack_from(entry)
            kind = KINDS.get(self.templates[number][0]) or type(self._fact(entry))
            yield kind, self._names[t - 1] if t else ""

    def of_unit(self, unit: str) -> list[Fact]:
        """Return all that happened to a unit, in order."""
        return [self._fact(entry) for entry in self.blocks.of_round(self._rounds[unit])]

    def _fact(self, entry: bytes) -> Fact:
        number, t, _ = HEADER.unpack_from(entry)
        template = self.templates[number]
        fact: Fact = template[0](template, self._names[t - 1] if t else "", t, entry[HEADER.size :])
        return fact


# -- a fact as a template and numbers; None if it has others ----------------------------------------------------------


def arrival_template(stage: str | None, columns: tuple[str, ...]) -> Template:
    """Return the template of an arrival at a stage with these columns; None: an enrolment."""
    if stage is None:
        return _enrolled, columns, None, None, None
    return _responded, stage, columns, None, None


def decision_template(decision: Decision) -> Template:
    """Return the template of a decision whose estimates are Values."""
    _, _, stage, arm, reason, _, tilde, hat, contenders, infeasible = decision
    return _assigned, stage, arm, reason, contenders, infeasible, tilde.labels, hat.labels  # type: ignore[attr-defined]


def _split_enrolled(fact: Any) -> Split | None:
    _, _, context, exclude, reason, site = fact
    if type(context) is not Values:
        return None
    return (_enrolled, context.labels, exclude and tuple(exclude.items()), reason, site), context.packed


def _split_responded(fact: Any) -> Split | None:
    _, stage, context, exclude, reason = fact
    if type(context) is not Values:
        return None
    return (_responded, stage, context.labels, exclude and tuple(exclude.items()), reason), context.packed


def _split_assigned(fact: Assigned) -> Split | None:
    decision = _with_values(fact.decision)
    if decision is None:
        return None
    _, _, _, _, _, propensity, tilde, hat, _, _ = decision
    number = nan if propensity is None else propensity
    return decision_template(decision), NUMBER.pack(number) + tilde.packed + hat.packed  # type: ignore[attr-defined]


def _with_values(decision: Decision) -> Decision | None:
    """Return a decision whose estimates are Values; None if it cannot be packed."""
    _, _, _, _, reason, propensity, tilde, hat, contenders, infeasible = decision
    if type(reason) is not str or type(contenders) is not tuple or type(infeasible) is not tuple:
        return None
    if propensity is not None and (type(propensity) is not float or propensity != propensity):
        return None
    if type(tilde) is Values and type(hat) is Values:
        return decision
    q_tilde, q_hat = _as_values(tilde), _as_values(hat)
    return None if q_tilde is None or q_hat is None else decision._replace(q_tilde=q_tilde, q_hat=q_hat)


def _as_values(numbers: QValues) -> Values[float | None] | None:
    """Return Values, or a dict of plain floats as Values; None for anything else."""
    if isinstance(numbers, Values):
        return numbers
    plain = type(numbers) is dict and all(q is None or (type(q) is float and q == q) for q in numbers.values())
    return Values(tuple(numbers), tuple(numbers.values())) if plain else None


def _split_taught(fact: Taught) -> Split | None:
    """Split what happened to a unit of an earlier trial; its name, which is nowhere else, comes last."""
    unit, contexts, arms, outcome = fact
    values = [context for context in contexts if type(context) is Values]
    if len(values) < len(contexts):
        return None
    template = (_taught, tuple([each.labels for each in values]), arms, outcome is None)
    numbers = b"".join([NUMBER.pack(nan if outcome is None else outcome), *[each.packed for each in values]])
    return template, numbers + unit.encode()


# -- and back -----------------------------------------------------------------------------------------------------


def _enrolled(template: Template, unit: str, t: int, own: bytes) -> Enrolled:
    _, labels, exclude, reason, site = template
    return new(Enrolled, (unit, t, Values(labels, own), exclude and dict(exclude), reason, site))


def _responded(template: Template, unit: str, _: int, own: bytes) -> Responded:
    _, stage, labels, exclude, reason = template
    return new(Responded, (unit, stage, Values(labels, own), exclude and dict(exclude), reason))


def _completed(_: Template, unit: str, __: int, own: bytes) -> Completed:
    return new(Completed, (unit, *NUMBER.unpack(own)))


def _withdrawn(template: Template, unit: str, _: int, __: bytes) -> Withdrawn:
    return Withdrawn(unit, template[1])


def _assigned(template: Template, unit: str, t: int, own: bytes) -> Assigned:
    _, stage, arm, reason, contenders, infeasible, tilde, hat = template
    number, q_tilde, q_hat = _estimates(len(tilde), len(hat)).unpack(own)
    propensity = number if number == number else None
    q_tilde, q_hat = Values(tilde, q_tilde), Values(hat, q_hat)
    decision = new(Decision, (unit, t, stage, arm, reason, propensity, q_tilde, q_hat, contenders, infeasible))
    return new(Assigned, (decision,))


@cache
def _estimates(tilde: int, hat: int) -> Struct:
    """Return what reads a propensity, then so many numbers of Q̃ and of Q̂, as bytes."""
    return Struct(f"=d{8 * tilde}s{8 * hat}s")


def _taught(template: Template, _: str, __: int, own: bytes) -> Taught:
    _, labels, arms, dropped_out = template
    place, contexts = NUMBER.size, list[Values[float]]()
    for each in labels:
        contexts.append(Values(each, own[place : place + NUMBER.size * len(each)]))
        place += NUMBER.size * len(each)
    outcome = None if dropped_out else NUMBER.unpack_from(own)[0]
    return Taught(own[place:].decode(), tuple(contexts), arms, outcome)


# -- all others ---------------------------------------------------------------------------------------------------


def _without_unit(fact: Fact, t: int) -> tuple[Any, ...]:
    """Return the fields of a fact; the name of a unit of this trial is kept once, elsewhere."""
    fields = tuple(fact.decision if isinstance(fact, Assigned) else fact)
    return fields[1:] if t else fields


def _unpickled(_: Template, unit: str, t: int, own: bytes) -> Fact:
    kind, fields = pickle.loads(own)
    fields = (unit, *fields) if t else fields
    fact: Fact = Assigned(Decision(*fields)) if kind is Assigned else kind(*fields)
    return fact


COMPLETION: Template = (_completed,)
COMPLETED = 1  # the number of its template
KINDS: dict[Unpack, type] = {
    _enrolled: Enrolled,
    _assigned: Assigned,
    _responded: Responded,
    _completed: Completed,
    _withdrawn: Withdrawn,
    _taught: Taught,
}
SPLITS: dict[type, Callable[[Any], Split | None]] = {
    Enrolled: _split_enrolled,
    Assigned: _split_assigned,
    Responded: _split_responded,
    Completed: lambda fact: (COMPLETION, NUMBER.pack(fact.outcome)),
    Withdrawn: lambda fact: ((_withdrawn, fact.reason), b""),
    Taught: _split_taught,
}
