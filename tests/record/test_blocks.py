"""Entries of bytes in blocks: what goes in comes out, at every place and of every round."""

from __future__ import annotations

import copy
import pickle

from hypothesis import given
from hypothesis import strategies as st

from dtrbandit.record.blocks import BLOCK, HEADER, Blocks

Entry = tuple[int, int, bytes]  # kind, round, and bytes of its own


def blocks_of(entries: list[Entry]) -> Blocks:
    blocks = Blocks()
    for entry in entries:
        blocks.append(*entry)
    return blocks


def parted(entries: list[bytes]) -> list[Entry]:
    """Return entries as they were given."""
    return [(*HEADER.unpack_from(entry)[:2], entry[HEADER.size :]) for entry in entries]


def in_rounds(drawn: list[tuple[int, bytes]]) -> list[Entry]:
    """Return entries whose rounds begin one after the other."""
    entries: list[Entry] = []
    for t, own in drawn:
        newest = max((each for _, each, _ in entries), default=0)
        entries.append((len(own), min(t, newest + 1), own))
    return entries


@given(st.lists(st.tuples(st.integers(0, 9), st.binary(max_size=20))), st.data())
def test_what_goes_in_comes_out(drawn: list[tuple[int, bytes]], data: st.DataObject) -> None:
    entries = in_rounds(drawn)
    blocks = blocks_of(entries)

    assert len(blocks) == len(entries) + 1
    start = data.draw(st.integers(1, len(blocks)))
    stop = data.draw(st.integers(start, len(blocks)))
    assert parted(list(blocks.between(start, stop))) == entries[start - 1 : stop - 1]
    for t in {t for _, t, _ in entries}:
        assert parted(blocks.of_round(t)) == [entry for entry in entries if entry[1] == t]


def test_blocks_that_are_joined_are_read_as_those_that_are_not() -> None:
    entries = [(number % 7, number % 3, bytes(number % 5)) for number in range(3 * BLOCK)]

    blocks = blocks_of(entries)

    for place in (1, BLOCK - 1, BLOCK, BLOCK + 1, 2 * BLOCK, 3 * BLOCK):
        assert parted(list(blocks.between(place, place + 1))) == [entries[place - 1]]
    assert parted(list(blocks.between(5, 3 * BLOCK))) == entries[4 : 3 * BLOCK - 1]
    assert parted(blocks.of_round(2)) == entries[2::3]


def test_a_copy_goes_on_by_itself() -> None:
    entries = [(1, number % 4, b"own") for number in range(BLOCK + 5)]
    blocks = blocks_of(entries)

    for other in (copy.deepcopy(blocks), pickle.loads(pickle.dumps(blocks))):
        other.append(2, 4, b"more")
        assert parted(other.of_round(4)) == [(2, 4, b"more")]
        assert parted(list(other.between(1, BLOCK + 6))) == entries
    assert len(blocks) == BLOCK + 6
