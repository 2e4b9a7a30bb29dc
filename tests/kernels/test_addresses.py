"""Arrays that kernels open from a table of addresses."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest
from numpy.typing import NDArray

from dtrbandit.kernels.addresses import addresses, opener
from dtrbandit.kernels.compile import kernel


class Pair(NamedTuple):
    flags: NDArray[np.bool_]
    cube: NDArray[np.float64]


EXAMPLE = Pair(np.zeros(1, dtype=np.bool_), np.zeros((1, 1, 1)))
open_first, open_second = opener(EXAMPLE), opener(EXAMPLE, after=EXAMPLE)


@kernel(entry=True)
def move(table: NDArray[np.int64]) -> None:
    """Write the sum of the first cube and the shape of the second where each belongs."""
    first, second = open_first(table), open_second(table)
    for i in range(second.cube.shape[0]):
        second.cube[i, 1, 2] = first.cube.sum() + 10.0 * second.cube.shape[1]
    second.flags[second.flags.shape[0] - 1] = True


def test_a_kernel_reads_and_writes_the_arrays_themselves() -> None:
    first, second = Pair(np.zeros(3, np.bool_), np.ones((2, 3, 4))), Pair(np.zeros(5, np.bool_), np.zeros((2, 2, 3)))

    move(addresses((*first, *second), (*EXAMPLE, *EXAMPLE)))

    assert second.cube[:, 1, 2].tolist() == [44.0, 44.0]
    assert second.cube.sum() == 88.0
    assert second.flags.tolist() == [False] * 4 + [True]
    assert not first.flags.any()


@pytest.mark.parametrize(
    "wrong", [np.zeros((2, 2, 2), np.float32), np.zeros((2, 2)), np.zeros((4, 4, 4))[:, ::2]], ids=repr
)
def test_an_array_of_another_type_is_refused(wrong: NDArray[np.float64]) -> None:
    with pytest.raises(TypeError, match="expected float64 of 3"):
        addresses((EXAMPLE.flags, wrong), EXAMPLE)
