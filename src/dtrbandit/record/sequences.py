"""Sequences of events that are built only when somebody looks at one."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, groupby
from typing import overload

from dtrbandit.record.bundle import Bundle, joined
from dtrbandit.record.events import Event, unit_of
from dtrbandit.record.packed import KINDS, facts_of


class Unbuilt(Sequence[Event]):
    """Events whose kinds and units are known before they are built."""

    __slots__ = ()

    @abstractmethod
    def types(self) -> list[type]:
        """Return the kinds of the events."""

    @abstractmethod
    def kinds(self) -> Iterator[tuple[type, str]]:
        """Give the kind and the unit of each event; an empty text where there is no unit."""


def types(events: Sequence[Event]) -> list[type]:
    """Return the kinds of events that are not checked yet."""
    return events.types() if isinstance(events, Unbuilt) else list(map(type, events))


def kinds(events: Sequence[Event]) -> Iterator[tuple[type, str]]:
    """Give the kind and the unit of events that are not checked yet; an empty text where there is no unit."""
    return events.kinds() if isinstance(events, Unbuilt) else ((type(event), unit_of(event)) for event in events)


def usual_runs(usual: Sequence[bool], shortest: int) -> Iterator[tuple[bool, int, int]]:
    """Cut a row where something is not usual; give of each run whether it is, where it begins and where it ends.

    Usual runs shorter than ``shortest`` are not worth being looked at together: they are left with their neighbours.
    """
    start = stop = 0  # of what is left with its neighbours
    for is_usual, group in groupby(usual):
        count = len(list(group))
        if is_usual and count >= shortest:
            if start < stop:
                yield False, start, stop
            yield True, stop, stop + count
            start = stop + count
        stop += count
    if start < stop:
        yield False, start, stop


class Bundled(Unbuilt):
    """Usual events side by side, as a sequence."""

    __slots__ = ("bundle",)

    def __init__(self, bundle: Bundle) -> None:
        self.bundle = bundle

    def __len__(self) -> int:
        return len(self.bundle.units)

    @overload
    def __getitem__(self, place: int) -> Event: ...

    @overload
    def __getitem__(self, place: slice) -> Bundled: ...

    def __getitem__(self, place: int | slice) -> Event | Bundled:
        if not isinstance(place, slice):
            place = range(len(self))[place]
            return next(iter(self[place : place + 1]))
        heads, which, units, said, numbers = self.bundle
        return Bundled(Bundle(heads, which[place], units[place], said[place], numbers[place]))

    def __iter__(self) -> Iterator[Event]:
        return facts_of(self.bundle, self.bundle.said)

    def types(self) -> list[type]:  # noqa: D102  # as Unbuilt says
        kinds = [KINDS[head[0]] for head in self.bundle.heads]
        return [kinds[number] for number in self.bundle.which.tolist()]

    def kinds(self) -> Iterator[tuple[type, str]]:  # noqa: D102  # likewise
        return zip(self.types(), self.bundle.units, strict=True)


class Pieces(Unbuilt):
    """Events in pieces, each of them Bundled or a list. No decision is the first of a piece.

    Small pieces are joined to larger ones, which are taken in less time.
    """

    __slots__ = ("pieces",)

    def __init__(self, pieces: Iterable[Sequence[Event]], most: int = 8_192) -> None:
        self.pieces: list[Sequence[Event]] = []
        for _, alike in groupby(pieces, type):
            for some in _up_to(alike, most):
                bundles = [piece.bundle for piece in some if isinstance(piece, Bundled)]
                self.pieces.append(Bundled(joined(bundles)) if bundles else list(chain.from_iterable(some)))

    def __len__(self) -> int:
        return sum(map(len, self.pieces))

    @overload
    def __getitem__(self, place: int) -> Event: ...

    @overload
    def __getitem__(self, place: slice) -> Pieces: ...

    def __getitem__(self, place: int | slice) -> Event | Pieces:
        if not isinstance(place, slice):
            place = range(len(self))[place]
            return next(iter(self[place : place + 1]))
        places, start, pieces = range(len(self))[place], 0, list[Sequence[Event]]()
        if places.step != 1:
            raise ValueError(f"events come in a row, found steps of {places.step}")
        for piece in self.pieces:
            own = piece[max(places.start - start, 0) : max(places.stop - start, 0)]
            pieces += [own] if own else []
            start += len(piece)
        return Pieces(pieces)

    def __iter__(self) -> Iterator[Event]:
        return chain.from_iterable(self.pieces)

    def types(self) -> list[type]:  # noqa: D102  # likewise
        return list(chain.from_iterable(map(types, self.pieces)))

    def kinds(self) -> Iterator[tuple[type, str]]:  # noqa: D102  # likewise
        return chain.from_iterable(map(kinds, self.pieces))


def _up_to(pieces: Iterable[Sequence[Event]], most: int) -> Iterator[list[Sequence[Event]]]:
    """Give pieces together until they have so many events."""
    some: list[Sequence[Event]] = []
    for piece in pieces:
        some.append(piece)
        if sum(map(len, some)) >= most:
            yield some
            some = []
    if some:
        yield some
