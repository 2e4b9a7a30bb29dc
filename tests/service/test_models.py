"""What bodies may hold (F7)."""

from __future__ import annotations

import pytest

from extras import needed

needed("pydantic")

from dtrbandit.service.json_body import body_as  # noqa: E402
from dtrbandit.service.models import Body, Correction, Enrolment, KeyWanted, Outcome, Response  # noqa: E402
from dtrbandit.service.problems import Refused  # noqa: E402

REFUSED: dict[str, tuple[type[Body], bytes, int, str]] = {
    "a boolean": (Outcome, b'{"outcome":true}', 422, "outcome"),
    "a number as text": (Outcome, b'{"outcome":"1.0"}', 422, "found '1.0'"),
    "null": (Outcome, b'{"outcome":null}', 422, "outcome"),
    "nothing": (Outcome, b"{}", 422, "outcome is missing"),
    "another entry": (Outcome, b'{"outcome":1,"unit":"u1"}', 422, "unit is not an entry"),
    "a list": (Outcome, b"[1]", 422, "the body"),
    "a text": (Outcome, b'"1"', 422, "the body"),
    "NaN": (Outcome, b'{"outcome":NaN}', 400, "NaN"),
    "a key twice": (Outcome, b'{"outcome":1,"outcome":2}', 400, "twice"),
    "a context of texts": (Enrolment, b'{"unit":"u","context":{"x":"1"}}', 422, "context.x"),
    "a context of truths": (Enrolment, b'{"unit":"u","context":{"x":false}}', 422, "context.x"),
    "a context of nulls": (Enrolment, b'{"unit":"u","context":{"x":null}}', 422, "context.x"),
    "a context that is a list": (Response, b'{"context":[1]}', 422, "context"),
    "a unit that is a number": (Enrolment, b'{"unit":1,"context":{}}', 422, "unit"),
    "a unit of 10 KB": (Enrolment, b'{"unit":"' + b"u" * 10_000 + b'","context":{}}', 422, "unit"),
    "a correction without a reason": (Correction, b'{"outcome":1}', 422, "reason is missing"),
    "a key for an eternity": (KeyWanted, b'{"role":"site","label":"north","days":1e9}', 422, "days"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_it_is_refused_with_what_was_found(case: str) -> None:
    kind, body, status, word = REFUSED[case]

    with pytest.raises(Refused, match=word) as refused:
        body_as(kind, body)

    assert refused.value.status == status
    assert len(refused.value.detail) < 2000


def test_a_whole_number_is_a_number() -> None:
    outcome = body_as(Outcome, b'{"outcome":3}').outcome

    assert (outcome, type(outcome)) == (3.0, float)


def test_everything_that_is_wrong_is_said_at_once() -> None:
    with pytest.raises(Refused) as refused:
        body_as(Enrolment, b'{"unit":1,"extra":2}')

    assert all(word in refused.value.detail for word in ("unit:", "context is missing", "extra is not"))
