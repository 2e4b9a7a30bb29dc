"""Logs as text: exact, sorted, one event a line."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import dtrbandit as dtr
from dtrbandit._version import FORMAT
from dtrbandit.record.codec import FIELDS, KINDS, OPTIONAL, SINCE, decode, encode
from dtrbandit.record.events import (
    ArmClosed,
    Assigned,
    Completed,
    Corrected,
    Decision,
    Ended,
    Enrolled,
    Event,
    Held,
    Opened,
    Overridden,
    Released,
    Responded,
    Taught,
    Unblinded,
    Upgraded,
    Voided,
    Withdrawn,
)
from record.plain_log import plain_text
from stored_fixtures import of_this_release

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
    st.lists(st.tuples(texts, texts), max_size=2).map(tuple),
)
exclusions = st.dictionaries(texts, st.lists(texts).map(tuple), min_size=1, max_size=2)
events = st.one_of(
    st.builds(Opened, st.just({"stage": []}), st.just({"name": "Greedy"}), st.integers(0, 2**64 - 1), st.just(1)),
    st.builds(Enrolled, texts, st.integers(1, 10**9), contexts, st.none(), st.none()),
    st.builds(Enrolled, texts, st.integers(1, 10**9), contexts, exclusions, texts),
    st.builds(Enrolled, texts, st.integers(1, 10**9), contexts, st.none() | exclusions, st.none(), texts),
    st.builds(Opened, st.just({}), st.just({}), st.integers(0, 9), st.just(1), texts),
    st.builds(Assigned, decisions),
    st.builds(Overridden, texts, texts, texts, texts),
    st.builds(Responded, texts, texts, contexts, st.none(), st.none()),
    st.builds(Responded, texts, texts, contexts, exclusions, texts),
    st.builds(Completed, texts, floats),
    st.builds(Withdrawn, texts, texts),
    st.builds(Corrected, texts, floats, st.none(), st.none(), texts),
    st.builds(Corrected, texts, st.none(), texts, contexts, texts),
    st.builds(Held, texts, st.none() | texts),
    st.builds(Released, texts, st.none() | texts),
    st.builds(Unblinded, texts, texts),
    st.builds(ArmClosed, texts, texts, texts),
    st.builds(Voided, texts, texts),
    st.builds(Ended, texts),
    st.builds(Upgraded, st.integers(1, 9), texts, texts),
    st.builds(
        Taught,
        texts,
        st.lists(contexts, max_size=3).map(tuple),
        st.lists(texts, max_size=3).map(tuple),
        st.none() | floats,
    ),
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


class Entries(Mapping[str, float]):
    """A mapping that is no dict."""

    def __init__(self, **entries: float) -> None:
        self._entries = entries

    def __getitem__(self, name: str) -> float:
        return self._entries[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._entries)

    def __len__(self) -> int:
        return len(self._entries)


decision = Decision("u", 1, "s", "a", "greedy", 0.5, {"a": 1.0, "b": None}, {"a": 1.0, "b": None}, ("a", "b"))
one_of_each: list[Event] = [
    Opened({"stage": []}, {"name": "Greedy"}, 0, 1),
    Enrolled("u", 1, {"x": 1.0}),
    Assigned(decision),
    Overridden("u", "s", "a", "allergy"),
    Responded("u", "s", {"x": 1.0}),
    Completed("u", 1.0),
    Withdrawn("u", "moved"),
    Corrected("u", None, "s", {"x": 1.0}, "typo"),
    Unblinded("u", "an emergency"),
]
wrong: dict[str, list[Any]] = {
    "design": [None, "x", []],
    "policy": [None, "x", []],
    "seed": [None, "1", 1.0, True],
    "numerics": [None, "1", 1.0, True],
    "round": [None, "1", 1.0, True],
    "unit": [None, 1, ["u"]],
    "arm": [None, 1],
    "reason": [None, 1],
    "context": [[], 1, {"x": "1"}, {"x": None}, {"x": True}, {"x": 2**53 + 1}, {"x": 10**400}],
    "propensity": ["1", True, []],
    "q_tilde": [None, [], {"a": "1"}, {"a": False}],
    "q_hat": [None, [], {"a": "1"}, {"a": False}],
    "contenders": [None, "ab", {"a": 1}, ["a", 1]],
    "outcome": ["1", True, [], {}],
    "stage": [1, []],
}


@pytest.mark.parametrize("event", one_of_each, ids=lambda event: type(event).__name__)
def test_every_field_of_another_type_is_refused_by_name(event: Event) -> None:
    entries = json.loads(encode(event))
    for field in entries.keys() - {"event", "format"}:
        nullable = isinstance(event, Corrected) or field == "propensity"
        for value in [*wrong[field], *([] if nullable else [None])]:
            with pytest.raises(dtr.LogError, match=rf"{type(event).__name__}, field '{field}'.*found .*expected "):
                decode(json.dumps({**entries, field: value}))


def test_the_readers_of_fields_are_those_of_the_events() -> None:
    assert FIELDS.keys() == KINDS.keys()
    for name, kind in KINDS.items():
        assert (*FIELDS[name], *OPTIONAL.get(name, ())) == (Decision._fields if kind is Assigned else kind._fields)


def test_a_refusal_says_what_was_found_and_what_is_expected() -> None:
    line = encode(Corrected("u", 1.0, None, None, "typo")).replace("1.0", '"one"')

    with pytest.raises(dtr.LogError) as raised:
        decode(line)

    assert str(raised.value) == (
        "Corrected, field 'outcome': found 'one' (str), expected a finite number that a float can hold, or null"
    )


def test_a_number_beyond_floats_is_refused() -> None:
    for number in ("1e999", "-1e999", "1" + "0" * 400):
        with pytest.raises(dtr.LogError, match="finite"):
            decode(f'{{"event":"Completed","outcome":{number},"unit":"u"}}')


def test_integers_in_a_log_are_read_as_floats() -> None:
    enrolled = decode('{"context":{"x":3},"event":"Enrolled","round":1,"unit":"u"}')

    assert isinstance(enrolled, Enrolled)
    assert type(enrolled.context["x"]) is float


def test_any_mapping_is_written_as_an_object(tmp_path: Path) -> None:
    estimates = Entries(b=2.0, a=1.0)
    given_so: list[Event] = [
        Enrolled("u", 1, Entries(x=1.0)),
        Assigned(decision._replace(q_tilde=estimates, q_hat=estimates)),
    ]
    plain: list[Event] = [
        Enrolled("u", 1, {"x": 1.0}),
        Assigned(decision._replace(q_tilde=dict(estimates), q_hat=dict(estimates))),
    ]

    dtr.write_log(tmp_path / "log.jsonl", given_so)

    assert [encode(event) for event in given_so] == [encode(event) for event in plain]
    assert dtr.read_log(tmp_path / "log.jsonl") == plain


def test_a_value_that_json_cannot_hold_is_a_programming_error() -> None:
    with pytest.raises(TypeError, match="cannot hold"):
        encode(Completed("u", object()))  # type: ignore[arg-type]


def test_deeply_nested_json_is_refused() -> None:
    with pytest.raises(dtr.LogError, match=re.escape("nested too deeply")):
        decode("[" * 100_000)


# -- formats ---------------------------------------------------------------------------------------------------------

LOGS = Path(__file__).parent / "logs"


@pytest.mark.parametrize("name", ["release_0_1_0.jsonl", "before_formats.jsonl"])
def test_logs_of_the_release_before_are_read_unchanged(name: str) -> None:
    log = dtr.read_log(LOGS / name)

    session = dtr.Session.resume(log)

    dtr.verify(of_this_release(log))
    assert session.log == log
    session.upgrade(reason="release 0.1.0 is gone")
    assert session.enroll("next", {"start1": 0.5}).round == 14


def test_a_log_without_guardrails_keeps_its_bytes() -> None:
    file = LOGS / "release_0_1_0.jsonl"

    log = dtr.Session.resume(dtr.read_log(file)).log

    assert plain_text(log) == file.read_text()


def test_lines_that_the_first_format_could_not_hold_say_theirs_and_no_others() -> None:
    lines = [encode(event) for event in dtr.read_log(LOGS / "before_formats.jsonl")]

    told = [(json.loads(line)["event"], json.loads(line).get("format")) for line in lines]

    assert {kind for kind, number in told if number == 2} == {"Held", "Released", "Voided"}
    assert {number for kind, number in told if kind not in SINCE} == {None}
    assert [decode(line) for line in lines] == dtr.read_log(LOGS / "before_formats.jsonl")
    assert max(SINCE.values()) == FORMAT


def test_a_site_is_left_out_where_there_is_none_and_otherwise_needs_the_second_format() -> None:
    plain, at_north = Enrolled("u1", 1, {"x": 0.5}), Enrolled("u1", 1, {"x": 0.5}, site="north")

    assert encode(plain) == '{"context":{"x":0.5},"event":"Enrolled","round":1,"unit":"u1"}'
    assert encode(at_north) == (
        '{"context":{"x":0.5},"event":"Enrolled","format":2,"round":1,"site":"north","unit":"u1"}'
    )
    assert encode(Held("why", "north")) == '{"event":"Held","format":2,"reason":"why","site":"north"}'
    assert encode(Held("why")) == '{"event":"Held","format":2,"reason":"why"}'
    assert encode(Unblinded("u1", "why")) == '{"event":"Unblinded","format":2,"reason":"why","unit":"u1"}'


def test_a_field_that_came_later_needs_its_format(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(SINCE, "Completed.unit", 3)

    assert json.loads(encode(Completed("u1", 1.0)))["format"] == 3


def test_a_line_of_a_newer_format_is_refused_before_it_is_looked_at(tmp_path: Path) -> None:
    line = '{"event":"Vaccinated","format":3,"sequence":1}\n'
    (tmp_path / "log").write_text(line)

    with pytest.raises(dtr.LogError, match=r"line 1: this line has the log format 3, .* up to 2: a newer release"):
        dtr.read_log(tmp_path / "log")


@pytest.mark.parametrize("number", ["0", "2.0", '"2"', "null", "true"])
def test_a_format_is_a_whole_number_from_1_on(number: str) -> None:
    with pytest.raises(dtr.LogError, match="the format of a line must be a whole number"):
        decode(f'{{"event":"Held","format":{number},"reason":"a safety report"}}')
