"""Entries of bytes: what goes in comes out, at every place and of every round."""

from __future__ import annotations

import copy
import pickle

from hypothesis import given
from hypothesis import strategies as st

from dtrbandit.record.entries import HEADER, Entries

MANY = 1_000
Entry = tuple[int, int, bytes]  # kind, round, and bytes of its own


def entries_of(given: list[Entry]) -> Entries:
    entries = Entries()
    for entry in given:
        entries.append(*entry)
    return entries


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
    found = entries_of(entries)

    assert len(found) == len(entries) + 1
    start = data.draw(st.integers(1, len(found)))
    stop = data.draw(st.integers(start, len(found)))
    assert parted(list(found.between(start, stop))) == entries[start - 1 : stop - 1]
    for t in {t for _, t, _ in entries}:
        assert parted(found.of_round(t)) == [entry for entry in entries if entry[1] == t]


def test_many_entries_are_read_from_any_place() -> None:
    entries = [(number % 7, number % 3, bytes(number % 5)) for number in range(3 * MANY)]

    found = entries_of(entries)

    for place in (1, MANY - 1, MANY, MANY + 1, 2 * MANY, 3 * MANY):
        assert parted(list(found.between(place, place + 1))) == [entries[place - 1]]
    assert parted(list(found.between(5, 3 * MANY))) == entries[4 : 3 * MANY - 1]
    assert parted(found.of_round(2)) == entries[2::3]


def test_a_copy_goes_on_by_itself() -> None:
    entries = [(1, number % 4, b"own") for number in range(MANY + 5)]
    found = entries_of(entries)

    for other in (copy.deepcopy(found), pickle.loads(pickle.dumps(found))):
        other.append(2, 4, b"more")
        assert parted(other.of_round(4)) == [(2, 4, b"more")]
        assert parted(list(other.between(1, MANY + 6))) == entries
    assert len(found) == MANY + 6
