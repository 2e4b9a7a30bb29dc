"""Usual events are read from JSON side by side as they are read one by one; whatever else is found as well."""

from __future__ import annotations

import json
from copy import deepcopy
from typing import Any

from hypothesis import example, given
from hypothesis import strategies as st

import dtrbandit as dtr
from dtrbandit.record.codec import encode
from dtrbandit.record.documents import pieces_of
from dtrbandit.record.reading import Reader
from dtrbandit.record.sequences import Bundled, Pieces

DESIGN = dtr.Design(
    [
        dtr.Stage("first", ("b", "a"), "1 + y + x"),
        dtr.Stage("second", ("b", "a", "c"), "1 + z", enter_if="w > 0"),
    ]
)


def session() -> dtr.Session:
    """Return one with sites, leavers who report in part, units in flight and lost ones; labels are not sorted."""
    found = dtr.Session(DESIGN, dtr.DTRBandit(q=1, delta=0.5, schedule="permuted"), seed=3)
    for t in range(24):
        found.enroll(f"u{t}", {"x": t / 7, "y": -t / 3}, site=(None, "north", "south")[t % 3])
        if t % 4 == 0:
            found.respond(f"u{t}", {"w": -1.0} if t % 8 else {"w": -1.0, "z": 0.5})
        elif t % 4 < 3:
            found.respond(f"u{t}", {"w": 1.0, "z": t / 5})
        if t % 5 == 4:
            found.withdraw(f"u{t}", reason=("moved", "tired")[t % 2])
        elif t % 4 < 3:
            found.complete(f"u{t}", t / 9)
    return found


LOG = list(session().log)
DOCUMENTS: list[dict[str, Any]] = [json.loads(encode(event)) for event in LOG]


def begun() -> Reader:
    reader = Reader()
    reader.event(DOCUMENTS[0])
    return reader


def test_usual_events_are_read_side_by_side() -> None:
    (piece,) = pieces_of(begun(), DOCUMENTS[1:], 1)

    assert isinstance(piece, Bundled)
    assert [repr(event) for event in piece] == [repr(event) for event in LOG[1:]]


def test_whatever_is_not_usual_is_read_by_itself() -> None:
    first, usual = pieces_of(Reader(), DOCUMENTS, 1)
    assert first == LOG[:1]
    assert isinstance(usual, Bundled)
    (few,) = pieces_of(begun(), DOCUMENTS[1:5], 50)
    assert few == LOG[1:5]


PLACES = [
    (number, path)
    for number, document in enumerate(DOCUMENTS[1:40], 1)
    for path in [(key,) for key in document]
    + [(key, inner) for key, value in document.items() if isinstance(value, dict) for inner in value]
]
STRANGE: list[Any] = [
    None, True, 0, 1, -1, 2**70, 1.5, float("inf"), "", "a", "u1", "second", [], ["a"], [["a"]], {}, {"a": 1.0},
    {"a": "1"}, {"b": 1, "a": 2.0}, {"y": 0.5, "x": 1.0}, {"z": 1.0, "w": 2.0}, {"w": 1.0, "q": 2.0},
]  # fmt: skip


def read(documents: list[dict[str, Any]], *, side_by_side: bool) -> list[str] | str:
    """Return the events in words, or why they are refused."""
    reader = begun()
    try:
        events = Pieces(pieces_of(reader, documents, 1)) if side_by_side else map(reader.event, documents)
        return [repr(event) for event in events]
    except dtr.LogError as error:
        return str(error)


A_REASON = next(place for place in PLACES if DOCUMENTS[place[0]]["event"] == "Withdrawn" and place[1] == ("reason",))


@example(place=A_REASON, value=1, how="change")
@given(
    place=st.sampled_from(PLACES),
    value=st.sampled_from(STRANGE),
    how=st.sampled_from(["change", "drop", "add", "exclude", "turn"]),
)
def test_whatever_documents_hold_is_read_or_refused_as_one_by_one(
    place: tuple[int, tuple[str, ...]], value: Any, how: str
) -> None:
    documents = deepcopy(DOCUMENTS[1:40])
    number, (*outer, key) = place
    within = documents[number - 1]
    for each in outer:
        within = within[each]
    if how == "change":
        within[key] = value
    elif how == "drop":
        del within[key]
    elif how == "add":
        within["more"] = value
    elif how == "exclude":
        documents[number - 1].update(exclude={"second": ["c"]}, reason="allergy", format=2)
    else:
        documents[number - 1] = dict(reversed(documents[number - 1].items()))

    assert read(documents, side_by_side=True) == read(documents, side_by_side=False)
