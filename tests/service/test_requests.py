"""What OpenAPI is told, and how replies are written; requests themselves are tried in the tests of the endpoints."""

from __future__ import annotations

from extras import needed

needed("fastapi")

from dtrbandit.service.models import Outcome, Recorded  # noqa: E402
from dtrbandit.service.requests import described, replied  # noqa: E402


def test_a_reply_is_compact_json_and_says_if_it_repeats() -> None:
    first, again = replied({"unit": "ü"}), replied({"unit": "ü"}, repeated=True)

    assert first.body == again.body == b'{"unit":"\\u00fc"}'
    assert "repeated" not in first.headers
    assert again.headers["repeated"] == "true"


def test_a_body_that_we_read_ourselves_is_described() -> None:
    said = described("record_outcome", body=Outcome, reply=Recorded)

    schema = said["openapi_extra"]["requestBody"]["content"]["application/json"]["schema"]
    assert schema["required"] == ["outcome"]
    assert "$defs" not in str(said)
    assert {"4XX", "503", 200} == set(said["responses"])
