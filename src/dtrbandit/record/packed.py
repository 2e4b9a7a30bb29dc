"""A log in memory, packed: many events are few objects, so that the garbage collector has little to visit.

An event is packed into bytes: the number of its head, the round of its unit, the place of the event before it of the
same unit, and its own numbers. A head is what many events have in common, such as kind, labels, arm and reason; it is
kept once. The places lead from the last event of a unit back to its first. Bytes are joined block by block. Facts of
the trial as a whole, and of units of an earlier one, stand in round 0.
"""

from __future__ import annotations

import pickle
from array import array
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from itertools import accumulate, pairwise
from struct import Struct
from typing import Any

from dtrbandit.record.events import (
    ArmClosed,
    Assigned,
    Completed,
    Corrected,
    Decision,
    Ended,
    Enrolled,
    Event,
    Fact,
    Held,
    Opened,
    Overridden,
    QValues,
    Released,
    Responded,
    Taught,
    TrialFact,
    Unblinded,
    Upgraded,
    Voided,
    Withdrawn,
    new,
)
from dtrbandit.record.histories import History
from dtrbandit.record.values import Values

BLOCK = 1024  # events
MOST_HEADS = 4096  # beyond these, what events have in common is not looked for
MOST_REASONS = 1024  # heads beyond which withdrawals get none: each may have a reason in its own words
NONE = float("nan")  # stands for no propensity, and for no outcome
HEAD = Struct("=III")  # head, round, place before
WITH_NUMBER = Struct("=IIId")  # and one number
NUMBER = Struct("=d")

Head = tuple[Any, ...]  # what unpacks an event, then what many events have in common
Unpack = Callable[[Head, str, int, bytes], Fact]


