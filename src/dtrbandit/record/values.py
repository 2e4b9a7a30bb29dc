"""A small immutable mapping from labels to numbers: contexts and Q-values on record."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from math import nan
from struct import Struct, error
from typing import TypeVar, cast

Number = TypeVar("Number", covariant=True)  # float, or float | None


class Values(Mapping[str, Number]):
    """Numbers by label, None where there is none. Nothing in it can be changed.

    A log holds many of these. So labels are shared between units, and numbers are kept as bytes, which the garbage
    collector need not visit.

    Examples
    --------
    >>> values = Values(("a", "b"), (1.0, None))
    >>> values["a"], dict(values) == values
    (1.0, True)
    """

    __slots__ = ("labels", "packed")

    def __init__(self, labels: tuple[str, ...], numbers: Sequence[Number] | bytes) -> None:
        self.labels = labels  # in order
        self.packed = numbers if type(numbers) is bytes else _pack(numbers)  # NaN where there is none

    @property
    def numbers(self) -> tuple[float, ...]:
        """The numbers in the order of their labels, NaN where there is none."""
        return unpacked(self.packed)

    def pairs(self) -> Iterator[tuple[str, float]]:
        """Give labels with their numbers, NaN where there is none."""
        return zip(self.labels, self.numbers, strict=True)

    def __getitem__(self, label: str) -> Number:
        try:
            number = self.numbers[self.labels.index(label)]
        except ValueError:
            raise KeyError(label) from None
        return cast("Number", number if number == number else None)

    def __iter__(self) -> Iterator[str]:
        return iter(self.labels)

    def __len__(self) -> int:
        return len(self.labels)

    def __eq__(self, other: object) -> bool:
        if type(other) is Values and self.labels == other.labels and self.packed == other.packed:
            return True  # the usual case, without ado
        return super().__eq__(other)

    __hash__ = None  # type: ignore[assignment]  # how Python says unhashable, and mypy cannot

    def __repr__(self) -> str:
        return repr(dict(self))

    def __reduce__(self) -> tuple[object, ...]:
        return Values, (self.labels, tuple(self.values()))


def unpacked(packed: bytes) -> tuple[float, ...]:
    """Return the numbers that were packed."""
    return packing(len(packed) // 8).unpack(packed)


def _pack(numbers: Sequence[object]) -> bytes:
    try:
        return packing(len(numbers)).pack(*numbers)
    except error:  # None is no number
        return packing(len(numbers)).pack(*[nan if number is None else number for number in numbers])


@cache
def packing(count: int) -> Struct:
    """Return what packs so many numbers."""
    return Struct(f"{count}d")
