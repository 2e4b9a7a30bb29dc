"""Types of arrays, and arrays with names: what a state is made of, to copy, to keep and to compare."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]
Array = NDArray[np.float64]  # of any number of axes
Integers = NDArray[np.integer[Any]]
Mask = NDArray[np.bool_]
Named = dict[str, NDArray[Any]]
Number = TypeVar("Number", bound=np.generic)


def named(part: object, names: Iterable[str]) -> Named:
    """Return attributes as arrays by name; a number becomes an array without axes, of 64 bits.

    In plain Python a whole number may have the type of an array's entry; compiled it has not.
    """
    arrays = {name: np.asarray(getattr(part, name)) for name in names}
    return {name: array if array.ndim else np.array(array.item()) for name, array in arrays.items()}


def restore(part: object, names: Iterable[str], arrays: Mapping[str, NDArray[Any]]) -> None:
    """Set attributes to copies of arrays with their names."""
    for name in names:
        array = arrays[name]
        setattr(part, name, np.array(array, order="C") if array.ndim else array.item())


def under(prefix: str, arrays: Mapping[str, NDArray[Any]]) -> Named:
    """Return arrays with longer names: ``prefix.name``."""
    return {f"{prefix}.{name}": array for name, array in arrays.items()}


def within(prefix: str, arrays: Mapping[str, NDArray[Any]]) -> Named:
    """Return the arrays whose names begin with a prefix, by the rest of their names."""
    start = f"{prefix}."
    return {name.removeprefix(start): array for name, array in arrays.items() if name.startswith(start)}


def longer(array: Any, length: int, blank: int, axis: int = 0) -> NDArray[Any]:
    """Return a copy with more entries along an axis, filled with ``blank``."""
    old = np.asarray(array)
    shape = list(old.shape)
    shape[axis] = max(length, old.shape[axis])
    copy = np.zeros(shape, dtype=old.dtype)  # costs nothing until it is touched
    if blank != 0:
        copy.fill(blank)
    copy[tuple(slice(size) for size in old.shape)] = old
    return copy


def grow(part: object, blanks: Mapping[str, int], length: int, axis: int = 0) -> None:
    """Make attributes longer along an axis; ``blanks`` says with what each is filled. All of them grow, or none."""
    grown = {name: longer(getattr(part, name), length, blank, axis) for name, blank in blanks.items()}
    for name, array in grown.items():
        setattr(part, name, array)
