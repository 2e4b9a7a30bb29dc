"""Events that were read as JSON objects: usual ones are taken side by side, column by column."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from itertools import chain
from types import NoneType
from typing import Any

import numpy as np

from dtrbandit.kernels.arrays import Matrix
from dtrbandit.record import codec, packed
from dtrbandit.record.bundle import Bundle, Head, HeadCounter, Integers, Unusual, require_usual
from dtrbandit.record.events import Event
from dtrbandit.record.reading import ASSIGNED, Entries, Order, Reader
from dtrbandit.record.sequences import Bundled, usual_runs

# the entries of usual events, sorted
ENROLLED = ("context", "event", "round", "unit")
ENROLLED_AT_SITE = ("context", "event", "format", "round", "site", "unit")
RESPONDED = ("context", "event", "stage", "unit")
COMPLETED = ("event", "outcome", "unit")
WITHDRAWN = ("event", "reason", "unit")
FORMAT_WITH_SITE = codec.SINCE["Enrolled.site"]


def pieces_of(reader: Reader, documents: list[Entries], shortest: int) -> Iterator[Sequence[Event]]:
    """Give the events that JSON objects describe: many usual ones in a row side by side, all others in a list."""
    names = [entries.get("event") for entries in documents]
    for usual, start, stop in usual_runs([type(name) is str and name in READS for name in names], shortest):
        own = documents[start:stop]
        bundle = _bundle_of(reader, own) if usual else None
        yield Bundled(bundle) if bundle else [reader.event(entries) for entries in own]


def _bundle_of(reader: Reader, documents: list[Entries]) -> Bundle | None:
    """Return events of usual kinds side by side; None if there is more to them than usual."""
    try:
        return _Columns(reader, documents).bundle()
    except (Unusual, KeyError, TypeError, OverflowError):  # entries are missing, or hold what no usual event does
        return None


class _Columns:
    """The entries of usual events, column by column."""

    def __init__(self, reader: Reader, entries: list[Entries]) -> None:
        self._reader, self._entries = reader, entries
        self._number_of = HeadCounter()
        self._which = np.zeros(len(entries), dtype=np.int64)
        self._said = np.zeros(len(entries), dtype=np.int64)
        self._numbers: list[tuple[Integers, Matrix]] = []  # of events at some places

    def bundle(self) -> Bundle:
        places: dict[str, list[int]] = {name: [] for name in READS}
        for i, entries in enumerate(self._entries):
            places[entries["event"]].append(i)
        for name, own in places.items():
            if own:
                READS[name](self, np.array(own), [self._entries[i] for i in own])
        found = [entries["unit"] for entries in self._entries]
        require_usual({str}.issuperset(map(type, found)))
        units = list(map(self._reader.names.setdefault, found, found))
        most = max((rows.shape[1] for _, rows in self._numbers), default=0)
        numbers = np.full((len(units), most), np.nan)
        for at, rows in self._numbers:
            numbers[at, : rows.shape[1]] = rows
        return Bundle(self._number_of.heads, self._which, units, self._said, numbers)

    def enrolled(self, at: Integers, own: list[Entries]) -> None:
        require_usual({ENROLLED, ENROLLED_AT_SITE}.issuperset(map(tuple, own)))
        at_site = [entries for entries in own if len(entries) == len(ENROLLED_AT_SITE)]
        require_usual(
            all(type(entries["site"]) is str and entries["format"] == FORMAT_WITH_SITE for entries in at_site)
        )
        require_usual(all(type(entries["format"]) is int for entries in at_site))
        order = self._reader.first
        if order is None:
            raise Unusual
        self._said[at] = _whole_numbers([entries["round"] for entries in own])
        contexts = [entries["context"] for entries in own]
        keys = list(zip(map(tuple, contexts), [entries.get("site") for entries in own], strict=True))
        self._note_heads(at, keys, lambda key: packed.head_of_enrolled(_labels(order, key[0]), site=key[1]))
        self._note_contexts(order, at, contexts)

    def responded(self, at: Integers, own: list[Entries]) -> None:
        require_usual({RESPONDED}.issuperset(map(tuple, own)))
        stages, contexts = [entries["stage"] for entries in own], [entries["context"] for entries in own]
        orders = self._reader.columns
        keys = list(zip(stages, map(tuple, contexts), strict=True))
        self._note_heads(at, keys, lambda key: packed.head_of_responded(key[0], _labels(orders[key[0]], key[1])))
        for stage in set(stages):
            places = [i for i, each in enumerate(stages) if each == stage]
            self._note_contexts(orders[stage], at[places], [contexts[i] for i in places])

    def assigned(self, at: Integers, own: list[Entries]) -> None:
        require_usual({ASSIGNED}.issuperset(map(tuple, own)))
        columns = zip(*[entries.values() for entries in own], strict=True)
        arms, contenders, _, chances, hats, tildes, reasons, rounds, stages, _ = columns
        require_usual({list}.issuperset(map(type, contenders)) and {float}.issuperset(map(type, chances)))
        self._said[at] = _whole_numbers(rounds)
        orders = self._reader.arms
        said = list(zip(stages, arms, reasons, map(tuple, contenders), ((),) * len(own), strict=True))
        self._note_heads(at, said, lambda key: _head_of_assigned(orders, key))
        for stage in set(stages):
            places, order = [i for i, each in enumerate(stages) if each == stage], orders[stage]
            chance = np.array([[chances[i]] for i in places])
            estimates = [_rows(order, order.as_text, [each[i] for i in places], EMPTY_TOO) for each in (tildes, hats)]
            self._numbers.append((at[places], np.hstack((chance, *estimates))))

    def completed(self, at: Integers, own: list[Entries]) -> None:
        require_usual({COMPLETED}.issuperset(map(tuple, own)))
        outcomes = [entries["outcome"] for entries in own]
        require_usual({float}.issuperset(map(type, outcomes)))
        self._which[at] = self._number_of(packed.HEADS[packed.COMPLETED])
        self._numbers.append((at, np.array(outcomes)[:, None]))

    def withdrawn(self, at: Integers, own: list[Entries]) -> None:
        require_usual({WITHDRAWN}.issuperset(map(tuple, own)))
        reasons = [entries["reason"] for entries in own]
        require_usual({str}.issuperset(map(type, reasons)))
        self._note_heads(at, reasons, packed.head_of_withdrawn)

    def _note_heads(self, at: Integers, keys: Sequence[Any], head_of: Callable[[Any], Head]) -> None:
        """Note the heads of events; those with equal keys have the same."""
        known: dict[Hashable, int] = {key: self._number_of(head_of(key)) for key in set(keys)}
        self._which[at] = [known[key] for key in keys]

    def _note_contexts(self, order: Order, at: Integers, contexts: list[Any]) -> None:
        """Note the numbers of contexts; those who leave early may report some columns alone."""
        shapes = list(map(tuple, contexts))
        for shape in set(shapes):
            places = [i for i, each in enumerate(shapes) if each == shape]
            self._numbers.append((at[places], _rows(order, shape, [contexts[i] for i in places], {float})))


EMPTY_TOO: set[type] = {float, NoneType}
READS: dict[str, Callable[[_Columns, Integers, list[Entries]], None]] = {
    "Enrolled": _Columns.enrolled,
    "Responded": _Columns.responded,
    "Assigned": _Columns.assigned,
    "Completed": _Columns.completed,
    "Withdrawn": _Columns.withdrawn,
}


def _whole_numbers(found: Sequence[Any]) -> Integers:
    require_usual({int}.issuperset(map(type, found)))
    return np.array(found, dtype=np.int64)


def _labels(order: Order, shape: tuple[str, ...]) -> tuple[str, ...]:
    """Return the labels of a context, as a text has them, in the order in which their numbers are kept."""
    require_usual(list(shape) == [label for label in order.as_text if label in shape])
    return order.labels if len(shape) == len(order.labels) else tuple(label for label in order.labels if label in shape)


def _rows(order: Order, shape: tuple[str, ...], found: Sequence[Any], kinds: set[type]) -> Matrix:
    """Return the numbers of objects that have the labels of a shape, in the order in which they are kept."""
    require_usual({dict}.issuperset(map(type, found)) and {shape}.issuperset(map(tuple, found)))
    numbers = list(chain.from_iterable([each.values() for each in found]))
    require_usual(kinds.issuperset(map(type, numbers)))
    rows = np.array(numbers, dtype=np.float64).reshape(len(found), len(shape))
    return rows[:, [shape.index(label) for label in _labels(order, shape)]]


def _head_of_assigned(orders: dict[str, Order], said: tuple[Any, ...]) -> Head:
    stage, arm, reason, contenders, _ = said
    require_usual({str}.issuperset(map(type, (stage, arm, reason, *contenders))))
    labels = orders[stage].labels
    return packed.head_of_assigned(said, labels, labels)
