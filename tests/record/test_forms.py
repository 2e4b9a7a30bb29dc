"""Usual records are read side by side as they are read one by one; whatever else is found as well."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from copy import deepcopy
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import dtrbandit as dtr
from dtrbandit.record import forms as forms_module
from dtrbandit.record.chain import Record
from dtrbandit.record.forms import Forms
from dtrbandit.record.sequences import Bundled, Pieces

DESIGN = dtr.Design(
    [
        dtr.Stage("first", ("b", "a"), "1 + y + x"),
        dtr.Stage("second", ("b", "a", "c"), "1 + z", enter_if="w > 0"),
    ]
)
POLICY = dtr.DTRBandit(q=1, delta=0.5, schedule="permuted")


def session() -> dtr.Session:
    """Return one with sites, leavers who report in part, units in flight and lost ones; labels are not sorted."""
    found = dtr.Session(DESIGN, POLICY, seed=3)
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
TIMES = [None, datetime(2026, 11, 17, 9, 30, 1, 5, tzinfo=UTC)]
TEXTS = [Record(n, (None, "nurse")[n % 2], TIMES[n % 3 > 0], event).text.encode() for n, event in enumerate(LOG, 1)]
DOCUMENTS: list[dict[str, Any]] = [json.loads(text) for text in TEXTS]


def begun() -> Forms:
    forms = Forms()
    forms.one_by_one(TEXTS[:1], 1)
    return forms


def test_usual_records_are_read_side_by_side() -> None:
    (piece,) = begun().pieces(TEXTS[1:], 2, 1)

    assert isinstance(piece, Bundled)
    assert [repr(event) for event in piece] == [repr(event) for event in LOG[1:]]


def test_whatever_is_not_usual_is_read_by_itself() -> None:
    first, usual = Forms().pieces(TEXTS, 1, 1)
    assert first == LOG[:1]
    assert isinstance(usual, Bundled)
    (few,) = begun().pieces(TEXTS[1:5], 2, 50)
    assert few == LOG[1:5]


def test_forms_are_forgotten_when_there_are_too_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(forms_module, "MOST_FORMS", 3)
    forms = begun()
    for start in range(1, len(TEXTS), 10):
        (piece,) = forms.pieces(TEXTS[start : start + 10], start + 1, 1)
        assert isinstance(piece, Bundled)
        assert [repr(event) for event in piece] == [repr(event) for event in LOG[start : start + 10]]
    assert len(forms._known) < 20


Path = tuple[str, ...]


def paths(document: dict[str, Any], outer: Path = ()) -> Iterator[Path]:
    """Give the paths of all entries of a document."""
    for key, value in document.items():
        yield (*outer, key)
        if isinstance(value, dict):
            yield from paths(value, (*outer, key))


PLACES = [(number, path) for number, document in enumerate(DOCUMENTS[1:40]) for path in paths(document)]
STRANGE: list[Any] = [
    None, True, 0, 1, -1, 2**53 + 1, 2**70, 1.5, float("inf"), "", "a", "u1", "ü", 'a"b', "second", [], ["a"], [["a"]],
    {}, {"a": 1.0}, {"a": "1"}, {"b": 1, "a": 2.0}, {"y": 0.5, "x": 1.0}, {"z": 1.0, "w": 2.0}, {"w": 1.0, "q": 2.0},
]  # fmt: skip


def read(texts: list[bytes], *, side_by_side: bool) -> list[str] | str:
    """Return the events in words, or why they are refused."""
    forms = begun()
    try:
        events = Pieces(forms.pieces(texts, 2, 1)) if side_by_side else forms.one_by_one(texts, 2)
        return [repr(event) for event in events]
    except dtr.LogError as error:
        return str(error)


def written(document: dict[str, Any], *, sort_keys: bool = True) -> bytes:
    return json.dumps(document, sort_keys=sort_keys, separators=(",", ":")).encode()


WITHDRAWALS = [number for number, each in enumerate(DOCUMENTS[1:40]) if each["event"]["event"] == "Withdrawn"]
A_FORMAT = next(place for place in PLACES if place[1] == ("event", "format"))
A_REASON = (WITHDRAWALS[0], ("event", "reason"))


@example(place=A_REASON, value=1, how="change")
@example(place=(0, ("event", "round")), value=2**53 + 1, how="change")
@example(place=A_FORMAT, value=3, how="change")
@example(place=(0, ("time",)), value={"unit": "zz"}, how="change")
@example(place=(0, ("actor",)), value={"unit": ""}, how="change")
@given(
    place=st.sampled_from(PLACES),
    value=st.sampled_from(STRANGE),
    how=st.sampled_from(["change", "drop", "add", "exclude", "turn", "outside"]),
)
def test_whatever_records_hold_is_read_or_refused_as_one_by_one(place: tuple[int, Path], value: Any, how: str) -> None:
    number, (*outer, key) = place
    document = deepcopy(DOCUMENTS[number + 1])
    within = document
    for each in outer:
        within = within[each]
    if how == "change":
        within[key] = value
    elif how == "drop":
        del within[key]
    elif how == "add":
        within["more"] = value
    elif how == "exclude":
        document["event"].update(exclude={"second": ["c"]}, reason="allergy", format=2)
    elif how == "turn":
        document["event"] = dict(reversed(document["event"].items()))
    else:
        document["unit"] = value
    texts = list(TEXTS[1:40])
    texts[number] = written(document, sort_keys=how != "turn")

    assert read(texts, side_by_side=True) == read(texts, side_by_side=False)


INSTEAD = ["", "0", "1", "-", "e5", "e999", ".", ",", " ", '"', "\\", "{", "}", "\n", "\x01", "\x02", "ü", ":1.5,"]


def test_a_unit_that_is_no_text_is_not_taken_from_elsewhere() -> None:
    document = deepcopy(DOCUMENTS[1])
    document["event"]["unit"], document["time"] = 7, {"unit": "zz"}
    texts = [written(document), *TEXTS[2:40]]

    assert read(texts, side_by_side=True) == read(texts, side_by_side=False)


@pytest.mark.parametrize("unusual", ["Zürich", 'the "north"', "6'2\""])
def test_a_decision_stays_with_what_it_answers(unusual: str) -> None:
    session, forms = dtr.Session(DESIGN, POLICY, seed=3), Forms()
    for t in range(20):
        session.enroll(f"u{t}", {"x": t / 7, "y": -t / 3}, site=unusual if t % 5 == 3 else "north")
    log = list(session.log)
    texts = [Record(n, "nurse", TIMES[1], event).text.encode() for n, event in enumerate(log, 1)]

    pieces = list(forms.pieces(texts, 1, 1))

    assert [repr(event) for piece in pieces[1:] for event in piece] == [repr(event) for event in log[1:]]
    assert [(type(piece[0]).__name__, len(piece)) for piece in pieces if not isinstance(piece, Bundled)] == [
        ("Opened", 1), *[("Enrolled", 2)] * 4,
    ]  # fmt: skip


@given(
    number=st.integers(0, 38),
    place=st.integers(0, 400),
    instead=st.sampled_from(INSTEAD),
    width=st.integers(0, 3),
)
def test_damaged_texts_are_read_or_refused_as_one_by_one(number: int, place: int, instead: str, width: int) -> None:
    texts = list(TEXTS[1:40])
    whole = texts[number]
    texts[number] = whole[:place] + instead.encode() + whole[place + width :]

    assert read(texts, side_by_side=True) == read(texts, side_by_side=False)


A_NUMBER = re.compile(rb"-?[0-9]+\.[0-9]+(e[-+][0-9]+)?")


NUMBERS = [
    "1e999", "-1e999", "1e-999", "01.5", "1.", ".5", "+1.5", "1.5e", "1-2", "0x1", "1.50", "15E-1", "-0.0", "1.5.5",
    "1,2", "123456789012345678901234567890.0", "0.1000000000000000055511151231257827021181583404541015625",
]  # fmt: skip


@pytest.mark.parametrize("number", NUMBERS)
@pytest.mark.parametrize("kind", [b"Enrolled", b"Assigned", b"Completed"])
def test_numbers_however_they_are_written(number: str, kind: bytes) -> None:
    texts = list(TEXTS[1:40])
    place = next(i for i, text in enumerate(texts) if b'"event":"' + kind in text)
    texts[place] = A_NUMBER.sub(number.encode(), texts[place], count=1)

    assert read(texts, side_by_side=True) == read(texts, side_by_side=False)
