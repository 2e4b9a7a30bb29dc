"""A log in memory, packed: many events are few objects, so that the garbage collector has little to visit.

An event is packed into some bytes: the number of its head, the unit's round, the place of the unit's event before,
and the numbers that are its own. A head is what many events have in common: their kind, labels, arm, reason; it is kept
once. The places lead from a unit's last event back through its whole story. Bytes are joined block by block.
"""

from __future__ import annotations

import pickle
from array import array
from collections.abc import Callable, Iterator
from functools import partial
from itertools import accumulate
from struct import Struct
from typing import Any

from dtrbandit.record.events import (
    Assigned,
    Completed,
    Decision,
    Enrolled,
    Event,
    Fact,
    Opened,
    QValues,
    Responded,
)
from dtrbandit.record.values import Values

BLOCK = 1024  # events
MOST_HEADS = 4096  # beyond these, what events have in common is not looked for
NONE = float("nan")  # stands for no propensity
HEAD = Struct("<III")  # head, round, place before
WITH_NUMBER = Struct("<IIId")  # and one number
NUMBER = Struct("<d")

Head = tuple[Any, ...]  # what unpacks the event, then what it has in common with others
Unpack = Callable[[Head, str, int, bytes], Fact]

# from a tuple, in half the time
new_enrolled = partial(tuple.__new__, Enrolled)
new_assigned = partial(tuple.__new__, Assigned)
new_decision = partial(tuple.__new__, Decision)
new_responded = partial(tuple.__new__, Responded)
new_completed = partial(tuple.__new__, Completed)


class PackedLog:
    """Events by their place, from 0, and units' stories. It only grows.

    Whatever interrupts an append, the events before it can be read.
    """

    def __init__(self, opened: Opened) -> None:
        self.opened = opened
        self.names: list[str] = []  # of units, by round
        self.rounds: dict[str, int] = {}  # the reverse; numbers and texts are nothing to the garbage collector
        self._last = array("I")  # the place of each unit's last event, by round
        self._heads: list[Head] = [(_any_fact,)]
        self._numbers: dict[Head, int] = {}
        self._blocks: list[tuple[bytes, array[int]]] = []
        self._held: tuple[int, list[bytes]] = (0, [b""])  # how many blocks count, and the events after them

    def __len__(self) -> int:
        count, rest = self._held
        return count * BLOCK + len(rest)

    # -- writing ---------------------------------------------------------------------------------------------

    def append(self, fact: Fact, t: int) -> None:
        """Pack a fact of the unit of round ``t``, whose first is its enrolment."""
        kind = type(fact)
        if kind is Enrolled:
            self.names.append(fact.unit)
            self.rounds[fact.unit] = t
            self._last.append(0)
        before = self._last[t - 1]
        pack = PACKS.get(kind)
        entry = None if pack is None else pack(self, fact, t, before)
        if entry is None:
            entry = HEAD.pack(0, t, before) + pickle.dumps((kind, _without_unit(fact)))
        count, rest = self._held
        if len(rest) == BLOCK:
            count, rest = self._seal()
        self._last[t - 1] = count * BLOCK + len(rest)
        rest.append(entry)

    def _seal(self) -> tuple[int, list[bytes]]:
        """Join the events after the last block to another one; it counts by one assignment."""
        count, rest = self._held
        self._blocks[count:] = [(b"".join(rest), array("I", accumulate(map(len, rest), initial=0)))]
        self._held = count + 1, []
        return self._held

    def head(self, head: Head) -> int | None:
        """Return the number of a head, None if there are too many."""
        number = self._numbers.get(head)
        if number is None and len(self._heads) < MOST_HEADS:
            number = len(self._heads)
            self._heads.append(head)
            self._numbers[head] = number  # last: a number that is known has its head
        return number

    # -- reading ---------------------------------------------------------------------------------------------

    def __getitem__(self, place: int) -> Event:
        return self._fact(self._entry(place)) if place else self.opened

    def events(self, start: int, stop: int) -> Iterator[Event]:
        """Give the events from one place to before another."""
        if start == 0 < stop:
            yield self.opened
        heads, names, unpack_head = self._heads, self.names, HEAD.unpack_from
        for place in range(max(start, 1), stop):
            entry = self._entry(place)
            number, t, _ = unpack_head(entry)
            head = heads[number]
            yield head[0](head, names[t - 1], t, entry)

    def story(self, t: int) -> list[Fact]:
        """Return all that happened to the unit of a round, in order."""
        entries, place = [], self._last[t - 1]
        while place:
            entries.append(self._entry(place))
            place = HEAD.unpack_from(entries[-1])[2]
        return [self._fact(entry) for entry in reversed(entries)]

    def _entry(self, place: int) -> bytes:
        count, rest = self._held
        block, within = divmod(place, BLOCK)
        if block >= count:
            return rest[place - count * BLOCK]
        joined, starts = self._blocks[block]
        return joined[starts[within] : starts[within + 1]]

    def _fact(self, entry: bytes) -> Fact:
        number, t, _ = HEAD.unpack_from(entry)
        head = self._heads[number]
        fact: Fact = head[0](head, self.names[t - 1], t, entry)
        return fact


