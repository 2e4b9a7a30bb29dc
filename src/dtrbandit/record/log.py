"""A log as it is read: some events of a packed log that goes on growing."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import overload

from dtrbandit.record.events import AMENDMENTS, Event, unit_of
from dtrbandit.record.packed import PackedLog


class Log(Sequence[Event]):
    """The events from one place to another, as a sequence that does not change. A slice copies nothing.

    Examples
    --------
    >>> from dtrbandit.record.events import Opened
    >>> log = Log(PackedLog(Opened({}, {}, 0, 1), [], {}), 0, 1)
    >>> log, log[-1].seed, log[1:] == []
    (<Log of 1 event>, 0, True)
    """

    __slots__ = ("_packed", "_places")

    def __init__(self, packed: PackedLog, start: int, stop: int) -> None:
        self._packed = packed
        self._places = range(start, max(start, stop))

    def __len__(self) -> int:
        return len(self._places)

    @overload
    def __getitem__(self, place: int) -> Event: ...

    @overload
    def __getitem__(self, place: slice) -> Sequence[Event]: ...

    def __getitem__(self, place: int | slice) -> Event | Sequence[Event]:
        if not isinstance(place, slice):
            return self._packed[self._places[place]]
        places = self._places[place]
        if places.step == 1:
            return Log(self._packed, places.start, places.stop)
        return [self._packed[each] for each in places]

    def __iter__(self) -> Iterator[Event]:
        return self._packed.events(self._places.start, self._places.stop)

    @property
    def amended(self) -> bool:
        """Whether its session has an amendment: something was said anew of a unit, it is void, or an arm is closed."""
        return self._packed.amended

    def kinds(self) -> Iterator[tuple[type, str]]:
        """Give the kind and the unit of each event."""
        return self._packed.kinds(self._places.start, self._places.stop)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Log) and other._packed is self._packed and other._places == self._places:
            return True
        if not isinstance(other, Sequence):
            return NotImplemented
        return len(self) == len(other) and all(mine == theirs for mine, theirs in zip(self, other, strict=True))

    __hash__ = None  # type: ignore[assignment]  # how Python says unhashable, and mypy cannot

    def __repr__(self) -> str:
        return f"<Log of {len(self):,} event{'' if len(self) == 1 else 's'}>"


def kinds(events: Sequence[Event]) -> Iterator[tuple[type, str]]:
    """Give the kind and the unit of events that are not checked yet; an empty text where there is no unit."""
    return events.kinds() if isinstance(events, Log) else ((type(event), unit_of(event)) for event in events)


def amended_units(events: Sequence[Event]) -> set[str]:
    """Return the units that are amended in events that are not checked yet; an empty text for an arm that is closed."""
    if isinstance(events, Log) and not events.amended:
        return set()
    return {unit for kind, unit in kinds(events) if kind in AMENDMENTS}
