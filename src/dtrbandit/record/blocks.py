"""Entries of a log as bytes: many entries are few objects, so that the garbage collector has little to visit.

An entry is the number of its kind, a round, the place of the entry before it in the same round, and bytes of its own.
So the places lead from the last entry of a round back to its first. Entries are joined block by block.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from itertools import accumulate, pairwise
from struct import Struct
from typing import Any

from dtrbandit.kernels import constants as c

BUILT_FROM = c.BUILT_FROM
BLOCK = 1024  # entries
HEADER = Struct("=III")  # kind, round, place before
_pack = HEADER.pack


class Blocks:
    """Entries by their place, from 1, and all entries of each round. It only grows.

    Whatever interrupts an append, the entries before it can be read.
    """

    def __init__(self) -> None:
        self._last = array("I", [0])  # the place of each round's last entry
        self._joined: list[tuple[bytes, array[int]]] = []
        self._held: tuple[int, list[bytes]] = (0, [b""])  # how many blocks count, and the entries after them

    def __len__(self) -> int:
        count, rest = self._held
        return count * BLOCK + len(rest)

    def append(self, kind: int, t: int, own: bytes) -> None:
        """Add an entry of a round; a round begins after the one before it."""
        last, (count, rest) = self._last, self._held
        if t == len(last):
            last.append(0)
        if len(rest) == BLOCK:
            count, rest = self._join()
        before, last[t] = last[t], count * BLOCK + len(rest)
        rest.append(_pack(kind, t, before) + own)

    def _join(self) -> tuple[int, list[bytes]]:
        """Join the entries after the last block to a new block, which counts from one assignment on."""
        count, rest = self._held
        self._joined[count:] = [(b"".join(rest), array("I", accumulate(map(len, rest), initial=0)))]
        self._held = count + 1, []
        return self._held

    def between(self, start: int, stop: int) -> Iterator[bytes]:
        """Give the entries from one place to before another, block by block."""
        while start < stop:
            block, first = divmod(start, BLOCK)
            count, rest = self._held
            last = min(stop - block * BLOCK, BLOCK)
            if block < count:
                joined, starts = self._joined[block]
                yield from [joined[begin:end] for begin, end in pairwise(starts[first : last + 1])]
            else:
                yield from rest[first:last]
            start = block * BLOCK + last

    def of_round(self, t: int) -> list[bytes]:
        """Return all entries of a round, in order."""
        place, found = self._last[t], list[bytes]()
        while place:
            (entry,) = self.between(place, place + 1)
            found.append(entry)
            place = HEADER.unpack_from(entry)[2]
        return found[::-1]

    def __getstate__(self) -> tuple[Any, ...]:
        return self._last, self._joined, self._held

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        self._last, self._joined, self._held = state

    def __reduce__(self) -> tuple[Any, ...]:
        return Blocks, (), self.__getstate__()
