"""Arrays behind a pointer: kernels find those of a table of addresses, by name."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pytest
from numba import TypingError
from numpy.typing import NDArray

from dtrbandit.kernels.borrowed import addresses, opener
from dtrbandit.kernels.compile import kernel


class Pair(NamedTuple):
    """Two arrays of unlike types and shapes."""

    flags: NDArray[np.bool_]
    cube: NDArray[np.float64]


EXAMPLE = Pair(np.zeros(1, dtype=np.bool_), np.zeros((1, 1, 1)))
open_first, open_second = opener(EXAMPLE), opener(EXAMPLE, after=EXAMPLE)


@kernel
def add_sum(first: Any, second: Any) -> None:
    """Add the sum of the first cube to a column of the second."""
    for i in range(second.cube.shape[0]):
        second.cube[i, 1, 2] += first.cube.sum() + 10.0 * second.cube.shape[1]


@kernel(entry=True)
def add_twice(table: NDArray[np.int64]) -> None:
    """Open a table of two pairs, and lend both to another kernel twice."""
    first, second = open_first(table), open_second(table)
    add_sum(first, second)
    add_sum(first, second)
    second.flags[second.flags.shape[0] - 1] = True


@kernel(entry=True)
def ask_for_another(table: NDArray[np.int64]) -> Any:
    """Ask for an array that was not lent."""
    return open_first(table).other


def test_kernels_read_and_write_the_arrays_themselves() -> None:
    first, second = Pair(np.zeros(3, np.bool_), np.ones((2, 3, 4))), Pair(np.zeros(5, np.bool_), np.zeros((2, 2, 3)))

    add_twice(addresses((*first, *second), (*EXAMPLE, *EXAMPLE)))

    assert second.cube[:, 1, 2].tolist() == [88.0, 88.0]
    assert second.cube.sum() == 176.0
    assert second.flags.tolist() == [False] * 4 + [True]
    assert not first.flags.any()


def test_an_array_that_was_not_lent_is_an_error_of_compilation() -> None:
    with pytest.raises(TypingError, match="other"):
        ask_for_another(addresses(EXAMPLE, EXAMPLE))


@pytest.mark.parametrize("wrong", [np.zeros((2, 2, 2), np.float32), np.zeros((2, 2))], ids=["type", "axes"])
def test_an_array_of_another_type_is_refused(wrong: NDArray[np.float64]) -> None:
    with pytest.raises(TypeError, match="expected float64 of 3"):
        addresses((EXAMPLE.flags, wrong), EXAMPLE)


@pytest.mark.parametrize(
    "wrong",
    [np.zeros((4, 4, 4))[:, ::2], np.broadcast_to(0.0, (2, 2, 2)), np.frombuffer(bytes(64)).reshape(2, 2, 2)],
    ids=["gaps", "broadcast", "read-only"],
)
def test_an_array_that_kernels_cannot_write_into_is_refused(wrong: NDArray[np.float64]) -> None:
    with pytest.raises(TypeError, match="expected one to write into"):
        addresses((EXAMPLE.flags, wrong), EXAMPLE)
