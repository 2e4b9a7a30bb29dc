"""Entries of a log as bytes, one after the other in one object, so that the garbage collector has little to visit.

An entry is the number of its kind, a round, the place of the entry before it in the same round, and bytes of its own.
So the places lead from the last entry of a round back to its first.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from struct import Struct
from typing import Any

from dtrbandit.kernels import constants as c

BUILT_FROM = c.BUILT_FROM
HEADER = Struct("=III")  # kind, round, place before
_pack = HEADER.pack


class Entries:
    """Entries by their place, from 1, and all entries of each round. It only grows.

    Whatever interrupts an append, the entries before it can be read.
    """

    def __init__(self) -> None:
        self._bytes = bytearray()
        self._ends = array("Q", [0])  # of each entry; at place 0 there is none
        self._last = array("I", [0])  # the place of each round's last entry

    def __len__(self) -> int:
        return len(self._ends)

    def append(self, kind: int, t: int, own: bytes) -> None:
        """Add an entry of a round; a round begins after the one before it."""
        last, ends = self._last, self._ends
        if t == len(last):
            last.append(0)
        place = len(ends)
        end, entry = ends[place - 1], _pack(kind, t, last[t]) + own
        self._bytes[end:] = entry  # also in the place of half an entry
        ends.append(end + len(entry))
        last[t] = place

    def between(self, start: int, stop: int) -> Iterator[bytes]:
        """Give the entries from one place to before another."""
        for place in range(start, stop):
            yield bytes(self._bytes[self._ends[place - 1] : self._ends[place]])

    def of_round(self, t: int) -> list[bytes]:
        """Return all entries of a round, in order."""
        place, found = self._last[t], list[bytes]()
        while place:
            (entry,) = self.between(place, place + 1)
            found.append(entry)
            place = HEADER.unpack_from(entry)[2]
        return found[::-1]

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        self._bytes, self._ends, self._last = state

    def __reduce__(self) -> tuple[Any, ...]:
        return Entries, (), (self._bytes, self._ends, self._last)
