"""Records, their texts and their chain of hashes."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta, timezone
from hashlib import sha256
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

import dtrbandit as dtr
from dtrbandit.record.chain import (
    EMPTY,
    NOTHING,
    Head,
    Record,
    Stored,
    chained,
    linked,
    record_of,
    time_of,
    time_text,
    unlinked,
)
from dtrbandit.record.events import Completed, Enrolled, Event

NOON = datetime(2026, 11, 17, 12, 0, 0, 5, tzinfo=UTC)
EVENTS: list[Event] = [Enrolled("ü", 1, {"x": 0.1}), Completed("ü", -8.5), Completed("u2", 1e300)]
RECORDS = [Record(n, "nurse", NOON, event) for n, event in enumerate(EVENTS, 1)]


def test_the_text_of_a_record_is_one_json_line_with_sorted_keys() -> None:
    assert Record(7, "nurse", NOON, Completed("u", 1.0)).text == (
        '{"actor":"nurse","event":{"event":"Completed","outcome":1.0,"unit":"u"},"sequence":7,'
        '"time":"2026-11-17T12:00:00.000005Z"}'
    )
    for record in RECORDS:
        entries = json.loads(record.text)
        assert json.dumps(entries, sort_keys=True, separators=(",", ":"), ensure_ascii=False) == record.text


def test_a_record_beyond_ascii_says_the_format_that_it_needs() -> None:
    by_actor = Record(7, "Schwester Jörg", None, Completed("u", 1.0))

    assert json.loads(by_actor.text)["event"]["format"] == 3
    assert json.loads(RECORDS[0].text)["event"]["format"] == 3
    assert "format" not in RECORDS[2].text
    assert list(unlinked(linked([by_actor._replace(sequence=1)]))) == [by_actor._replace(sequence=1)]


def test_records_that_release_0_1_0_wrote_are_read_as_they_are() -> None:
    texts = [json.dumps(json.loads(record.text), sort_keys=True, separators=(",", ":")).encode() for record in RECORDS]

    assert [record_of(text, n) for n, text in enumerate(texts, 1)] == RECORDS
    assert texts[0] != RECORDS[0].text.encode()


def test_a_hash_is_the_sha_256_of_the_hash_before_and_the_text() -> None:
    first, second, _ = linked(RECORDS)

    assert first.hash == sha256(b"0" * 64 + first.text).hexdigest()
    assert second.hash == sha256(first.hash.encode() + second.text).hexdigest() == chained(first.hash, second.text)


@given(
    st.lists(st.tuples(st.none() | st.text(max_size=5), st.none() | st.datetimes(timezones=st.just(UTC))), max_size=5)
)
def test_records_survive_their_texts(said: list[tuple[str | None, datetime | None]]) -> None:
    records = [Record(n, actor, time, Completed("u", 1.0)) for n, (actor, time) in enumerate(said, 1)]

    assert list(unlinked(linked(records))) == records


def test_records_go_on_after_a_head() -> None:
    stored = list(linked(RECORDS))
    head = Head(2, stored[1].hash)

    assert list(linked(RECORDS[2:], head)) == stored[2:]
    assert list(unlinked(stored[2:], head)) == RECORDS[2:]
    assert list(unlinked([], head)) == []


def test_times_are_utc_whatever_the_clock_says() -> None:
    east = timezone(timedelta(hours=2))

    assert time_text(datetime(2026, 11, 17, 14, 0, 0, 5, tzinfo=east)) == time_text(NOON)
    assert record_of(RECORDS[0].text.encode(), 1).time == NOON


def test_an_hour_that_a_zone_has_twice_is_two_times() -> None:
    first = datetime(2026, 10, 25, 2, 30, tzinfo=ZoneInfo("Europe/Berlin"))

    assert time_text(first) == "2026-10-25T00:30:00.000000Z"
    assert time_text(first.replace(fold=1)) == "2026-10-25T01:30:00.000000Z"


@pytest.mark.parametrize(
    ("change", "place"),
    [
        (lambda s: [s[1], s[0], s[2]], 1),
        (lambda s: [s[0], s[2]], 2),
        (lambda s: [s[0], s[0], s[1], s[2]], 2),
        (lambda s: [s[0], s[1], Stored(s[2].text.replace(b"1e+300", b"1e+301"), s[2].hash)], 3),
        (lambda s: [s[0], s[1]._replace(hash=NOTHING), s[2]], 2),
        (lambda s: [s[0]._replace(hash=s[0].hash.upper()), *s[1:]], 1),
    ],
    ids=["swapped", "lost", "twice", "edited", "another hash", "another writing"],
)
def test_the_first_record_that_does_not_follow_is_named(change, place: int) -> None:  # type: ignore[no-untyped-def]  # a lambda
    with pytest.raises(dtr.LogError, match=f"record {place} is"):
        list(unlinked(change(list(linked(RECORDS)))))


def relinked(text: str) -> list[Stored]:
    """Return a text with the hash that belongs to it: the chain is whole, what it holds is not."""
    stored = text.replace("\xff", "\udcff").encode("utf-8", "surrogateescape")  # ÿ stands for a byte that is no UTF-8
    return [Stored(stored, chained(EMPTY.hash, stored))]


@pytest.mark.parametrize(
    ("found", "instead", "says"),
    [
        ('"sequence":1', '"sequence":2', "found sequence number 2, expected 1"),
        ('"sequence":1', '"sequence":true', "found sequence number True"),
        ('"actor":"nurse"', '"actor":7', "the actor is 7"),
        ('"actor":"nurse"', '"actor":"a","actor":"b"', "'actor' twice"),
        ("2026-11-17T12", "2026-11-17 12", "the time is '2026-11-17 12"),
        ("2026-11-17T12", "2026-13-17T12", "the time is '2026-13-17T12"),
        ('"time"', '"tme"', "'tme'"),
        ('{"context"', '{"sequence":9,"context"', "damaged Enrolled"),
        ("0.1", "NaN", "NaN is not a number"),
        ('"event":{', '"event":[{', "not valid JSON"),
        ("nurse", "n\xff", "not valid UTF-8"),
    ],
)
def test_a_record_that_is_none_is_refused_even_under_its_hash(found: str, instead: str, says: str) -> None:
    with pytest.raises(dtr.LogError, match=re.escape(says)):
        list(unlinked(relinked(RECORDS[0].text.replace(found, instead, 1))))


def test_a_record_without_an_event_is_refused() -> None:
    text = '{"actor":null,"event":[],"sequence":1,"time":null}'

    with pytest.raises(dtr.LogError, match=re.escape("found [], expected an event")):
        list(unlinked(relinked(text)))


@pytest.mark.parametrize("time", [None, datetime(2026, 11, 17, 9, 30, 1, 5, tzinfo=UTC)])
def test_the_time_of_a_record_is_read_without_its_event(time: datetime | None) -> None:
    text = Record(7, "nurse A", time, Completed("u1", 2.0)).text.encode()

    assert time_of(text, 7) == time
    with pytest.raises(dtr.LogError, match="sequence number 7, expected 8"):
        time_of(text, 8)


def test_a_changed_record_is_named_before_one_that_cannot_be_read() -> None:
    stored = list(linked(RECORDS))
    stored[1] = Stored(stored[1].text, "0" * 64)

    def read() -> Iterator[Stored]:
        yield from stored
        raise dtr.LogError("record 4 is missing")

    with pytest.raises(dtr.LogError, match="the hash of record 2"):
        list(unlinked(read()))
    stored[1] = list(linked(RECORDS))[1]
    found = unlinked(read())
    assert [next(found).sequence for _ in RECORDS] == [1, 2, 3]
    with pytest.raises(dtr.LogError, match="record 4 is missing"):
        next(found)
