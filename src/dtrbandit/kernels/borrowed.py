"""Arrays that Python lends to kernels: a table of addresses in, one pointer on, whatever their number.

An array object costs an entry 0.1 µs to unpack; a table of the addresses of arrays is one array. Machine code opens
the table once and finds the arrays by name behind a pointer (``machine.py``). Plain Python opens it by looking up
which arrays were lent with it.
"""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

Arrays = TypeVar("Arrays", bound=tuple[Any, ...])
_LENT: dict[int, tuple[tuple[Any, ...], ...]] = {}  # groups of arrays by the identity of their table


def lend(groups: Sequence[tuple[Any, ...]], like: Sequence[tuple[Any, ...]]) -> NDArray[np.int64]:
    """Return a table of groups of arrays: the address and the shape of each. It keeps them alive.

    They must have the types of those in ``like`` and be writable, since nothing stops a kernel from writing.
    """
    words: list[int] = []
    for group, example in zip(groups, like, strict=True):
        words += _addresses(group, example)
    table = np.array(words, dtype=np.int64)
    _LENT[id(table)] = tuple(groups)
    weakref.finalize(table, _LENT.pop, id(table), None).atexit = False
    return table


def _addresses(arrays: Sequence[NDArray[Any]], like: Sequence[NDArray[Any]]) -> list[int]:
    words: list[int] = []
    for array, example in zip(arrays, like, strict=True):
        if (array.dtype, array.ndim) != (example.dtype, example.ndim):
            raise TypeError(f"found {array.dtype} of {array.ndim} axes, expected {example.dtype} of {example.ndim}")
        if not array.flags.carray:
            raise TypeError("found an array that is read-only or not laid out row by row, expected one to write into")
        words += [array.__array_interface__["data"][0], *array.shape]
    return words


class Opener(Generic[Arrays]):
    """Opens one group of a table; ``example`` has its names and types, ``after`` is like the groups before it."""

    def __init__(self, example: Arrays, *, after: Sequence[tuple[Any, ...]] = ()) -> None:
        self.example = example
        self.place = len(after)
        self.start = sum(1 + array.ndim for group in after for array in group)  # words before it in the table

    def __call__(self, table: NDArray[np.int64]) -> Arrays:
        """Return the arrays as they were lent."""
        group: Any = _LENT[id(table)][self.place]
        return group