class PackedLog:
    """Events by their place, from 0, and all events of each unit. It only grows.

    ``names`` are the units by round and ``rounds`` the reverse, which whoever appends keeps up to date. Whatever
    interrupts an append, the events before it can be read.
    """

    def __init__(self, opened: Opened, names: list[str], rounds: Mapping[str, int]) -> None:
        self.opened, self._names, self._rounds = opened, names, rounds
        self._last = array("I", [0])  # the place of each unit's last event, by round; first the trial's own
        self.heads: list[Head] = list(HEADS)
        self.numbers: dict[Head, int] = {HEADS[COMPLETED]: COMPLETED}  # of heads, where they are looked for
        self._blocks: list[tuple[bytes, array[int]]] = []
        self.amended = False  # whether there is an amendment, or a closed arm, anywhere
        self._held: tuple[int, list[bytes]] = (0, [b""])  # how many blocks count, and the events after them

    def __len__(self) -> int:
        count, rest = self._held
        return count * BLOCK + len(rest)

    # -- writing ---------------------------------------------------------------------------------------------

    def append(self, fact: Fact, history: History) -> None:
        """Pack a fact of the unit of a history, whose first one is its enrolment; or one of the trial itself."""
        self.append_of(fact, history.round)

    def append_of(self, fact: Fact, t: int) -> None:
        """Pack a fact of the unit of a round; 0 for the trial itself."""
        if t == len(self._last):
            self._last.append(0)
        self._append(PACKS[type(fact)](self, fact, t, self._last[t]), t)

    def append_arrival(self, t: int, arrival: int, context: bytes, decision: int, numbers: bytes) -> None:
        """Pack an arrival and its decision, by the numbers of their heads and what is their own.

        A whole unit takes a tenth less time than by ``append_of``.
        """
        last, (count, rest) = self._last, self._held
        if t == len(last):
            last.append(0)
        if len(rest) > BLOCK - 2:
            self._append(HEAD.pack(arrival, t, last[t]) + context, t)
            self._append(HEAD.pack(decision, t, last[t]) + numbers, t)
            return
        place = count * BLOCK + len(rest)
        rest += HEAD.pack(arrival, t, last[t]) + context, HEAD.pack(decision, t, place) + numbers
        last[t] = place + 1

    def append_completed(self, t: int, outcome: float) -> None:
        """Pack the outcome of a unit."""
        self._append(WITH_NUMBER.pack(COMPLETED, t, self._last[t], outcome), t)

    def _append(self, entry: bytes, t: int) -> None:
        count, rest = self._held
        if len(rest) == BLOCK:
            count, rest = self._seal()
        self._last[t] = count * BLOCK + len(rest)
        rest.append(entry)

    def _seal(self) -> tuple[int, list[bytes]]:
        """Join the events after the last block to a new block, which counts from one assignment on."""
        count, rest = self._held
        self._blocks[count:] = [(b"".join(rest), array("I", accumulate(map(len, rest), initial=0)))]
        self._held = count + 1, []
        return self._held

    def number_of(self, head: Head) -> int:
        """Return the number of a head, 0 if there are too many."""
        return self.numbers.get(head) or self._new_head(head)

    def _new_head(self, head: Head) -> int:
        number = len(self.heads)
        if number == MOST_HEADS or (number >= MOST_REASONS and head[0] is _withdrawn):
            return 0
        self.heads.append(head)
        self.numbers[head] = number  # last: a number that is known has its head
        return number

    # -- reading ---------------------------------------------------------------------------------------------

    def __getitem__(self, place: int) -> Event:
        return next(self.events(place, place + 1))

    def events(self, start: int, stop: int) -> Iterator[Event]:
        """Give the events from one place to before another."""
        if start == 0 < stop:
            yield self.opened
        yield from map(self._fact, self._entries(max(start, 1), stop))

    def kinds(self, start: int, stop: int) -> Iterator[tuple[type, str]]:
        """Give the kind and the unit of the events between two places; few of them must be unpacked for it."""
        if start == 0 < stop:
            yield Opened, ""
        for entry in self._entries(max(start, 1), stop):
            number, t, _ = HEAD.unpack_from(entry)
            kind = KINDS.get(self.heads[number][0]) or type(self._fact(entry))
            yield kind, self._names[t - 1] if t else ""

    def of_unit(self, unit: str) -> list[Fact]:
        """Return all that happened to a unit, in order."""
        place, found = self._last[self._rounds[unit]], list[Fact]()
        while place:
            (entry,) = self._entries(place, place + 1)
            found.append(self._fact(entry))
            place = HEAD.unpack_from(entry)[2]
        return found[::-1]

    def _entries(self, start: int, stop: int) -> Iterator[bytes]:
        """Give events as bytes, block by block."""
        while start < stop:
            block, first = divmod(start, BLOCK)
            count, rest = self._held
            last = min(stop - block * BLOCK, BLOCK)
            if block < count:
                joined, starts = self._blocks[block]
                yield from [joined[begin:end] for begin, end in pairwise(starts[first : last + 1])]
            else:
                yield from rest[first:last]
            start = block * BLOCK + last

    def _fact(self, entry: bytes) -> Fact:
        number, t, _ = HEAD.unpack_from(entry)
        head = self.heads[number]
        fact: Fact = head[0](head, self._names[t - 1] if t else "", t, entry)
        return fact


# -- the usual events: what is their own is numbers -------------------------------------------------------------------


def _pack_usual(log: PackedLog, fact: Fact, t: int, before: int) -> bytes:
    parted = SPLITS[type(fact)](fact)
    if parted is None:
        return _pack_any(log, fact, t, before)
    head, own = parted
    number = log.number_of(head)
    return HEAD.pack(number, t, before) + own if number else _pack_any(log, fact, t, before)


def _enrolled(head: Head, unit: str, t: int, entry: bytes) -> Enrolled:
    _, labels, exclude, reason, site = head
    return new(Enrolled, (unit, t, Values(labels, entry[HEAD.size :]), exclude and dict(exclude), reason, site))


def _responded(head: Head, unit: str, t: int, entry: bytes) -> Responded:  # noqa: ARG001  # one signature
    _, stage, labels, exclude, reason = head
    return new(Responded, (unit, stage, Values(labels, entry[HEAD.size :]), exclude and dict(exclude), reason))


def _completed(head: Head, unit: str, t: int, entry: bytes) -> Completed:  # noqa: ARG001  # one signature
    return new(Completed, (unit, NUMBER.unpack_from(entry, HEAD.size)[0]))


