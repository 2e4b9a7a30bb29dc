"""Heads that go on for ever are cut off (F9), and what is no HTTP is told so."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from contextlib import suppress
from itertools import repeat

import pytest

from extras import needed
from serving.faults import connected, head
from serving.served import Served

needed("uvicorn")
needed("httptools")

from dtrbandit.service.http import MOST_HEAD_BYTES, as_http  # noqa: E402
from dtrbandit.service.problems import Refused  # noqa: E402

PART = 4096
MOST_SENT = 40_000_000  # what buffers of the system may take before a closed connection is noticed


def flood(line: socket.socket, parts: Iterator[bytes]) -> int:
    """Send until the other side has closed, and return how much that was."""
    sent = 0
    with suppress(OSError):
        while sent < MOST_SENT:
            sent += line.send(next(parts))
    return sent


def received(line: socket.socket) -> bytes:
    """Return the answer; nothing where the connection was reset before it could be read."""
    answer = b""
    with suppress(OSError):
        while more := line.recv(65536):
            answer += more
    return answer


ENDLESS = {
    "address": (b"GET /", b"a" * PART),
    "header": (b"GET /live HTTP/1.1\r\nHost: x\r\nX: ", b"a" * PART),
    "headers": (b"GET /live HTTP/1.1\r\nHost: x\r\n", b"X: 1\r\n" * 500),
    "name of a header": (b"GET /live HTTP/1.1\r\nHost: x\r\n", b"a" * PART),
}


@pytest.mark.parametrize("what", ENDLESS)
def test_a_head_without_an_end_is_cut_off(what: str, served: Served) -> None:
    begin, more = ENDLESS[what]
    with connected(served) as line:
        line.sendall(begin)
        sent = flood(line, repeat(more))
        answer = received(line)

    assert sent < MOST_SENT
    assert answer == b"" or answer.startswith((b"HTTP/1.1 431 ", b"HTTP/1.1 400 "))
    assert served.get("/live").status == 200


@pytest.mark.parametrize("more", [b"X: 1\r\n" * 500, b"a" * PART], ids=["trailers", "one trailer"])
def test_trailers_without_an_end_are_cut_off(more: bytes, served: Served, trial: str) -> None:
    body = b'{"unit":"u","context":{"x":1}}'
    with connected(served) as line:
        line.sendall(head(served, trial, "Transfer-Encoding: chunked") + b"%x\r\n%s\r\n0\r\n" % (len(body), body))
        sent = flood(line, repeat(more))
        answer = received(line)

    assert sent < MOST_SENT
    assert answer == b"" or answer.startswith((b"HTTP/1.1 431 ", b"HTTP/1.1 400 "))
    assert served.records(trial) == 1


def test_an_extension_of_a_chunk_without_an_end_is_cut_off(served: Served, trial: str) -> None:
    with connected(served) as line:
        line.sendall(head(served, trial, "Transfer-Encoding: chunked") + b"10;")
        sent = flood(line, repeat(b"a" * PART))

    assert sent < MOST_SENT
    assert served.records(trial) == 1


@pytest.mark.parametrize("headers", [["X: " + "a" * MOST_HEAD_BYTES], ["X: 1"] * MOST_HEAD_BYTES], ids=["one", "many"])
def test_a_head_that_is_too_large_is_told_so(headers: list[str], served: Served, trial: str) -> None:
    with connected(served) as line:
        # one byte too many and no more: a reset, for what nobody read, could overtake the answer
        line.sendall(head(served, trial, *headers)[: MOST_HEAD_BYTES + 1])
        answer = received(line)

    assert answer.startswith(b"HTTP/1.1 431 ")
    assert json.loads(answer.partition(b"\r\n\r\n")[2])["type"] == "urn:dtrbandit:problem:headers"
    assert served.records(trial) == 1


@pytest.mark.parametrize("header", ["X: " + "a" * 7000, "X: 1"], ids=["long", "short"])
def test_a_head_that_is_too_large_is_refused_also_when_it_comes_at_once(header: str, served: Served) -> None:
    lines = ["GET /live HTTP/1.1", "Host: x", *[header] * (MOST_HEAD_BYTES // len(header) + 1), "Connection: close"]
    with connected(served) as line:
        line.sendall(("\r\n".join(lines) + "\r\n\r\n").encode())
        answer = received(line)

    assert answer == b"" or answer.startswith(b"HTTP/1.1 431 ")


def test_a_head_just_below_the_limit_is_taken(served: Served) -> None:
    answer = served.get("/live", headers={"X": "a" * (MOST_HEAD_BYTES - 1000)})

    assert answer.status == 200


def test_requests_one_after_the_other_are_counted_each_for_itself(served: Served) -> None:
    ask = b"GET /live HTTP/1.1\r\nHost: x\r\nX: %s\r\n\r\n" % (b"a" * 20_000)
    last = ask.replace(b"Host", b"Connection: close\r\nHost")
    with connected(served) as line:
        line.sendall(ask * 3 + last)
        answer = received(line)

    assert answer.count(b"HTTP/1.1 200 ") == 4


def test_a_body_in_many_parts_is_no_head(served: Served, trial: str) -> None:
    body = b'{"unit":"u","context":{"x":1}}'.ljust(60_000)
    with connected(served) as line:
        line.sendall(head(served, trial, f"Content-Length: {len(body)}", "Connection: close"))
        for start in range(0, len(body), PART):
            line.sendall(body[start : start + PART])
        answer = received(line)

    assert answer.startswith(b"HTTP/1.1 200 ")


def test_what_is_no_http_is_told_so(served: Served) -> None:
    with connected(served) as line:
        line.sendall(b"\x16\x03\x01 hello\r\n\r\n")
        answer = received(line)

    assert answer.startswith(b"HTTP/1.1 400 ")
    assert json.loads(answer.partition(b"\r\n\r\n")[2])["detail"].startswith("what came is no request")


def test_a_refusal_goes_over_the_connection_whole() -> None:
    told, _, body = as_http(Refused("headers", "too many")).partition(b"\r\n\r\n")

    assert f"content-length: {len(body)}".encode() in told.split(b"\r\n")
    assert json.loads(body)["status"] == 431
