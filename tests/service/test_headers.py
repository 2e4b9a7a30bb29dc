"""Headers that are doubled, missing or say what is not so are refused in words."""

from __future__ import annotations

import json

import pytest

from dtrbandit.service.headers import wrong_headers
from serving.faults import connected
from serving.served import Served

HOST = (b"host", b"x")


@pytest.mark.parametrize("name", [b"authorization", b"idempotency-key", b"dtrbandit-log", b"content-type", b"host"])
def test_a_header_that_counts_may_be_there_once(name: bytes) -> None:
    refused = wrong_headers([HOST, (name, b"one"), (name, b"one")])

    assert refused is not None
    assert refused.status == 400
    assert "twice" in refused.detail
    assert refused.remedy.startswith("Send ")


def test_others_may_be_there_twice() -> None:
    assert wrong_headers([HOST, (b"x-forwarded-for", b"1.2.3.4"), (b"x-forwarded-for", b"5.6.7.8")]) is None


def test_a_host_is_needed_since_http_1_1() -> None:
    refused = wrong_headers([])

    assert refused is not None
    assert refused.status == 400
    assert "host" in refused.detail
    assert wrong_headers([], "1.0") is None


def test_http_2_is_no_version_of_this_service() -> None:
    refused = wrong_headers([HOST], "2.0")

    assert refused is not None
    assert "HTTP/2.0" in refused.detail


@pytest.mark.parametrize("name", [b"content-encoding", b"transfer-encoding"])
def test_a_compressed_body_is_refused(name: bytes) -> None:
    refused = wrong_headers([HOST, (name, b"gzip")])

    assert refused is not None
    assert refused.status == 415
    assert "'gzip'" in refused.detail
    assert "not compressed" in refused.remedy
    assert wrong_headers([HOST, (b"content-encoding", b"identity"), (b"transfer-encoding", b"Chunked")]) is None


def told(served: Served, *lines: str) -> tuple[int, str]:
    """Return the status and the detail that an enrolment with these lines gets."""
    body = b'{"unit":"u","context":{"x":1}}'
    with connected(served) as line:
        line.sendall(("\r\n".join([*lines, f"Content-Length: {len(body)}", "Connection: close"]) + "\r\n\r\n").encode())
        line.sendall(body)
        answer = b""
        while more := line.recv(65536):
            answer += more
    document = json.loads(answer.partition(b"\r\n\r\n")[2])
    return int(answer[9:12]), document.get("detail", "")


def test_the_service_refuses_them_and_records_nothing(served: Served, trial: str) -> None:
    begin, key = f"POST {trial}/units HTTP/1.1", f"Authorization: Bearer {served.key}"

    assert told(served, begin, "Host: x", key, key) == (400, "the request has the header authorization twice")
    assert told(served, begin, key) == (400, "the request has no header host")
    assert told(served, begin, "Host: x", "Host: x", key)[0] == 400
    assert told(served, begin, "Host: x", key, "Idempotency-Key: 1", "Idempotency-Key: 2")[0] == 400
    assert told(served, begin, "Host: x", key, "Content-Encoding: gzip")[0] == 415
    assert told(served, begin, "Host: x", key, "Content-Type: text/plain")[0] == 415
    assert served.records(trial) == 1
    assert told(served, begin, "Host: x", key, "Content-Type: application/json") == (200, "")
    assert served.records(trial) == 3
