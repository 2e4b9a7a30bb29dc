"""Usual facts side by side: what many of them have in common is kept once, and what is each one's own in columns.

A fact is usual if it enrols a unit, is a response, a decision, an outcome or a withdrawal, and can be packed
(``record/packed.py``): a head, and numbers. Thousands of such facts are looked at and packed in one step.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dtrbandit.kernels.arrays import Matrix

Integers = NDArray[np.int64]
Head = tuple[Any, ...]  # what unpacks a fact, then what it has in common with others


class Unusual(Exception):  # noqa: N818  # it is no error
    """Something must be looked at by itself."""


def require_usual(usual: object) -> None:
    """Raise Unusual unless something is usual."""
    if not usual:
        raise Unusual


class Bundle(NamedTuple):
    """Usual facts, in order.

    Attributes
    ----------
    heads
        What facts have in common, each once.
    which
        (facts,): the head of each, as a number.
    units
        The names of their units.
    said
        (facts,): the round that a fact names; 0 if it names none.
    numbers
        (facts, most): its own numbers, from the first column on, as many as its head has.
    """

    heads: list[Head]
    which: Integers
    units: list[str]
    said: Integers
    numbers: Matrix


class HeadCounter:
    """Numbers heads as they come."""

    def __init__(self) -> None:
        self.heads: list[Head] = []
        self._numbers: dict[Head, int] = {}

    def __call__(self, head: Head) -> int:
        """Return the number of a head; Unusual if it holds what cannot be compared."""
        try:
            number = self._numbers.get(head)
        except TypeError:
            raise Unusual from None
        if number is None:
            number = self._numbers[head] = len(self.heads)
            self.heads.append(head)
        return number


def side_by_side(which: Integers, packed: Sequence[bytes], widths: Sequence[int]) -> Matrix:
    """Return numbers that are packed, (facts, most), given the head of each fact and how many numbers a head has."""
    numbers = np.full((len(which), max(widths, default=0)), np.nan)
    for number, width in enumerate(widths):
        at = np.flatnonzero(which == number)
        own = [packed[i] for i in at.tolist()]
        require_usual({8 * width}.issuperset(map(len, own)))
        numbers[at, :width] = np.frombuffer(b"".join(own)).reshape(len(at), width)
    return numbers


def joined(bundles: Sequence[Bundle]) -> Bundle:
    """Return the facts of some bundles, one after the other."""
    number_of, which = HeadCounter(), list[Integers]()
    for each in bundles:
        which.append(np.array([number_of(head) for head in each.heads], dtype=np.int64)[each.which])
    numbers = np.full((sum(map(len, which)), max(each.numbers.shape[1] for each in bundles)), np.nan)
    start = 0
    for each in bundles:
        facts, most = each.numbers.shape
        numbers[start : start + facts, :most] = each.numbers
        start += facts
    units = [unit for each in bundles for unit in each.units]
    said = np.concatenate([each.said for each in bundles])
    return Bundle(number_of.heads, np.concatenate(which), units, said, numbers)
