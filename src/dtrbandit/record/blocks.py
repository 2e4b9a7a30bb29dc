"""The bytes of many packed facts at once (``record/packed.py``): three whole numbers each, then numbers of its own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import accumulate

import numpy as np
from numpy.typing import NDArray

from dtrbandit.kernels.arrays import Matrix
from dtrbandit.record.bundle import Integers, Unusual

WORD = 4  # bytes
WORDS_OF_HEADER = 3  # head, round, place before
WORDS_OF_NUMBER = 2

Words = NDArray[np.uint32]


def taken_apart(entries: Sequence[bytes]) -> tuple[Integers, Callable[[Integers], Matrix]]:
    """Return the headers, (facts, 3), and what returns the numbers when it is told how many each fact has."""
    lengths = np.fromiter(map(len, entries), dtype=np.int64, count=len(entries))
    if (lengths % WORD).any():  # texts are among them
        raise Unusual
    words = np.frombuffer(b"".join(entries), dtype=np.uint32)
    starts = (np.cumsum(lengths) - lengths) // WORD
    header = words[starts[:, None] + np.arange(WORDS_OF_HEADER)].astype(np.int64)

    def numbers_of(widths: Integers) -> Matrix:
        numbers = np.full((len(entries), widths.max(initial=0)), np.nan)
        for at, places in _own_words(starts, widths):
            numbers[at, : places.shape[1] // WORDS_OF_NUMBER] = words[places].view(np.float64)
        return numbers

    return header, numbers_of


def laid_out(header: Integers, numbers: Matrix, widths: Integers) -> tuple[bytes, list[int]]:
    """Return facts as bytes, joined, and where each begins and the last ends."""
    lengths = WORDS_OF_HEADER + WORDS_OF_NUMBER * widths
    starts = np.cumsum(lengths) - lengths
    words: Words = np.empty(lengths.sum(), dtype=np.uint32)
    words[starts[:, None] + np.arange(WORDS_OF_HEADER)] = header
    for at, places in _own_words(starts, widths):
        own = np.ascontiguousarray(numbers[at, : places.shape[1] // WORDS_OF_NUMBER])
        words[places] = own.view(np.uint32)
    return words.tobytes(), list(accumulate((WORD * lengths).tolist(), initial=0))


def _own_words(starts: Integers, widths: Integers) -> list[tuple[Integers, Integers]]:
    """Return, for each number of numbers, the facts that have so many, and the places of their words."""
    groups = []
    for width in np.unique(widths[widths > 0]).tolist():
        at = np.flatnonzero(widths == width)
        groups.append((at, starts[at][:, None] + WORDS_OF_HEADER + np.arange(WORDS_OF_NUMBER * width)))
    return groups


def in_turn(rounds: Integers, places: Integers, known: Words) -> tuple[Integers, Integers, Integers]:
    """Return the place before each fact, of the same unit; then the units' rounds, and the place of the last of each.

    ``known`` has the place of the last fact before these, by round.
    """
    order = np.argsort(rounds, kind="stable")
    ordered = rounds[order]
    first = np.ones(len(rounds), dtype=np.bool_)
    first[1:] = ordered[1:] != ordered[:-1]
    before = np.empty(len(rounds), dtype=np.int64)
    before[order[1:]] = places[order[:-1]]
    before[order[first]] = known[ordered[first]]
    last = np.append(first[1:], True)
    return before, ordered[last], places[order[last]]