# -- the usual events; each pack returns None for an event that is not as usual -------------------------------------


def _pack_enrolled(log: PackedLog, fact: Enrolled, t: int, before: int) -> bytes | None:
    context = fact.context
    if type(context) is not Values or fact.round != t:
        return None
    number = log.head((_enrolled, context.labels))
    return None if number is None else HEAD.pack(number, t, before) + context.packed


def _enrolled(head: Head, unit: str, t: int, entry: bytes) -> Enrolled:
    return new_enrolled((unit, t, Values(head[1], entry[HEAD.size :])))


def _pack_responded(log: PackedLog, fact: Responded, t: int, before: int) -> bytes | None:
    _, stage, context = fact
    if type(context) is not Values:
        return None
    number = log.head((_responded, stage, context.labels))
    return None if number is None else HEAD.pack(number, t, before) + context.packed


def _responded(head: Head, unit: str, t: int, entry: bytes) -> Responded:  # noqa: ARG001  # one signature
    return new_responded((unit, head[1], Values(head[2], entry[HEAD.size :])))


def _pack_completed(log: PackedLog, fact: Completed, t: int, before: int) -> bytes | None:
    number = log.head((_completed,))
    if number is None or type(fact.outcome) is not float:
        return None
    return WITH_NUMBER.pack(number, t, before, fact.outcome)


def _completed(head: Head, unit: str, t: int, entry: bytes) -> Completed:  # noqa: ARG001  # one signature
    return new_completed((unit, NUMBER.unpack_from(entry, HEAD.size)[0]))


def _pack_assigned(log: PackedLog, fact: Assigned, t: int, before: int) -> bytes | None:
    _, t_again, stage, arm, reason, propensity, tilde, hat, contenders = fact.decision
    q_tilde = tilde if type(tilde) is Values else _as_values(tilde)
    q_hat = hat if type(hat) is Values else _as_values(hat)
    number = propensity
    if propensity is None:
        number = NONE
    elif type(propensity) is not float or propensity != propensity:
        return None
    if q_tilde is None or q_hat is None or type(contenders) is not tuple or type(reason) is not str or t_again != t:
        return None
    head = log.head((_assigned, stage, arm, reason, contenders, q_tilde.labels, q_hat.labels))
    return None if head is None else WITH_NUMBER.pack(head, t, before, number) + q_tilde.packed + q_hat.packed


def _assigned(head: Head, unit: str, t: int, entry: bytes) -> Assigned:
    _, stage, arm, reason, contenders, tilde, hat = head
    propensity = NUMBER.unpack_from(entry, HEAD.size)[0]
    if propensity != propensity:
        propensity = None
    start = WITH_NUMBER.size
    middle = start + 8 * len(tilde)
    q_tilde: QValues = Values(tilde, entry[start:middle])
    q_hat: QValues = Values(hat, entry[middle:])
    return new_assigned((new_decision((unit, t, stage, arm, reason, propensity, q_tilde, q_hat, contenders)),))


def _as_values(numbers: QValues) -> Values[float | None] | None:
    """Return a dict of plain floats as what holds them packed."""
    usual = type(numbers) is dict and all(q is None or (type(q) is float and q == q) for q in numbers.values())
    return Values(tuple(numbers), tuple(numbers.values())) if usual else None


PACKS: dict[type, Callable[[PackedLog, Any, int, int], bytes | None]] = {
    Enrolled: _pack_enrolled,
    Assigned: _pack_assigned,
    Responded: _pack_responded,
    Completed: _pack_completed,
}


# -- all others ------------------------------------------------------------------------------------------------


def _without_unit(fact: Fact) -> tuple[Any, ...]:
    return tuple(fact.decision if isinstance(fact, Assigned) else fact)[1:]


def _any_fact(head: Head, unit: str, t: int, entry: bytes) -> Fact:  # noqa: ARG001  # one signature
    kind, content = pickle.loads(entry[HEAD.size :])
    fact: Fact = Assigned(Decision(unit, *content)) if kind is Assigned else kind(unit, *content)
    return fact
