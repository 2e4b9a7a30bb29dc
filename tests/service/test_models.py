"""What bodies may hold (F7), of commands and others, which may be left out, and what is seen of a decision."""

from __future__ import annotations

import json

import pytest

import dtrbandit as dtr
from dtrbandit.record import CloseArm, Command, Complete, Correct, Enroll, Respond
from extras import needed

needed("pydantic")
needed("starlette")
needed("uvicorn")
needed("httptools")

from dtrbandit.service.call import body_as, decision_seen  # noqa: E402
from dtrbandit.service.endpoints import ENDPOINTS  # noqa: E402
from dtrbandit.service.models import (  # noqa: E402
    Body,
    KeyWanted,
    Lock,
    body_of,
    decision_explained,
    may_be_left_out,
)
from dtrbandit.service.problems import Refused  # noqa: E402


def body(command: type[Command]) -> type[Body]:
    return body_of(command, in_address=() if command is Enroll else ("unit",))


REFUSED: dict[str, tuple[type[Command], bytes, int, str]] = {
    "a boolean": (Complete, b'{"outcome":true}', 422, "outcome"),
    "a number as text": (Complete, b'{"outcome":"1.0"}', 422, "found '1.0'"),
    "null": (Complete, b'{"outcome":null}', 422, "outcome"),
    "nothing": (Complete, b"{}", 422, "outcome is missing"),
    "another entry": (Complete, b'{"outcome":1,"unit":"u1"}', 422, "unit is not an entry"),
    "a list": (Complete, b"[1]", 422, "the body"),
    "a text": (Complete, b'"1"', 422, "the body"),
    "NaN": (Complete, b'{"outcome":NaN}', 400, "NaN"),
    "a key twice": (Complete, b'{"outcome":1,"outcome":2}', 400, "twice"),
    "a context of texts": (Enroll, b'{"unit":"u","context":{"x":"1"}}', 422, "context.x"),
    "a context of truths": (Enroll, b'{"unit":"u","context":{"x":false}}', 422, "context.x"),
    "a context of nulls": (Enroll, b'{"unit":"u","context":{"x":null}}', 422, "context.x"),
    "a context that is a list": (Respond, b'{"context":[1]}', 422, "context"),
    "a unit that is a number": (Enroll, b'{"unit":1,"context":{}}', 422, "unit"),
    "a unit of 10 KB": (Enroll, b'{"unit":"' + b"u" * 10_000 + b'","context":{}}', 422, "unit"),
    "a correction without a reason": (Correct, b'{"outcome":1}', 422, "reason is missing"),
    "an arm to close without a stage": (CloseArm, b'{"arm":"a","reason":"harm"}', 422, "stage is missing"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_it_is_refused_with_what_was_found(case: str) -> None:
    kind, text, status, word = REFUSED[case]

    with pytest.raises(Refused, match=word) as refused:
        body_as(body(kind), text)

    assert refused.value.status == status
    assert len(refused.value.detail) < 2000


def test_a_whole_number_is_a_number() -> None:
    outcome = dict(body_as(body(Complete), b'{"outcome":3}'))["outcome"]

    assert (outcome, type(outcome)) == (3.0, float)


def test_everything_that_is_wrong_is_said_at_once() -> None:
    with pytest.raises(Refused) as refused:
        body_as(body(Enroll), b'{"unit":1,"extra":2}')

    assert all(word in refused.value.detail for word in ("unit:", "context is missing", "extra is not"))


def test_what_a_command_may_leave_out_may_be_null() -> None:
    found = dict(body_as(body(Correct), b'{"reason":"typing error","outcome":1,"context":null}'))

    assert found == {"reason": "typing error", "outcome": 1.0, "stage": None, "context": None}
    assert Correct(unit="u1", **found) == Correct("u1", "typing error", 1.0)


def test_a_key_for_an_eternity_is_refused() -> None:
    with pytest.raises(Refused, match="days") as refused:
        body_as(KeyWanted, b'{"role":"site","label":"north","days":1e9}')

    assert refused.value.status == 422


def test_a_lock_needs_its_reason_and_refuses_the_papers_schedule_unless_told() -> None:
    with pytest.raises(Refused, match="reason is missing"):
        body_as(Lock, b"{}")

    assert not body_as(Lock, b'{"reason":"approved"}').paper_schedule


def test_only_a_rotation_may_come_without_its_body() -> None:
    assert [each.name for each in ENDPOINTS if each.body and may_be_left_out(each.body)] == ["rotate_key"]


def test_a_site_sees_of_a_decision_the_arm() -> None:
    design = dtr.Design([dtr.Stage("first", ("a", "b"), "1 + x"), dtr.Stage("second", ("a", "b"), "1 + z")])
    decision = dtr.Session(design, dtr.DTRBandit(q=1, delta=0.5), seed=77).enroll("u1", {"x": 0.5})

    assert set(decision_seen(decision)) == {"unit", "stage", "arm"}
    assert {"round", "q_hat", "explanation"} < set(decision_explained(decision))
    json.dumps(decision_explained(decision), allow_nan=False)
