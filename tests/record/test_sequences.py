"""Sequences that build events when they are looked at are the sequences of these events."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dtrbandit.record import Event
from dtrbandit.record.sequences import Bundled, Pieces, kinds, types, usual_runs
from small_session import session_of

SESSION = session_of(9)
EVENTS: list[Event] = list(SESSION.log)
BUNDLED = Bundled(SESSION._belief.histories.log.bundle(1, SESSION.version))
PIECES = Pieces([EVENTS[:1], BUNDLED[:10], BUNDLED[10:11], EVENTS[12:20], BUNDLED[19:]])


@pytest.mark.parametrize(("found", "expected"), [(BUNDLED, EVENTS[1:]), (PIECES, EVENTS)])
def test_they_are_what_they_hold(found: Sequence[Event], expected: list[Event]) -> None:
    assert list(found) == expected
    assert len(found) == len(expected)
    assert [found[place] for place in (0, 3, 11, -1)] == [expected[place] for place in (0, 3, 11, -1)]
    assert types(found) == types(expected)
    assert list(kinds(found)) == list(kinds(expected))
    with pytest.raises(IndexError):
        found[len(expected)]


@given(st.slices(len(EVENTS)).filter(lambda places: places.step in (None, 1)))
def test_slices_are_those_of_a_list(places: slice) -> None:
    assert list(PIECES[places]) == EVENTS[places]
    assert list(BUNDLED[places]) == EVENTS[1:][places]


def test_neighbours_are_joined_up_to_a_size() -> None:
    assert [len(piece) for piece in PIECES.pieces] == [1, 11, 8, len(EVENTS) - 20]
    small = Pieces([BUNDLED[place : place + 1] for place in range(len(BUNDLED))], most=10)
    assert [len(piece) for piece in small.pieces] == [10, 10, 10, 10, 5]
    assert list(small) == EVENTS[1:]


def test_events_come_in_a_row() -> None:
    with pytest.raises(ValueError, match="steps of 2"):
        PIECES[::2]


@given(st.lists(st.booleans()), st.integers(1, 4))
def test_runs_follow_each_other_and_usual_ones_are_long_enough(usual: list[bool], shortest: int) -> None:
    found = list(usual_runs(usual, shortest))

    assert [place for _, start, stop in found for place in range(start, stop)] == list(range(len(usual)))
    for is_usual, start, stop in found:
        assert not is_usual or (all(usual[start:stop]) and stop - start >= shortest)
        assert is_usual or not any(all(usual[first : first + shortest]) for first in range(start, stop - shortest + 1))
