"""Logs as text: exact, sorted, one event a line."""

from __future__ import annotations

import json
import random
import re
import struct
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import orjson
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import dtrbandit as dtr
from dtrbandit._version import FORMAT
from dtrbandit.record import codec
from dtrbandit.record.codec import SHAPES, Reader, decode, document, encode, shape_of
from dtrbandit.record.events import (
    BEYOND_ASCII,
    SINCE,
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
from dtrbandit.record.values import Values
from effort import scaled
from record.plain_log import plain_text
from small_session import some_session
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
ONE = st.just(1)
events = st.one_of(
    st.builds(
        Opened, st.just({"stage": []}), st.just({"name": "Greedy"}), st.integers(0, 2**64 - 1), st.just(1), st.none()
    ),
    st.builds(Enrolled, texts, st.integers(1, 10**9), contexts, st.none(), st.none(), st.none()),
    st.builds(Enrolled, texts, st.integers(1, 10**9), contexts, exclusions, texts, st.none()),
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
    assert line.encode() == orjson.dumps(json.loads(line), option=orjson.OPT_SORT_KEYS)


@given(events)
def test_a_line_of_an_earlier_release_holds_the_same_event(event: Event) -> None:
    assert decode(as_before(encode(event))) == event


def as_before(line: str) -> str:
    """Return a line as release 0.1.0 wrote it: in ASCII, floats by ``repr``."""
    return json.dumps(json.loads(line), sort_keys=True, separators=(",", ":"))


@given(floats)
@example(5e-324)
@example(2.2250738585072014e-308)
@example(1.7976931348623157e308)
@example(1e22)
@example(1e23)
@example(9007199254740993.0)
@example(1e-7)
@example(-0.0)
def test_a_float_keeps_all_of_its_bits(number: float) -> None:
    outcome = decode(encode(Completed("u", number)))
    values = decode(encode(Enrolled("u", 1, Values(("x",), [number]))))

    assert isinstance(outcome, Completed)
    assert isinstance(values, Enrolled)
    assert struct.pack("d", outcome.outcome) == struct.pack("d", number) == struct.pack("d", values.context["x"])


@pytest.mark.parametrize("seed", [0, 2**53 + 1, 2**63, 2**64 - 1])
def test_a_whole_number_stays_one(seed: int) -> None:
    opened = decode(encode(Opened({}, {}, seed, 1)))

    assert isinstance(opened, Opened)
    assert (type(opened.seed), opened.seed) == (int, seed)


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


@pytest.mark.parametrize(
    "event",
    [
        Completed("u", float("nan")),
        Completed("u", float("inf")),
        Enrolled("u", 1, {"x": float("nan")}),
        Opened({"stage": [{"scale": float("inf")}]}, {}, 0, 1),
    ],
    ids=repr,
)
def test_a_number_that_json_cannot_hold_is_not_written(event: Event) -> None:
    with pytest.raises(ValueError, match=r"cannot hold|not JSON compliant"):
        encode(event)


def test_a_float_of_numpy_is_written_as_a_float() -> None:
    assert encode(Completed("u", np.float64(1.5))) == '{"event":"Completed","outcome":1.5,"unit":"u"}'


def test_what_utf_8_cannot_hold_is_written_in_ascii_and_read_again() -> None:
    event = Assigned(decision._replace(reason="half \ud800", q_hat=Values(("a", "b"), [1.0, None])))

    assert '"half \\ud800"' in encode(event)
    assert '"q_hat":{"a":1.0,"b":null}' in encode(event)
    assert decode(encode(event)) == event


def test_an_integer_beyond_64_bits_is_written_and_read_again() -> None:
    opened = Opened({}, {"q": 2**70}, 0, 1)

    assert decode(encode(opened)) == opened


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
    assert max(*SINCE.values(), BEYOND_ASCII) == FORMAT


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
    monkeypatch.setitem(SINCE, "Held.site", 3)
    monkeypatch.setitem(SHAPES, "Held", shape_of(Held))

    assert json.loads(encode(Held("why", "north")))["format"] == 3
    assert json.loads(encode(Held("why")))["format"] == 2


def test_a_line_of_a_newer_format_is_refused_before_it_is_looked_at(tmp_path: Path) -> None:
    line = '{"event":"Vaccinated","format":4,"sequence":1}\n'
    (tmp_path / "log").write_text(line)

    with pytest.raises(dtr.LogError, match=r"line 1: this line has the log format 4, .* up to 3: a newer release"):
        dtr.read_log(tmp_path / "log")


def test_a_line_beyond_ascii_needs_the_third_format_and_no_other_does() -> None:
    assert encode(Completed("ü", 1.0)) == '{"event":"Completed","format":3,"outcome":1.0,"unit":"ü"}'
    assert encode(Held("Prüfung")) == '{"event":"Held","format":3,"reason":"Prüfung"}'
    assert encode(Completed("u", 1.0)) == '{"event":"Completed","outcome":1.0,"unit":"u"}'


@pytest.mark.parametrize("number", ["0", "2.0", '"2"', "null", "true"])
def test_a_format_is_a_whole_number_from_1_on(number: str) -> None:
    with pytest.raises(dtr.LogError, match="the format of a line must be a whole number"):
        decode(f'{{"event":"Held","format":{number},"reason":"a safety report"}}')


# -- one log ---------------------------------------------------------------------------------------------------------

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
    return [reader.event(document(text.encode())) for text in texts]


@pytest.mark.parametrize("log", [a_log(), list(some_session().log)], ids=["odd", "some"])
@pytest.mark.parametrize("written", [str, as_before], ids=["now", "before"])
def test_a_log_is_read_whoever_wrote_it(log: list[Event], written: Callable[[str], str]) -> None:
    texts = [written(encode(event)) for event in log]

    together, alone = read(texts), [decode(text) for text in texts]

    assert together == alone == log
    assert [type(event) for event in together] == [type(event) for event in log]
    assert [encode(event) for event in together] == [encode(event) for event in log]


@pytest.mark.parametrize("written", [str, as_before], ids=["now", "before"])
def test_numbers_are_read_into_values_in_the_order_of_the_design(written: Callable[[str], str]) -> None:
    found = read([written(encode(event)) for event in a_log()])

    contexts = [event.context for event in found if isinstance(event, Enrolled)]
    estimates = {event.decision.stage: event.decision.q_hat for event in found if isinstance(event, Assigned)}

    assert {type(context) for context in contexts} == {Values}
    assert {tuple(context) for context in contexts} == {("z", "y")}
    assert {stage: (type(values), tuple(values)) for stage, values in estimates.items()} == {
        "s": (Values, ("b", "a")),
        "r": (Values, ("a", "b")),
    }
    assert dtr.Session.resume(found).log == a_log()


def test_the_contenders_are_kept_once() -> None:
    found = read([encode(event) for event in a_log()])

    contenders = [event.decision.contenders for event in found if isinstance(event, Assigned)]

    assert len({id(each) for each in contenders}) == len(set(contenders))


def test_a_log_of_python_functions_is_read_too() -> None:
    opened = a_log()[0]._replace(design={"stage": [{"features": {"function": "f"}}]})  # type: ignore[call-arg]
    texts = [encode(opened), *(encode(event) for event in a_log()[1:])]

    assert read(texts)[1:] == a_log()[1:]


values = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**70), 2**70),
    st.floats(),
    st.text(max_size=3),
    st.lists(st.integers(), max_size=2),
)