def _withdrawn(head: Head, unit: str, t: int, entry: bytes) -> Withdrawn:  # noqa: ARG001  # one signature
    return Withdrawn(unit, head[1])


def _assigned(head: Head, unit: str, t: int, entry: bytes) -> Assigned:
    _, stage, arm, reason, contenders, infeasible, tilde, hat = head
    propensity, q_tilde, q_hat = _reader(len(tilde), len(hat)).unpack(entry)
    if propensity != propensity:
        propensity = None
    q_tilde, q_hat = Values(tilde, q_tilde), Values(hat, q_hat)
    decision = new(Decision, (unit, t, stage, arm, reason, propensity, q_tilde, q_hat, contenders, infeasible))
    return new(Assigned, (decision,))


@cache
def _reader(tilde: int, hat: int) -> Struct:
    """Return what reads a propensity, then so many numbers of Q̃ and of Q̂, as bytes."""
    return Struct(f"={HEAD.size}xd{8 * tilde}s{8 * hat}s")


def _plainly(decision: Decision) -> tuple[float, Values[float | None], Values[float | None]] | None:
    """Return propensity and estimates as they are packed, None if they cannot be."""
    _, _, _, _, reason, propensity, tilde, hat, contenders, infeasible = decision
    if type(reason) is not str or type(contenders) is not tuple or type(infeasible) is not tuple:
        return None
    number = NONE if propensity is None else propensity
    if type(number) is not float or (number != number and propensity is not None):
        return None
    q_tilde, q_hat = _as_values(tilde), _as_values(hat)
    return None if q_tilde is None or q_hat is None else (number, q_tilde, q_hat)


def _as_values(numbers: QValues) -> Values[float | None] | None:
    """Return Values, or a dict of plain floats as Values; None for anything else."""
    if isinstance(numbers, Values):
        return numbers
    usual = type(numbers) is dict and all(q is None or (type(q) is float and q == q) for q in numbers.values())
    return Values(tuple(numbers), tuple(numbers.values())) if usual else None


# -- units of an earlier trial ------------------------------------------------------------------------------------


def _pack_taught(log: PackedLog, fact: Taught, t: int, before: int) -> bytes:
    """Pack what happened to a unit; its name, which is nowhere else, comes last."""
    unit, contexts, arms, outcome = fact
    values = [context for context in contexts if type(context) is Values]
    head = (_taught, tuple([each.labels for each in values]), arms, outcome is None)
    number = log.number_of(head) if len(values) == len(contexts) else 0
    if not number:
        return _pack_of_trial(log, fact, t, before)
    packed = b"".join([each.packed for each in values])
    return WITH_NUMBER.pack(number, t, before, NONE if outcome is None else outcome) + packed + unit.encode()


def _taught(head: Head, unit: str, t: int, entry: bytes) -> Taught:  # noqa: ARG001  # one signature
    _, labels, arms, dropped_out = head
    place = WITH_NUMBER.size
    contexts: list[Values[float]] = []
    for each in labels:
        contexts.append(Values(each, entry[place : place + NUMBER.size * len(each)]))
        place += NUMBER.size * len(each)
    outcome = None if dropped_out else NUMBER.unpack_from(entry, HEAD.size)[0]
    return Taught(entry[place:].decode(), tuple(contexts), arms, outcome)


# -- all others --------------------------------------------------------------------------------------------------


def _pack_any(log: PackedLog, fact: Fact, t: int, before: int) -> bytes:  # noqa: ARG001  # one signature
    content = tuple(fact.decision if isinstance(fact, Assigned) else fact)[1:]  # the unit's name is kept once
    return HEAD.pack(ANY, t, before) + pickle.dumps((type(fact), content))


def _pack_amendment(log: PackedLog, fact: Overridden | Corrected | Voided, t: int, before: int) -> bytes:
    log.amended = True
    return _pack_any(log, fact, t, before)


def _pack_closing(log: PackedLog, fact: ArmClosed, t: int, before: int) -> bytes:
    log.amended = True
    return _pack_of_trial(log, fact, t, before)


