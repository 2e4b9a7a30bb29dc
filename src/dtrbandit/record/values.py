"""A small immutable mapping from labels to numbers: contexts and Q-values on record."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TypeVar

Number = TypeVar("Number", covariant=True)


class Values(Mapping[str, Number]):
    """Numbers by label. Labels are shared between units, and nothing can be changed.

    Examples
    --------
    >>> values = Values(("a", "b"), (1.0, None))
    >>> values["a"], dict(values) == values
    (1.0, True)
    """

    __slots__ = ("_labels", "_numbers")

    def __init__(self, labels: tuple[str, ...], numbers: tuple[Number, ...]) -> None:
        self._labels = labels
        self._numbers = numbers

    @property
    def labels(self) -> tuple[str, ...]:
        """The labels, in order."""
        return self._labels

    def pairs(self) -> Iterator[tuple[str, Number]]:
        """Return labels with their numbers, quickly."""
        return zip(self._labels, self._numbers, strict=True)

    def __getitem__(self, label: str) -> Number:
        try:
            return self._numbers[self._labels.index(label)]
        except ValueError:
            raise KeyError(label) from None

    def __iter__(self) -> Iterator[str]:
        return iter(self._labels)

    def __len__(self) -> int:
        return len(self._labels)

    def __repr__(self) -> str:
        return repr(dict(self))

    def __reduce__(self) -> tuple[object, ...]:
        return Values, (self._labels, self._numbers)
