"""Arrays with names: what a state is made of, to copy, to keep and to compare."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from dtrbandit.kernels import arrays
from dtrbandit.kernels.arrays import grow, longer, named, restore, under, within
from dtrbandit.kernels.triangular import LeastSquares


class Part:
    """Something with a number and two arrays."""

    def __init__(self) -> None:
        self.count = 3
        self.flags = np.array([1, 0], dtype=np.uint8)
        self.cube = np.arange(8.0).reshape(2, 2, 2)


NAMES = ("count", "flags", "cube")
shapes = st.lists(st.integers(0, 3), min_size=1, max_size=3)


def test_attributes_become_arrays_by_name_and_a_number_has_no_axes() -> None:
    part = Part()

    found = named(part, NAMES)

    assert list(found) == list(NAMES)
    assert (found["count"].shape, found["count"].item()) == ((), 3)
    assert found["cube"] is part.cube
    assert all(isinstance(array, np.ndarray) for array in named(LeastSquares(2, 3), ("beta", "factor")).values())


def test_what_is_restored_has_the_same_types_and_shares_nothing() -> None:
    kept, part = named(Part(), NAMES), Part()
    part.count, part.flags[:], part.cube[:] = 9, 7, -1.0

    restore(part, NAMES, kept)
    kept["cube"][:] = 5.0

    assert (part.count, type(part.count)) == (3, int)
    assert part.flags.tolist() == [1, 0]
    assert part.flags.dtype == np.uint8
    assert part.cube.tolist() == Part().cube.tolist()


@pytest.mark.parametrize("order", ["C", "F"])
def test_arrays_that_cannot_be_written_into_or_lie_otherwise_are_copied_for_kernels(order: Any) -> None:
    """Such come from another process, and from a file."""
    lent = named(LeastSquares(2, 3), ("beta", "factor"))
    lent = {name: np.asarray(array + 2.0, order=order) for name, array in lent.items()}
    for array in lent.values():
        array.flags.writeable = False
    fits = LeastSquares(2, 3)

    restore(fits, ("beta", "factor"), lent)
    fits.beta[1, 2] = 7.0

    assert np.asarray(fits.factor).flags.c_contiguous
    assert np.asarray(fits.factor).tolist() == lent["factor"].tolist()
    assert lent["beta"][1, 2] == 2.0


def test_an_array_that_is_missing_is_named() -> None:
    with pytest.raises(KeyError, match="cube"):
        restore(Part(), NAMES, {"count": np.array(1), "flags": np.zeros(2)})


def test_names_of_a_part_begin_with_the_name_of_the_part() -> None:
    one, two = {"beta": np.ones(1), "rows": np.ones(2)}, {"beta": np.ones(3)}
    joined = under("hat", one) | under("hat_of_others", two)

    assert list(joined) == ["hat.beta", "hat.rows", "hat_of_others.beta"]
    assert within("hat", joined) == one
    assert within("hat_of_others", joined) == two
    assert within("tilde", joined) == {}


@given(shapes, st.integers(0, 5), st.sampled_from([-1, 0, 3]), st.data())
def test_a_longer_array_has_the_same_type_and_begins_with_a_copy(
    shape: list[int], length: int, blank: int, data: st.DataObject
) -> None:
    axis = data.draw(st.integers(0, len(shape) - 1))
    old = np.arange(np.prod(shape), dtype=np.int8).reshape(shape)

    long = longer(old, length, blank, axis)

    front = tuple(slice(size) for size in shape)
    rest = np.ones(long.shape, dtype=np.bool_)
    rest[front] = False
    assert long.dtype == np.int8
    assert long.shape[axis] == max(length, shape[axis])
    assert np.array_equal(long[front], old)
    assert (long[rest] == blank).all()
    assert not np.shares_memory(long, old)


def test_attributes_grow_together_each_with_its_blank() -> None:
    part = Part()

    grow(part, {"flags": 0, "cube": -1}, 3)

    assert part.flags.tolist() == [1, 0, 0]
    assert part.cube[2].tolist() == [[-1.0, -1.0]] * 2
    grow(part, {"cube": 9}, 3, axis=1)
    assert part.cube.shape == (3, 3, 2)
    assert part.cube[:, 2].tolist() == [[9.0, 9.0]] * 3


def test_without_memory_for_one_attribute_none_grows(monkeypatch: pytest.MonkeyPatch) -> None:
    part = Part()

    def scarce(array: Any, length: int, blank: int, axis: int = 0) -> NDArray[Any]:
        if np.asarray(array).ndim == 3:
            raise MemoryError
        return longer(array, length, blank, axis)

    monkeypatch.setattr(arrays, "longer", scarce)

    with pytest.raises(MemoryError):
        grow(part, {"flags": 0, "cube": 0}, 9)
    assert (len(part.flags), len(part.cube)) == (2, 2)
