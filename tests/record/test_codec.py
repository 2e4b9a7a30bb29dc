"""Logs as text: exact, sorted, one event a line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import dtrbandit as dtr
from dtrbandit.record.codec import decode, encode
from dtrbandit.record.events import (
    Assigned,
    Completed,
    Corrected,
    Decision,
    Enrolled,
    Event,
    Opened,
    Overridden,
    Responded,
    Withdrawn,
)

floats = st.floats(allow_nan=False, allow_infinity=False)
texts = st.text(min_size=1, max_size=5)
contexts = st.dictionaries(texts, floats, max_size=3)
decisions = st.builds(
    Decision,
    texts,
    st.integers(1, 10**9),
    texts,
    texts,
    texts,
    st.one_of(st.none(), floats),
    st.dictionaries(texts, st.one_of(st.none(), floats), max_size=3),
    st.dictionaries(texts, st.one_of(st.none(), floats), max_size=3),
    st.lists(texts, max_size=3).map(tuple),
)
events = st.one_of(
    st.builds(Opened, st.just({"stage": []}), st.just({"name": "Greedy"}), st.integers(0, 2**64 - 1), st.just(1)),
    st.builds(Enrolled, texts, st.integers(1, 10**9), contexts),
    st.builds(Assigned, decisions),
    st.builds(Overridden, texts, texts, texts, texts),
    st.builds(Responded, texts, texts, contexts),
    st.builds(Completed, texts, floats),
    st.builds(Withdrawn, texts, texts),
    st.builds(Corrected, texts, floats, st.none(), st.none(), texts),
    st.builds(Corrected, texts, st.none(), texts, contexts, texts),
)


@given(events)
def test_an_event_survives_its_text_exactly(event: Event) -> None:
    line = encode(event)

    assert decode(line) == event
    assert type(decode(line)) is type(event)
    assert "\n" not in line
    assert line == json.dumps(json.loads(line), sort_keys=True, separators=(",", ":"))


def test_numbers_are_recorded_as_floats_whatever_was_given() -> None:
    session = dtr.Session(dtr.Design([dtr.Stage("s", ("a", "b"), "1 + x")]), dtr.Greedy())
    session.enroll("u1", {"x": 3})
    session.complete("u1", 2)

    assert '"context":{"x":3.0}' in encode(session.log[1])
    assert '"outcome":2.0' in encode(session.log[3])


def test_a_log_file_gives_back_the_session(tmp_path: Path) -> None:
    session = dtr.Session(dtr.Design([dtr.Stage("s", ("a", "b"), "1 + x")]), dtr.EpsilonGreedy(epsilon=0.5), seed=2)
    for t in range(20):
        session.enroll(f"u{t}", {"x": t / 3})
        session.complete(f"u{t}", t / 7)
    path = tmp_path / "log.jsonl"

    dtr.write_log(path, session.log)

    resumed = dtr.Session.resume(dtr.read_log(path))
    assert resumed.log == session.log
    assert resumed.coefficients() == session.coefficients()
    assert [resumed.enroll(f"v{t}", {"x": 1.0}) for t in range(9)] == [
        session.enroll(f"v{t}", {"x": 1.0}) for t in range(9)
    ]


@pytest.mark.parametrize(
    "line", ["", "null", '{"event":"Completed","unit":"u"}', '{"event":"Completed","outcome":Infinity}']
)
def test_a_line_that_is_no_event_is_refused(line: str) -> None:
    with pytest.raises(dtr.LogError):
        decode(line)
