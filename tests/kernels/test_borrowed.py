"""Arrays behind a pointer: kernels find the entry's own, by name."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest
from numba import TypingError
from numpy.typing import NDArray

from dtrbandit.kernels.borrowed import borrow
from dtrbandit.kernels.compile import kernel


class Pair(NamedTuple):
    """Two arrays of unlike types and shapes."""

    counts: NDArray[np.int64]
    table: NDArray[np.float64]


@kernel
def add_counts(pair):
    """Add to each row of the table its count."""
    for i in range(pair.table.shape[0]):
        for j in range(pair.table.shape[1]):
            pair.table[i, j] += pair.counts[i]


@kernel(entry=True)
def add_twice(*arrays):
    """Lend the arrays twice."""
    pair = borrow(Pair(*arrays))
    add_counts(pair)
    add_counts(pair)


@kernel(entry=True)
def ask_for_another(*arrays):
    """Ask for an array that was not lent."""
    return borrow(Pair(*arrays)).other


def test_kernels_work_on_the_arrays_that_were_lent() -> None:
    pair = Pair(np.array([1, 10]), np.array([[0.5, 1.5, 2.5], [0.0, 1.0, 2.0]]))

    add_twice(*pair)

    np.testing.assert_array_equal(pair.table, [[2.5, 3.5, 4.5], [20.0, 21.0, 22.0]])
    np.testing.assert_array_equal(pair.counts, [1, 10])


def test_an_array_that_was_not_lent_is_an_error_of_compilation() -> None:
    with pytest.raises(TypingError, match="other"):
        ask_for_another(np.zeros(1, dtype=np.int64), np.zeros((1, 1)))