def _any(head: Head, unit: str, t: int, entry: bytes) -> Fact:  # noqa: ARG001  # one signature
    kind, content = pickle.loads(entry[HEAD.size :])
    fact: Fact = Assigned(Decision(unit, *content)) if kind is Assigned else kind(unit, *content)
    return fact


def _pack_of_trial(log: PackedLog, fact: TrialFact | Taught, t: int, before: int) -> bytes:  # noqa: ARG001  # one signature
    return HEAD.pack(OF_TRIAL, t, before) + pickle.dumps((type(fact), tuple(fact)))


def _of_trial(head: Head, unit: str, t: int, entry: bytes) -> TrialFact | Taught:  # noqa: ARG001  # one signature
    kind, content = pickle.loads(entry[HEAD.size :])
    fact: TrialFact | Taught = kind(*content)
    return fact


ANY, COMPLETED, OF_TRIAL = 0, 1, 2  # the numbers of these heads
HEADS: tuple[Head, ...] = (_any,), (_completed,), (_of_trial,)
KINDS: dict[Unpack, type] = {
    _enrolled: Enrolled,
    _assigned: Assigned,
    _responded: Responded,
    _completed: Completed,
    _withdrawn: Withdrawn,
}
PACKS: dict[type, Callable[[PackedLog, Any, int, int], bytes]] = {
    Enrolled: _pack_usual,
    Assigned: _pack_usual,
    Responded: _pack_usual,
    Completed: _pack_usual,
    Withdrawn: _pack_usual,
    Overridden: _pack_amendment,
    Corrected: _pack_amendment,
    Held: _pack_of_trial,
    Released: _pack_of_trial,
    ArmClosed: _pack_closing,
    Ended: _pack_of_trial,
    Upgraded: _pack_of_trial,
    Voided: _pack_amendment,
    Unblinded: _pack_any,
    Taught: _pack_taught,
}


# -- usual facts as a head and numbers ------------------------------------------------------------------------------


def head_of_arrival(stage: str | None, columns: tuple[str, ...]) -> Head:
    """Return the head of an arrival at a stage with these columns; None: an enrolment."""
    if stage is None:
        return _enrolled, columns, None, None, None
    return _responded, stage, columns, None, None


def head_of_decision(decision: Decision) -> Head:
    """Return the head of a decision by which nothing is infeasible."""
    _, _, stage, arm, reason, _, tilde, hat, contenders, _ = decision
    return _assigned, stage, arm, reason, contenders, (), tilde.labels, hat.labels  # type: ignore[attr-defined]  # Values


def _split_enrolled(fact: Any) -> tuple[Head, bytes] | None:
    _, _, context, exclude, reason, site = fact
    if type(context) is not Values:
        return None
    return (_enrolled, context.labels, exclude and tuple(exclude.items()), reason, site), context.packed


def _split_responded(fact: Any) -> tuple[Head, bytes] | None:
    _, stage, context, exclude, reason = fact
    if type(context) is not Values:
        return None
    return (_responded, stage, context.labels, exclude and tuple(exclude.items()), reason), context.packed


def _split_assigned(fact: Assigned) -> tuple[Head, bytes] | None:
    _, _, stage, arm, reason, propensity, tilde, hat, contenders, infeasible = fact.decision
    if (
        type(tilde) is not Values
        or type(hat) is not Values
        or type(propensity) is not float
        or propensity != propensity
    ):
        plain = _plainly(fact.decision)
        if plain is None:
            return None
        propensity, tilde, hat = plain
    head = _assigned, stage, arm, reason, contenders, infeasible, tilde.labels, hat.labels
    return head, NUMBER.pack(propensity) + tilde.packed + hat.packed


# what a usual fact has in common with others, and its own numbers; None if it has none such
SPLITS: dict[type, Callable[[Any], tuple[Head, bytes] | None]] = {
    Enrolled: _split_enrolled,
    Assigned: _split_assigned,
    Responded: _split_responded,
    Completed: lambda fact: (HEADS[COMPLETED], NUMBER.pack(fact.outcome)),
    Withdrawn: lambda fact: ((_withdrawn, fact.reason), b""),
}
