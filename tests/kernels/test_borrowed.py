"""Arrays that Python lends to kernels: found by name in a table, by plain kernels and by machine code."""

from __future__ import annotations

import gc
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from dtrbandit.kernels import borrowed
from dtrbandit.kernels.borrowed import Opener, lend
from dtrbandit.kernels.compile import Entry, kernel
from dtrbandit.kernels.machine import compile_here
from kernels.pairs import EXAMPLE, EXAMPLES, Pair, Pairs

open_pairs = Opener(EXAMPLES)


@kernel
def add_sum(first: Any, second: Any) -> None:
    """Add the sum of the first cube to a column of the second."""
    for i in range(second.cube.shape[0]):
        second.cube[i, 1, 2] += first.cube.sum() + 10.0 * second.cube.shape[1]


@kernel(entry="table")
def add_twice(table: NDArray[np.int64]) -> None:
    """Open a table of two pairs, and lend both to another kernel twice."""
    pairs = open_pairs(table)
    add_sum(pairs.first, pairs.second)
    add_sum(pairs.first, pairs.second)
    second = pairs.second
    second.flags[second.flags.shape[0] - 1] = True


@pytest.fixture(params=["plain", "compiled"])
def adding(request: pytest.FixtureRequest) -> Entry:
    entry = Entry(add_twice.plain, "table")
    if request.param == "compiled":
        compile_here([entry])
    return entry


def test_kernels_read_and_write_the_arrays_themselves(adding: Entry) -> None:
    first, second = Pair(np.zeros(3, np.bool_), np.ones((2, 3, 4))), Pair(np.zeros(5, np.bool_), np.zeros((2, 2, 3)))

    adding.call(lend(Pairs(first, second), EXAMPLES))

    assert second.cube[:, 1, 2].tolist() == [88.0, 88.0]
    assert second.cube.sum() == 176.0
    assert second.flags.tolist() == [False] * 4 + [True]
    assert not first.flags.any()


def test_a_table_keeps_its_arrays_alive_and_no_longer() -> None:
    gc.collect()
    lent = len(borrowed._LENT)
    table = lend((EXAMPLE,), (EXAMPLE,))
    assert len(borrowed._LENT) == lent + 1

    del table
    gc.collect()

    assert len(borrowed._LENT) == lent


@pytest.mark.parametrize("wrong", [np.zeros((2, 2, 2), np.float32), np.zeros((2, 2))], ids=["type", "axes"])
def test_an_array_of_another_type_is_refused(wrong: NDArray[np.float64]) -> None:
    with pytest.raises(TypeError, match="expected float64 of 3"):
        lend((Pair(EXAMPLE.flags, wrong),), (EXAMPLE,))


@pytest.mark.parametrize(
    "wrong",
    [np.zeros((4, 4, 4))[:, ::2], np.broadcast_to(0.0, (2, 2, 2)), np.frombuffer(bytes(64)).reshape(2, 2, 2)],
    ids=["gaps", "broadcast", "read-only"],
)
def test_an_array_that_kernels_cannot_write_into_is_refused(wrong: NDArray[np.float64]) -> None:
    with pytest.raises(TypeError, match="expected one to write into"):
        lend((Pair(EXAMPLE.flags, wrong),), (EXAMPLE,))
