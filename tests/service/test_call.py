"""What a request says: unknown parts are refused; bodies too large, too slow (F9) or no strict JSON (F7)."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from extras import needed
from serving.served import Answer, Served

needed("starlette")
needed("uvicorn")
needed("httptools")

from dtrbandit.service.call import (  # noqa: E402
    DEEPEST,
    NotStrict,
    replied,
    require_json,
    strict_json,
)
from dtrbandit.service.problems import Refused  # noqa: E402

# -- what a request says ----------------------------------------------------------------------------------------


def refused(answer: Answer) -> tuple[int, str]:
    return answer.status, answer.json["detail"]


def test_a_parameter_that_the_endpoint_does_not_know_is_refused(served: Served, trial: str) -> None:
    allowed = "it may have awaiting, overdue"

    assert refused(served.get(f"{trial}/units?late=true")) == (422, f"the address has the parameter 'late'; {allowed}")
    assert refused(served.get(f"{trial}?x=1")) == (422, "the address has the parameter 'x'; it may have none")
    assert served.get(f"{trial}/units?awaiting=second&overdue=true").status == 200


def test_a_parameter_that_is_there_twice_is_refused(served: Served, trial: str) -> None:
    told = "the address has the parameter 'since' 2 times"

    assert refused(served.get(f"{trial}/log?since=0&since=1")) == (422, told)


@pytest.mark.parametrize("path", ["/units", "/units/u1/responses", "/units/u1/outcome", "/hold"])
def test_it_is_refused_also_where_something_would_be_recorded(path: str, served: Served, trial: str) -> None:
    answer = served.post(f"{trial}{path}?dry_run=true", {"unit": "u1", "context": {"x": 0.5}})

    assert answer.status == 422
    assert "'dry_run'" in answer.json["detail"]
    assert served.records(trial) == 1


@pytest.mark.parametrize("path", ["/trials", "/ready", "/keys"])
def test_a_body_that_nobody_would_read_is_refused(path: str, served: Served) -> None:
    answer = served.send("GET", path, {"overlap": 24})

    assert refused(answer) == (400, "the request has a body, and this address takes none")
    assert answer.json["remedy"].startswith("Leave the body out")
    assert served.send("GET", path, {}).status == 200


@pytest.mark.parametrize(
    "path", ["", "/units", "/units/u1/responses", "/units/u1/outcome", "/units/u1/withdrawal", "/units/u1/override",
             "/units/u1/corrections", "/units/u1/void", "/units/u1/unblinding", "/hold", "/release", "/arms/close",
             "/lock", "/end"],
)  # fmt: skip
def test_an_entry_that_a_body_does_not_know_is_refused_everywhere(path: str, served: Served, trial: str) -> None:
    answer = served.post(f"{trial}{path}" if path else "/trials", {"surprise": 1})

    assert answer.status == 422
    assert "surprise is not an entry of this body" in answer.json["detail"]
    assert served.records(trial) == 1


@pytest.mark.parametrize("path", ["/trials", "/keys", "/keys/some/rotation", "/keys/some/revocation"])
def test_a_log_is_not_named_where_no_log_of_a_trial_is_written(path: str, served: Served) -> None:
    for log in ("rehearsal", "nonsense"):
        answer = served.post(path, {}, headers={"Dtrbandit-Log": log})

        assert refused(answer) == (400, "the request has Dtrbandit-Log, and it writes to no log of a trial")
        assert answer.json["remedy"].startswith("Leave the header out")


def test_a_reply_is_compact_json_and_says_if_it_repeats() -> None:
    first, again = replied({"unit": "ü"}), replied({"unit": "ü"}, repeated=True)

    assert first.body == again.body == b'{"unit":"\\u00fc"}'
    assert "repeated" not in first.headers
    assert again.headers["repeated"] == "true"


# -- content -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("said", [None, "application/json", "Application/JSON;charset=UTF-8", "application/json ;"])
def test_a_body_may_say_that_it_is_json_or_nothing(said: str | None) -> None:
    require_json(said)


@pytest.mark.parametrize("said", ["", "text/plain", "application/x-www-form-urlencoded", "application/json; charset=x"])
def test_a_body_that_says_it_is_something_else_is_refused(said: str) -> None:
    with pytest.raises(Refused, match="Content-Type is") as refused:
        require_json(said)

    assert refused.value.status == 415
    assert "--json" in refused.value.remedy


REFUSED = {
    "a byte order mark": (b'\xef\xbb\xbf{"x":1}', "byte order mark"),
    "bad UTF-8": (b'{"x":"\xff"}', "UTF-8"),
    "UTF-16": ('{"x":1}'.encode("utf-16"), "UTF-8"),
    "a surrogate in UTF-8": (b'{"x":"\xed\xa0\x80"}', "UTF-8"),
    "half a pair": (b'{"x":"\\ud800"}', "surrogate"),
    "half a pair in a key": (b'{"\\udc00":1}', "surrogate"),
    "NaN": (b'{"x":NaN}', "NaN"),
    "Infinity": (b'{"x":Infinity}', "Infinity"),
    "minus Infinity": (b'{"x":-Infinity}', "-Infinity"),
    "1e400": (b'{"x":1e400}', "1e400"),
    "1e-400": (b'{"x":1e-400}', "1e-400, which is so small"),
    "a small number without an exponent": (b'{"x":-0.' + b"0" * 400 + b"1}", "would be read as 0"),
    "an integer beyond 2**53": (b'{"x":9007199254740993}', "2**53"),
    "an integer below -2**53": (b'{"x":-9007199254740993}', "2**53"),
    "an integer of many digits": (b'{"x":' + b"9" * 10_000 + b"}", "2**53"),
    "a key twice": (b'{"x":1,"x":1}', "'x' twice"),
    "a key twice, written otherwise": (b'{"x":1,"\\u0078":1}', "'x' twice"),
    "a key twice further in": (b'{"a":[{"x":1,"x":2}]}', "'x' twice"),
    "nesting": (b"[" * 10**5 + b"]" * 10**5, "nested"),
    "nesting in objects": (b'{"a":' * 10**5 + b"1" + b"}" * 10**5, "nested"),
    "nesting that never ends": (b"[" * 10**5, "nested"),
    "a text that never ends": (b'{"x":"' + b"x" * 100, "not JSON"),
    "nothing": (b"", "not JSON"),
    "two documents": (b"{}{}", "not JSON"),
    "a comment": (b"{} // unit", "not JSON"),
    "a control character": (b'{"x":"\n"}', "not JSON"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_it_is_refused_with_what_was_found(case: str) -> None:
    body, word = REFUSED[case]

    with pytest.raises(NotStrict, match=word.replace("*", r"\*")):
        strict_json(body)


def test_brackets_in_a_text_are_no_nesting() -> None:
    text = 'a "quoted" \\ [[[[{{{{' * 20

    assert strict_json(json.dumps([text]).encode()) == [text]


def test_the_deepest_that_is_allowed_is_read() -> None:
    assert strict_json(b"[" * DEEPEST + b"]" * DEEPEST) is not None


values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53), 2**53)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner, max_size=4),
    max_leaves=12,
)


@given(values, st.booleans())
def test_what_json_writes_is_read_as_it_was(value: object, ascii_only: bool) -> None:
    assert strict_json(json.dumps(value, ensure_ascii=ascii_only).encode()) == value


@given(st.binary(max_size=60))
def test_any_bytes_are_read_or_refused(body: bytes) -> None:
    try:
        value = strict_json(body)
    except NotStrict:
        return
    assert value == json.loads(body)


@pytest.mark.parametrize("zero", [b"0", b"-0", b"0.0", b"-0.000", b"0e5", b"0.0E-400"])
def test_a_zero_is_a_zero_however_it_is_written(zero: bytes) -> None:
    assert strict_json(zero) == 0


def test_the_smallest_number_is_read() -> None:
    assert strict_json(b"5e-324") == 5e-324