def outcome(attempt: Callable[[], Any]) -> str:
    try:
        found = attempt()
        return repr(found) if isinstance(found, dict) else encode(found)
    except dtr.LogError as error:
        return str(error)


@settings(max_examples=scaled(300))
@given(st.integers(1, 30), st.data())
def test_a_field_of_another_type_is_refused_or_read_with_and_without_a_design(place: int, data: st.DataObject) -> None:
    texts = [encode(event) for event in a_log()]
    entries = json.loads(texts[place])
    name = data.draw(st.sampled_from(sorted(entries)))
    if isinstance(entries[name], dict) and entries[name] and data.draw(st.booleans()):
        entries[name][data.draw(st.sampled_from(sorted(entries[name])))] = data.draw(values)
    else:
        entries[name] = data.draw(values)
    text = json.dumps(entries, sort_keys=True, separators=(",", ":"))

    assert outcome(lambda: read([texts[0], text])[1]) == outcome(lambda: decode(text))


@settings(max_examples=scaled(200))
@given(st.recursive(values, lambda inner: st.dictionaries(st.text(max_size=2), inner, max_size=3)), st.booleans())
def test_any_document_is_read_or_refused_as_the_standard_library_does(value: object, is_ascii: bool) -> None:
    text = json.dumps({"a": value}, sort_keys=True, separators=(",", ":"), ensure_ascii=is_ascii).encode()

    assert outcome(lambda: document(text)) == outcome(lambda: codec._careful_document(text))


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ('{"a":1,"a":2}', "an object has 'a' twice"),
        ('{"a":{"b":1,"b":1}}', "an object has 'b' twice"),
        ('{"ü":1,"\\u00fc":1}', "an object has 'ü' twice"),
        ('{"a":NaN}', "NaN is not a number"),
        ('{"a":-Infinity}', "-Infinity is not a number"),
        ('{"a":1e999}', "'1e999' is no finite number"),
        ("[1]", "expected a JSON object, found '[1]'"),
        ("1", "expected a JSON object, found '1'"),
        ("{", "not valid JSON"),
        ("", "not valid JSON"),
        ("\ufeff{}", "not valid JSON"),
    ],
)
def test_a_text_that_is_no_object_is_refused_in_words(text: str, says: str) -> None:
    with pytest.raises(dtr.LogError, match=re.escape(says)):
        document(text.encode())


def test_bytes_that_are_no_utf_8_are_refused() -> None:
    for text in (b'{"a":"\xff"}', '{"a":1}'.encode("utf-16"), b'{"a":"\xed\xa0\x80"}'):
        with pytest.raises(dtr.LogError, match="not valid UTF-8"):
            document(text)


@pytest.mark.parametrize("text", ['{"b":1,"a":2.50}', '{ "a":2.5,"b":1}', '{"a":25e-1,"\\u0062":1}'])
def test_an_object_is_read_however_it_is_written(text: str) -> None:
    assert document(text.encode()) == {"a": 2.5, "b": 1}


def test_damaged_texts_are_refused_or_read_with_and_without_a_design() -> None:
    rng, texts = random.Random(0), [encode(event) for event in a_log()]
    for _ in range(500):
        damaged = bytearray(rng.choice(texts[1:]).encode())
        damaged[rng.randrange(len(damaged))] ^= 1 << rng.randrange(7)
        text = bytes(damaged)

        alone = outcome(lambda: Reader().event(document(text)))  # noqa: B023  # called at once
        assert outcome(lambda: read_after(texts[0], text)) == alone  # noqa: B023  # likewise


def read_after(opened: str, text: bytes) -> Event:
    reader = Reader()
    reader.event(document(opened.encode()))
    return reader.event(document(text))
