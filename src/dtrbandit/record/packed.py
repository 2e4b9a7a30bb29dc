"""A log in memory, packed: many events are few objects, so that the garbage collector has little to visit.

An event is packed into bytes: the number of its head, the round of its unit, the place of the event before it of the
same unit, and its own numbers. A head is what many events have in common, such as kind, labels, arm and reason; it is
kept once. The places lead from the last event of a unit back to its first. Bytes are joined block by block. Facts of
the trial as a whole, and of units of an earlier one, stand in round 0.
"""

from __future__ import annotations

import pickle
from array import array
from collections.abc import Callable, Collection, Iterable, Iterator
from functools import cache
from itertools import accumulate, pairwise
from struct import Struct
from typing import Any

import numpy as np

from dtrbandit.record.blocks import in_turn, laid_out, taken_apart
from dtrbandit.record.bundle import Bundle, Head, Integers, Unusual
from dtrbandit.record.events import (
    ArmClosed,
    Assigned,
    Completed,
    Corrected,
    Decision,
    Ended,
    Enrolled,
    Event,
    Excluded,
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
from dtrbandit.record.values import Values

BLOCK = 1024  # events
MOST_HEADS = 4096  # beyond these, what events have in common is not looked for
MOST_REASONS = 1024  # heads beyond which withdrawals get none: each may have a reason in its own words
NONE = float("nan")  # stands for no propensity, and for no outcome
HEAD = Struct("=III")  # head, round, place before
WITH_NUMBER = Struct("=IIId")  # and one number
NUMBER = Struct("=d")

Unpack = Callable[[Head, str, int, bytes], Fact]


class PackedLog:
    """Events by their place, from 0, and all events of each unit. It only grows.

    Whatever interrupts an append, the events before it can be read.
    """

    def __init__(self, opened: Opened) -> None:
        self.opened = opened
        self.names: list[str] = []  # of units, by round
        self.rounds: dict[str, int] = {}  # the reverse; numbers and texts are nothing to the garbage collector
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

    def append(self, fact: Fact, t: int) -> None:
        """Pack a fact of the unit of round ``t``, whose first one is its enrolment; with 0, one of the trial itself."""
        last, (count, rest) = self._last, self._held
        if type(fact) is Enrolled:
            self._welcome(fact.unit, t)
        entry = PACKS[type(fact)](self, fact, t, last[t])
        if len(rest) == BLOCK:
            count, rest = self._seal()
        last[t] = count * BLOCK + len(rest)
        rest.append(entry)

    def append_arrival(self, arrival: Enrolled | Responded, assigned: Assigned, t: int) -> None:
        """Pack an arrival and its decision: a verb takes 2 % less time than with one after the other."""
        last, (count, rest) = self._last, self._held
        if len(rest) > BLOCK - 2:
            self.append(arrival, t)
            self.append(assigned, t)
            return
        if type(arrival) is Enrolled:
            self._welcome(arrival.unit, t)
        place = count * BLOCK + len(rest)
        rest += _pack_usual(self, arrival, t, last[t]), _pack_usual(self, assigned, t, place)
        last[t] = place + 1

    def _welcome(self, unit: str, t: int) -> None:
        """Make room for a unit that enrols."""
        self.names.append(unit)
        self.rounds[unit] = t
        self._last.append(0)

    def extend(self, facts: Iterable[Fact], rounds: Iterable[int]) -> None:
        """Pack many facts, of the units of these rounds."""
        for fact, t in zip(facts, rounds, strict=True):
            self.append(fact, t)

    def add(self, bundle: Bundle, rounds: Integers) -> None:
        """Pack many usual facts in one step, of the units of these rounds."""
        numbers = [self.numbers.get(head) or self.new_head(head) for head in bundle.heads]
        if 0 in numbers:  # too many: what these facts have in common is not looked for
            self.extend(facts_of(bundle, rounds), rounds.tolist())
            return
        enrols = np.array([head[0] is _enrolled for head in bundle.heads])[bundle.which]
        newcomers = [bundle.units[i] for i in np.flatnonzero(enrols).tolist()]
        self.rounds.update(
            zip(newcomers, range(len(self.names) + 1, len(self.names) + 1 + len(newcomers)), strict=True)
        )
        self.names += newcomers
        self._last.extend([0] * len(newcomers))
        widths = np.array([width_of(head) for head in bundle.heads])[bundle.which]
        places = len(self) + np.arange(len(rounds))
        before, units, last = in_turn(rounds, places, np.frombuffer(self._last, dtype=np.uint32))
        header = np.column_stack((np.array(numbers)[bundle.which], rounds, before))
        self._add_entries(*laid_out(header, bundle.numbers, widths))
        np.frombuffer(self._last, dtype=np.uint32)[units] = last

    def _add_entries(self, joined: bytes, starts: list[int]) -> None:
        """Add entries that are joined already, and begin at these places; block by block."""
        done, entries = 0, len(starts) - 1
        while done < entries:
            count, rest = self._held
            if len(rest) == BLOCK:
                count, rest = self._seal()
            stop = min(done + BLOCK - len(rest), entries)
            if stop - done == BLOCK:
                own = array("I", [start - starts[done] for start in starts[done : stop + 1]])
                self._blocks[count:] = [(joined[starts[done] : starts[stop]], own)]
                self._held = count + 1, []
            else:
                rest += [joined[begin:end] for begin, end in pairwise(starts[done : stop + 1])]
            done = stop

    def _seal(self) -> tuple[int, list[bytes]]:
        """Join the events after the last block to a new block, which counts from one assignment on."""
        count, rest = self._held
        self._blocks[count:] = [(b"".join(rest), array("I", accumulate(map(len, rest), initial=0)))]
        self._held = count + 1, []
        return self._held

    def new_head(self, head: Head) -> int:
        """Return the number of a head that is not known yet, 0 if there are too many."""
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
            yield kind, self.names[t - 1] if t else ""

    def bundle(self, start: int, stop: int) -> Bundle:
        """Return the facts from one place to before another side by side; Unusual if not all of them are usual."""
        if not 0 < start < stop:
            raise Unusual
        header, numbers_of = taken_apart(list(self._entries(start, stop)))
        present, which = np.unique(header[:, 0], return_inverse=True)
        heads = [self.heads[number] for number in present.tolist()]
        if not all(head[0] in KINDS for head in heads):
            raise Unusual
        rounds = header[:, 1]
        says = np.array([KINDS[head[0]] in SAYS_ROUND for head in heads])
        units = [self.names[t - 1] for t in rounds.tolist()]
        numbers = numbers_of(np.array([width_of(head) for head in heads])[which])
        return Bundle(heads, which, units, np.where(says[which], rounds, 0), numbers)

    def types(self, start: int, stop: int) -> list[type]:
        """Return the kinds of the events from one place to before another; few of them must be unpacked for it."""
        known = [KINDS.get(head[0]) for head in self.heads]
        entries = list(self._entries(max(start, 1), stop))
        numbers = np.frombuffer(b"".join([entry[:4] for entry in entries]), dtype=np.uint32).tolist()
        kinds = [known[number] or type(self._fact(entry)) for number, entry in zip(numbers, entries, strict=True)]
        return [Opened, *kinds] if start == 0 < stop else kinds

    def fact(self, place: int) -> Fact:
        """Return the fact at a place, which is not the first."""
        (entry,) = self._entries(place, place + 1)
        return self._fact(entry)

    def story(self, t: int) -> list[Fact]:
        """Return all that happened to the unit of a round, with 0 to the trial itself, in order."""
        return [fact for _, fact in self.told(t)]

    def told(self, t: int) -> list[tuple[int, Fact]]:
        """Return the story of a round, each fact with its place in the log."""
        return [*self.told_backwards(t)][::-1]

    def told_backwards(self, t: int) -> Iterator[tuple[int, Fact]]:
        """Give the story of a round from its last fact on."""
        place = self._last[t]
        while place:
            (entry,) = self._entries(place, place + 1)
            yield place, self._fact(entry)
            place = HEAD.unpack_from(entry)[2]

    def last_place(self, t: int, kinds: Collection[type]) -> int:
        """Return the place of the last fact of a round that is of one of these kinds, 0 if there is none."""
        place = self._last[t]
        while place:
            (entry,) = self._entries(place, place + 1)
            number, _, before = HEAD.unpack_from(entry)
            if (KINDS.get(self.heads[number][0]) or type(self._fact(entry))) in kinds:
                break
            place = before
        return place

    def rounds_between(self, start: int, stop: int) -> Iterator[int]:
        """Give the rounds of the events from one place to before another; 0 for the trial itself."""
        return (HEAD.unpack_from(entry)[1] for entry in self._entries(max(start, 1), stop))

    def outlines(self, start: int, stop: int) -> Iterator[tuple[int, int, float]]:
        """Give of events the number of the head, the round, and the outcome, NaN where it is none."""
        for entry in self._entries(start, stop):
            number, t, _ = HEAD.unpack_from(entry)
            yield number, t, NUMBER.unpack_from(entry, HEAD.size)[0] if number == COMPLETED else NONE

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
        fact: Fact = head[0](head, self.names[t - 1] if t else "", t, entry)
        return fact


# -- the usual events: what is their own is numbers -------------------------------------------------------------------


def _pack_usual(log: PackedLog, fact: Fact, t: int, before: int) -> bytes:
    try:
        head, own = SPLITS[type(fact)](fact)
    except Unusual:
        return _pack_any(log, fact, t, before)
    number = log.numbers.get(head) or log.new_head(head)
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
    number = log.numbers.get(head) or log.new_head(head) if len(values) == len(contexts) else 0
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
SAYS_ROUND = Enrolled, Assigned  # facts that name the round of their unit
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


def width_of(head: Head) -> int:
    """Return how many numbers of its own a usual fact with this head has."""
    kind = KINDS[head[0]]
    if kind is Assigned:
        return 1 + len(head[6]) + len(head[7])
    return len(head[1]) if kind is Enrolled else len(head[2]) if kind is Responded else int(kind is Completed)


def head_of_enrolled(
    labels: tuple[str, ...], exclude: Excluded | None = None, reason: str | None = None, site: str | None = None
) -> Head:
    """Return the head of enrolments."""
    return _enrolled, labels, exclude and tuple(exclude.items()), reason, site


def head_of_responded(
    stage: str, labels: tuple[str, ...], exclude: Excluded | None = None, reason: str | None = None
) -> Head:
    """Return the head of responses."""
    return _responded, stage, labels, exclude and tuple(exclude.items()), reason


def head_of_assigned(said: tuple[object, ...], tilde: tuple[str, ...], hat: tuple[str, ...]) -> Head:
    """Return the head of decisions that say the same of stage, arm, reason, contenders and infeasible arms."""
    return _assigned, *said, tilde, hat


def head_of_withdrawn(reason: str) -> Head:
    """Return the head of withdrawals."""
    return _withdrawn, reason


def _split_enrolled(fact: Any) -> tuple[Head, bytes]:
    _, _, context, exclude, reason, site = fact
    if type(context) is not Values:
        raise Unusual
    return head_of_enrolled(context.labels, exclude, reason, site), context.packed


def _split_responded(fact: Any) -> tuple[Head, bytes]:
    _, stage, context, exclude, reason = fact
    if type(context) is not Values:
        raise Unusual
    return head_of_responded(stage, context.labels, exclude, reason), context.packed


def _split_assigned(fact: Assigned) -> tuple[Head, bytes]:
    _, _, stage, arm, reason, propensity, tilde, hat, contenders, infeasible = fact.decision
    if (
        type(tilde) is not Values
        or type(hat) is not Values
        or type(propensity) is not float
        or propensity != propensity
    ):
        plain = _plainly(fact.decision)
        if plain is None:
            raise Unusual
        propensity, tilde, hat = plain
    head = head_of_assigned((stage, arm, reason, contenders, infeasible), tilde.labels, hat.labels)
    return head, NUMBER.pack(propensity) + tilde.packed + hat.packed


# what a usual fact has in common with others, and its own numbers; Unusual if it has none such
SPLITS: dict[type, Callable[[Any], tuple[Head, bytes]]] = {
    Enrolled: _split_enrolled,
    Assigned: _split_assigned,
    Responded: _split_responded,
    Completed: lambda fact: (HEADS[COMPLETED], NUMBER.pack(fact.outcome)),
    Withdrawn: lambda fact: (head_of_withdrawn(fact.reason), b""),
}


def facts_of(bundle: Bundle, rounds: Integers) -> Iterator[Fact]:
    """Give the facts of a bundle, of the units of these rounds."""
    for number, unit, t, own in zip(bundle.which.tolist(), bundle.units, rounds.tolist(), bundle.numbers, strict=True):
        head = bundle.heads[number]
        yield head[0](head, unit, t, bytes(HEAD.size) + own[: width_of(head)].tobytes())
