"""A small immutable mapping from labels to numbers: contexts and Q-values on record."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from math import nan
from struct import Struct
from typing import TypeVar, cast

Number = TypeVar("Number", covariant=True)  # float, or float | None


class Values(Mapping[str, Number]):
    """Numbers by label, None where there is none. Labels are shared between units, and nothing can be changed.

    A log holds many of these, so the numbers are kept as bytes, which the garbage collector need not visit.

    Examples
    --------
    >>> values = Values(("a", "b"), (1.0, None))
    >>> values["a"], dict(values) == values
    (1.0, True)
    """

    __slots__ = ("_labels", "_packed")

    def __init__(self, labels: tuple[str, ...], numbers: Sequence[Number]) -> None:
        self._labels = labels
        if None in numbers:
            numbers = cast("list[Number]", [nan if number is None else number for number in numbers])
        self._packed = _packing(len(labels)).pack(*numbers)

    @property
    def labels(self) -> tuple[str, ...]:
        """The labels, in order."""
        return self._labels

    @property
    def numbers(self) -> tuple[float, ...]:
        """The numbers in the order of their labels, NaN where there is none."""
        return _packing(len(self._labels)).unpack(self._packed)

    def pairs(self) -> Iterator[tuple[str, float]]:
        """Give labels with their numbers, NaN where there is none."""
        return zip(self._labels, self.numbers, strict=True)

    def __getitem__(self, label: str) -> Number:
        try:
            number = self.numbers[self._labels.index(label)]
        except ValueError:
            raise KeyError(label) from None
        return cast("Number", number if number == number else None)

    def __iter__(self) -> Iterator[str]:
        return iter(self._labels)

    def __len__(self) -> int:
        return len(self._labels)

    def __eq__(self, other: object) -> bool:
        if type(other) is Values and self._labels == other._labels and self._packed == other._packed:
            return True  # the usual case, without ado
        return super().__eq__(other)

    __hash__ = None  # type: ignore[assignment]  # how Python says unhashable, and mypy cannot

    def __repr__(self) -> str:
        return repr(dict(self))

    def __reduce__(self) -> tuple[object, ...]:
        return Values, (self._labels, tuple(self.values()))


@cache
def _packing(count: int) -> Struct:
    return Struct(f"{count}d")
