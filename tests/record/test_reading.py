"""Quick reading gives what the codec gives, for good and for damaged texts."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dtrbandit as dtr
from dtrbandit.record.chain import Record
from dtrbandit.record.codec import decode, document, encode
from dtrbandit.record.events import Event
from dtrbandit.record.reading import Reader, quick_document
from dtrbandit.record.values import Values
from effort import scaled
from record.test_codec import events
from small_session import DESIGN, some_session

# columns and arms that are not in alphabetical order, and two stages with the same arms in another order
ODD = dtr.Design([dtr.Stage("s", ("b", "a"), "1 + z + y"), dtr.Stage("r", ("a", "b"), "1 + w + v", enter_if="w > 0")])


def a_log(design: dtr.Design = ODD) -> list[Event]:
    session = dtr.Session(design, dtr.DTRBandit(q=1, delta=0.5, floor=0.1), seed=3)
    for t in range(12):
        site = "nörth" if t % 2 else None
        session.enroll(f"ü{t}" if t % 3 else f"u{t}", {"z": t / 7, "y": -t / 1e7}, site=site)
        if session.respond(
            f"ü{t}" if t % 3 else f"u{t}", {"w": -1.0} if t % 4 == 1 else {"w": 2.0, "v": 1e300 / 1e210}
        ):
            session.complete(f"ü{t}" if t % 3 else f"u{t}", t / 3)
    session.void("u0", reason="x")
    return list(session.log)


def read(texts: list[str]) -> list[Event]:
    reader = Reader()
    return [reader.event(quick_document(text.encode("ascii"))) for text in texts]


@pytest.mark.parametrize("log", [a_log(), list(some_session().log)], ids=["odd", "some"])
def test_quick_reading_equals_the_codec(log: list[Event]) -> None:
    texts = [encode(event) for event in log]

    quick, slow = read(texts), [decode(text) for text in texts]

    assert quick == slow == log
    assert [type(event) for event in quick] == [type(event) for event in slow]
    assert [encode(event) for event in quick] == texts


def test_what_is_usual_is_read_into_values_in_the_order_of_the_design() -> None:
    texts = [encode(event) for event in a_log()]

    contexts = [event.context for event in read(texts) if isinstance(event, dtr.record.Enrolled)]

    assert {type(context) for context in contexts} == {Values}
    assert {context.labels for context in contexts if isinstance(context, Values)} == {("z", "y")}
    assert dtr.Session.resume(read(texts)).log == a_log()


@given(events)
def test_any_event_is_read_as_the_codec_reads_it(event: Event) -> None:
    opened = encode(dtr.Session(DESIGN, dtr.Greedy()).log[0])

    assert read([opened, encode(event)])[1] == decode(encode(event))


values = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**70), 2**70),
    st.floats(),
    st.text(max_size=3),
    st.lists(st.integers(), max_size=2),
)


@settings(max_examples=scaled(300))
@given(st.integers(1, 30), st.data())
def test_a_field_of_another_type_is_refused_or_read_alike(place: int, data: st.DataObject) -> None:
    texts = [encode(event) for event in a_log()]
    entries = json.loads(texts[place])
    name = data.draw(st.sampled_from(sorted(entries)))
    if isinstance(entries[name], dict) and entries[name] and data.draw(st.booleans()):
        entries[name][data.draw(st.sampled_from(sorted(entries[name])))] = data.draw(values)
    else:
        entries[name] = data.draw(values)
    text = json.dumps(entries, sort_keys=True, separators=(",", ":"))

    assert outcome(lambda: read([texts[0], text])[1]) == outcome(lambda: decode(text))


def outcome(attempt: Callable[[], Any]) -> str:
    try:
        found = attempt()
        return repr(found) if isinstance(found, dict) else encode(found)
    except dtr.LogError as error:
        return str(error)


@settings(max_examples=scaled(200))
@given(st.recursive(values, lambda inner: st.dictionaries(st.text(max_size=2), inner, max_size=3)))
def test_any_document_is_read_or_refused_as_the_codec_does(value: object) -> None:
    text = json.dumps({"a": value}, sort_keys=True, separators=(",", ":"))

    assert outcome(lambda: quick_document(text.encode())) == outcome(lambda: document(text))


@pytest.mark.parametrize(
    "text",
    [
        '{"a":1,"a":2}',
        '{"a":{"b":1,"b":1}}',
        '{"a":NaN}',
        '{"a":1e999}',
        "[1]",
        "1",
        "{",
        "",
        '{"b":1,"a":2}',
        '{ "a":1}',
    ],
)
def test_texts_that_are_not_as_we_write_them_are_left_to_the_codec(text: str) -> None:
    assert outcome(lambda: quick_document(text.encode())) == outcome(lambda: document(text))


def test_damaged_texts_are_refused_or_read_alike() -> None:
    rng, texts = random.Random(0), [encode(event) for event in a_log()]
    for _ in range(500):
        damaged = bytearray(rng.choice(texts[1:]).encode())
        damaged[rng.randrange(len(damaged))] ^= 1 << rng.randrange(7)
        text = damaged.decode("ascii")

        assert outcome(lambda: read([texts[0], text])[1]) == outcome(lambda: decode(text))  # noqa: B023  # called at once


def test_a_log_of_python_functions_is_read_too() -> None:
    opened = a_log()[0]._replace(design={"stage": [{"features": {"function": "f"}}]})  # type: ignore[call-arg]
    texts = [encode(opened), *(encode(event) for event in a_log()[1:])]

    assert read(texts)[1:] == a_log()[1:]


def test_the_contenders_are_kept_once() -> None:
    reader, texts = Reader(), [encode(event) for event in a_log()]
    decisions = [
        event.decision
        for event in (reader.event(quick_document(text.encode())) for text in texts)
        if isinstance(event, dtr.record.Assigned)
    ]

    assert len({id(decision.contenders) for decision in decisions}) == len({d.contenders for d in decisions})


def test_a_record_is_read_alike() -> None:
    text = Record(1, "ü", None, a_log()[1]).text

    assert quick_document(text.encode()) == document(text)
