"""Arrays that Python lends to kernels, as one table of their addresses.

An entry needs 0.1 µs to unpack an array object. A table of the addresses of arrays is one array, however many there
are. Arrays come in groups: a named tuple of named tuples. Machine code opens the table once and finds each group behind
a pointer (``opened.py``). Plain Python opens it by looking up what was lent with it.
"""

from __future__ import annotations

import weakref
from collections.abc import Iterable
from typing import Any, Generic, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

Groups = TypeVar("Groups")  # a named tuple of named tuples of arrays
Table = NDArray[np.int64]
_LENT: dict[int, tuple[Any, ...]] = {}  # groups of arrays by the identity of their table
LAYOUT = ("meminfo", "parent", "nitems", "itemsize", "data", "shape", "strides")  # of an array in machine code


def lend(groups: tuple[Any, ...], like: tuple[Any, ...]) -> Table:
    """Return a table of groups of arrays, each as machine code lays it out, owned by nobody. It keeps them alive.

    They must have the types of those in ``like`` and be writable, since nothing stops a kernel from writing.
    """
    words: list[int] = []
    for group, example in zip(groups, like, strict=True):
        words += _addresses(group, example)
    table = np.array(words, dtype=np.int64)
    _LENT[id(table)] = groups
    weakref.finalize(table, _LENT.pop, id(table), None).atexit = False
    return table


def _addresses(arrays: Iterable[NDArray[Any]], like: Iterable[NDArray[Any]]) -> list[int]:
    words: list[int] = []
    for array, example in zip(arrays, like, strict=True):
        if (array.dtype, array.ndim) != (example.dtype, example.ndim):
            raise TypeError(f"found {array.dtype} of {array.ndim} axes, expected {example.dtype} of {example.ndim}")
        if not array.flags.carray:
            raise TypeError("found an array that is read-only or not laid out row by row, expected one to write into")
        address = array.__array_interface__["data"][0]
        words += [0, 0, array.size, array.itemsize, address, *array.shape, *array.strides]
    return words


class Opener(Generic[Groups]):
    """Opens a table inside an entry; ``example`` has the names of the groups and the names and types of the arrays.

    In machine code the pointers die with the entry: each entry opens its table itself.
    """

    def __init__(self, example: Groups) -> None:
        self.example = example

    def __call__(self, table: Table) -> Groups:
        """Return the groups as they were lent."""
        return cast("Groups", _LENT[id(table)])
