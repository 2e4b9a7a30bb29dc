"""What stands in facts: numbers by label, and texts that people write, such as ids, names of sites and reasons."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from math import nan
from struct import Struct, error
from typing import TypeVar, cast
from unicodedata import normalize

from dtrbandit.design.values import shown
from dtrbandit.errors import ObservationError

LONGEST_ID, LONGEST_SITE, LONGEST_REASON = 200, 60, 2000
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


# -- texts ------------------------------------------------------------------------------------------------------------


def is_unit_id(unit: object) -> bool:
    """Say whether a unit can have this id."""
    return isinstance(unit, str) and 0 < len(unit) <= LONGEST_ID and unit.isprintable() and unit.strip() == unit


def folded(unit: str) -> str:
    """Return an id without regard to case and to how Unicode writes its letters.

    Examples
    --------
    >>> folded("U1"), folded("Ame\u0301lie") == folded("AM\u00c9LIE")
    ('u1', True)
    """
    if unit.isascii():
        return unit.lower()
    return normalize("NFKC", normalize("NFKC", unit).casefold())


def accept_site(site: object) -> str | None:
    """Return the name of a site that can be recorded, None for none, or raise.

    Examples
    --------
    >>> accept_site("north")
    'north'
    """
    usual = type(site) is str and 0 < len(site) <= LONGEST_SITE and site.isprintable() and site.strip() == site
    if site is None or usual:
        return site  # type: ignore[return-value]  # a text
    raise ObservationError(
        f"the name of a site must be a printable text of 1 to {LONGEST_SITE} characters, found {shown(site)}; "
        "spaces before and after it must be taken away"
    )


def accept_reason(reason: object, unit: str) -> str:
    """Return a reason that can be recorded, or raise."""
    return accept_words(reason, f"unit {unit!r}")


def accept_words(reason: object, who: str) -> str:
    """Return a reason, given by or for ``who``, that can be recorded, or raise."""
    if not isinstance(reason, str) or not reason.strip() or len(reason) > LONGEST_REASON:
        raise ObservationError(f"{who}: a reason must be a text of 1 to {LONGEST_REASON} characters, found {reason!r}")
    return reason
