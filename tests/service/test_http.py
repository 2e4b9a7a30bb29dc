"""Heads that go on for ever are cut off (F9), wrong headers are told, and no body is read as a request."""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import Iterator, MutableMapping
from contextlib import suppress
from itertools import repeat
from select import select
from typing import Any

import pytest

from extras import needed
from serving.faults import connected, head
from serving.served import Served

needed("uvicorn")
needed("httptools")

from starlette.requests import ClientDisconnect  # noqa: E402
from starlette.types import Receive  # noqa: E402

from dtrbandit.service.http import MOST_HEAD_BYTES, as_http, read_body, wrong_headers  # noqa: E402
from dtrbandit.service.problems import Refused  # noqa: E402
from serving.edge import NEXT, Edge, answered, asked, received, sent, until  # noqa: E402

PART = 4096
MOST_SENT = 40_000_000  # what buffers of the system may take before a closed connection is noticed


def flood(line: socket.socket, parts: Iterator[bytes]) -> int:
    """Send until the other side has closed, and return how much that was."""
    sent = 0
    with suppress(OSError):
        while sent < MOST_SENT:
            sent += line.send(next(parts))
    return sent


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


# -- no byte of a body is read as a request ----------------------------------------------------------------------


@pytest.fixture(scope="module")
def edge() -> Iterator[Edge]:
    """A server whose application notes what reaches it."""
    server = Edge()
    yield server
    server.stop()


@pytest.fixture(autouse=True)
def forgotten(edge: Edge) -> None:
    edge.begun.clear()
    edge.read.clear()


OFFERS = {
    "h2c": ("Connection: Upgrade, HTTP2-Settings", "Upgrade: h2c", "HTTP2-Settings: AAMAAABkAAQAoAAAAAIAAAAA"),
    "websocket": ("Connection: keep-alive, Upgrade", "Upgrade: websocket"),
}


@pytest.mark.parametrize("chunked", [False, True], ids=["length", "chunked"])
@pytest.mark.parametrize("later", [False, True], ids=["at once", "later"])
@pytest.mark.parametrize("offer", OFFERS)
def test_an_upgrade_is_declined_and_the_body_is_a_body(offer: str, later: bool, chunked: bool, edge: Edge) -> None:
    framing = "Transfer-Encoding: chunked" if chunked else f"Content-Length: {len(NEXT)}"
    body = b"%x\r\n%s\r\n0\r\n\r\n" % (len(NEXT), NEXT) if chunked else NEXT
    with edge.connect() as line:
        line.sendall(asked("POST", "/echo", *OFFERS[offer], framing) + (b"" if later else body + NEXT))
        until(lambda: edge.begun)
        if later:
            line.sendall(body)
            line.sendall(NEXT)
        answer = received(line)

    assert answer.startswith(b"HTTP/1.1 200 ")
    assert b"connection: close" in answer
    assert edge.begun == ["/echo"]
    assert edge.read == [NEXT]


def test_an_upgrade_without_a_body_is_declined(edge: Edge) -> None:
    with edge.connect() as line:
        line.sendall(asked("GET", "/echo", *OFFERS["h2c"]))
        answer = received(line)

    assert answer.startswith(b"HTTP/1.1 200 ")
    assert edge.read == [b""]


@pytest.mark.parametrize("more", [[], ["Expect: 100-continue"], [*OFFERS["h2c"]]], ids=["plain", "expect", "h2c"])
@pytest.mark.parametrize("framing", [f"Content-Length: {len(NEXT)}", "Transfer-Encoding: chunked"])
@pytest.mark.parametrize("method", ["POST", "GET", "HEAD", "OPTIONS"])
def test_an_answer_before_the_body_ends_the_connection(method: str, framing: str, more: list[str], edge: Edge) -> None:
    with edge.connect() as line:
        line.sendall(asked(method, "/early", framing, *more))
        answer = answered(line)
        sent(line, NEXT)
        rest = received(line)

    assert answer.startswith(b"HTTP/1.1 404 ")
    assert b"connection: close" in answer
    assert rest == b""
    assert edge.begun == ["/early"]


@pytest.mark.parametrize("size", [50_000, 900_000])
@pytest.mark.parametrize("path", ["/early", "/echo"], ids=["by the application", "by the head"])
def test_whoever_is_refused_before_the_body_has_come_hears_it(path: str, size: int, edge: Edge) -> None:
    wrong = () if path == "/early" else ("Content-Encoding: gzip",)
    with edge.connect() as line:
        line.sendall(asked("POST", path, f"Content-Length: {size}", *wrong))
        until(lambda: line.recv(1, socket.MSG_PEEK))  # it is answered already
        line.sendall(b"x" * size)  # and sends all the same, as most clients do
        answer = received(line)

    assert answer.startswith(b"HTTP/1.1 404 " if path == "/early" else b"HTTP/1.1 415 ")
    assert b"connection: close" in answer


def test_a_refused_client_that_never_stops_is_cut_off(edge: Edge) -> None:
    with edge.connect() as line:
        line.sendall(asked("POST", "/early", "Content-Length: 1000000000"))
        sent = flood(line, repeat(b"x" * PART))

    assert sent < MOST_SENT


def test_an_answer_after_a_body_that_nobody_read_leaves_the_connection_open(edge: Edge) -> None:
    with edge.connect() as line:
        line.sendall(asked("POST", "/early", f"Content-Length: {len(NEXT)}") + NEXT)
        first = answered(line)
        line.sendall(asked("GET", "/echo"))
        second = answered(line)

    assert b"connection: close" not in first
    assert second.startswith(b"HTTP/1.1 200 ")
    assert edge.begun == ["/early", "/echo"]


AMBIGUOUS = {
    "both lengths": ["Transfer-Encoding: chunked", "Content-Length: 4"],
    "the other way": ["Content-Length: 4", "Transfer-Encoding: chunked"],
    "two lengths": ["Content-Length: 4", "Content-Length: 5"],
    "the same length twice": ["Content-Length: 4", "Content-Length: 4"],
    "a list of lengths": ["Content-Length: 4, 4"],
    "a sign": ["Content-Length: +4"],
    "a space before the colon": ["Content-Length : 4"],
    "another encoding": ["Transfer-Encoding: gzip, chunked"],
    "chunked not last": ["Transfer-Encoding: chunked, identity"],
    "nearly chunked": ["Transfer-Encoding: xchunked"],
    "chunked twice": ["Transfer-Encoding: chunked", "Transfer-Encoding: chunked"],
    "a folded header": ["Transfer-Encoding:", " chunked"],
}


@pytest.mark.parametrize("what", AMBIGUOUS)
@pytest.mark.parametrize("offer", [[], [*OFFERS["h2c"]]], ids=["plain", "h2c"])
def test_a_body_of_doubtful_length_is_refused(what: str, offer: list[str], edge: Edge) -> None:
    with edge.connect() as line:
        line.sendall(asked("POST", "/echo", *AMBIGUOUS[what], *offer))
        answer = answered(line)
        sent(line, NEXT)
        rest = received(line)

    assert answer.startswith((b"HTTP/1.1 400 ", b"HTTP/1.1 415 "))
    assert b"application/problem+json" in answer
    assert rest == b""
    assert edge.read == []


@pytest.mark.parametrize(
    "head",
    [
        b"CONNECT x:80 HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\n\r\n",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        b"POST /echo HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n",
        b"POST /echo HTTP/1.1\nHost: x\nContent-Length: 4\n\n",
    ],
    ids=["connect", "preface of HTTP/2", "chunks in HTTP/1.0", "bare line feeds"],
)
def test_what_is_no_request_of_ours_ends_the_connection(head: bytes, edge: Edge) -> None:
    with edge.connect() as line:
        line.sendall(head)
        answer = answered(line)
        sent(line, NEXT)
        rest = received(line)

    assert answer.startswith(b"HTTP/1.1 400 ")
    assert rest == b""
    assert edge.read == []


@pytest.mark.parametrize("chunk", [b"x\r\n", b"4\r\nabcdX", b"-1\r\n"], ids=["no number", "too long", "negative"])
def test_a_chunk_that_is_none_ends_the_request_and_the_connection(chunk: bytes, edge: Edge) -> None:
    with edge.connect() as line:
        line.sendall(asked("POST", "/echo", "Transfer-Encoding: chunked"))
        until(lambda: edge.begun)
        line.sendall(chunk)
        answer = answered(line)
        sent(line, NEXT)
        rest = received(line)

    assert answer.startswith(b"HTTP/1.1 400 ")
    assert rest == b""
    assert edge.begun == ["/echo"]
    assert edge.read == []


def test_a_request_that_came_whole_is_answered_though_the_next_ones_body_is_broken(edge: Edge) -> None:
    edge.go.clear()
    begun = len(edge.begun)
    with edge.connect() as line:
        line.sendall(asked("POST", "/wait", "Content-Length: 4") + b"that")
        until(lambda: len(edge.begun) > begun)
        line.sendall(asked("POST", "/echo", "Transfer-Encoding: chunked") + b"zz\r\n")
        edge.go.set()
        answer = received(line)

    first, _, second = answer.partition(b"that")
    assert first.startswith(b"HTTP/1.1 200 ")
    assert second.startswith(b"HTTP/1.1 400 ")


@pytest.mark.parametrize("name", ["Authorization", "X-Forwarded-For", "Content-Encoding", "Dtrbandit-Log"])
def test_a_trailer_is_no_header(name: str, edge: Edge) -> None:
    with edge.connect() as line:
        line.sendall(asked("POST", "/echo", "Transfer-Encoding: chunked") + b"2\r\nok\r\n0\r\n")
        line.sendall(f"{name}: gzip\r\n\r\n".encode())
        answer = answered(line)

    assert answer.endswith(b"ok")
    assert name.lower().encode() not in dict(edge.headers[-1])


def test_requests_that_came_whole_are_answered_before_what_is_no_http_ends_the_connection(edge: Edge) -> None:
    body = asked("POST", "/echo", "Content-Length: 3") + b"one"
    with edge.connect() as line:
        line.sendall(body + body.replace(b"one", b"two") + b"\x00 is no request\r\n\r\n")
        answer = received(line)

    assert [part[-3:] for part in answer.split(b"HTTP/1.1 200 ")[1:]] == [b"one", b"two"]
    assert b" 400 " not in answer
    assert edge.read == [b"one", b"two"]


@pytest.mark.parametrize("path", ["/trials/{}/units", "/trials/{}/nowhere", "/ui/login", "/ui/nowhere", "/live"])
@pytest.mark.parametrize("offer", [(), OFFERS["h2c"]], ids=["plain", "h2c"])
def test_no_body_runs_as_a_request_of_the_service(
    path: str, offer: tuple[str, ...], served: Served, trial: str
) -> None:
    reason = b'{"reason":"nobody asked for this"}'
    hidden = head(served, trial, f"Content-Length: {len(reason)}").replace(b"/units", b"/hold") + reason
    with connected(served) as line:
        line.sendall(
            asked("POST", path.format(trial.removeprefix("/trials/")), f"Content-Length: {len(hidden)}", *offer)
        )
        early, _, _ = select([line], [], [], 0.2)  # otherwise it waits for the body
        answer = answered(line) if early else b""
        sent(line, hidden)
        answer = answer or answered(line)
        with suppress(OSError):  # it is closed already
            line.shutdown(socket.SHUT_WR)
        answer += received(line)

    assert answer.count(b"HTTP/1.1 ") == 1
    assert answer.startswith(b"HTTP/1.1 4")
    assert served.records(trial) == 1


# -- headers that are doubled, missing or say what is not so -----------------------------------------------------

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
    head = "\r\n".join([*lines, f"Content-Length: {len(body)}", "Connection: close"]) + "\r\n\r\n"
    with connected(served) as line:
        line.sendall(head.encode() + body)  # at once: an answer may come, and the connection end, before a body does
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


# -- bytes of a body ---------------------------------------------------------------------------------------------


def coming(*parts: bytes, then: str | None = None) -> Receive:
    """Return a connection on which these parts come, and then nothing more, or a disconnect."""
    messages = [{"type": "http.request", "body": part, "more_body": True} for part in parts]
    if then is None:
        messages[-1]["more_body"] = False
    else:
        messages.append({"type": then})

    async def receive() -> MutableMapping[str, Any]:
        if messages:
            return messages.pop(0)
        await asyncio.Event().wait()
        raise AssertionError

    return receive


def read(receive: Receive, **limits: Any) -> bytes:
    return asyncio.run(read_body(receive, **limits))


@pytest.mark.parametrize("parts", [(b"whole",), (b"wh", b"", b"ole"), (b"whole", b"")])
def test_a_body_is_read_in_however_many_parts(parts: tuple[bytes, ...]) -> None:
    assert read(coming(*parts)) == b"whole"


def test_a_request_without_a_body_has_an_empty_one() -> None:
    assert read(coming(b"")) == b""


@pytest.mark.parametrize("parts", [(b"x" * 11,), (b"x" * 10, b"x"), (b"x",) * 11])
def test_one_byte_too_many_is_refused(parts: tuple[bytes, ...]) -> None:
    with pytest.raises(Refused, match="more than 10 bytes") as refused:
        read(coming(*parts), most=10)

    assert refused.value.status == 413


def test_no_more_is_read_after_one_byte_too_many() -> None:
    receive = coming(b"x" * 11, b"never read")

    with pytest.raises(Refused):
        read(receive, most=10)

    assert asyncio.run(receive_once(receive)) == b"never read"


async def receive_once(receive: Receive) -> object:
    return (await receive())["body"]


def test_a_body_that_stops_coming_is_refused() -> None:
    async def slow() -> MutableMapping[str, Any]:
        await asyncio.Event().wait()
        raise AssertionError

    with pytest.raises(Refused, match="seconds") as refused:
        read(slow, seconds=0.01)

    assert refused.value.status == 408


def test_a_client_that_left_gets_no_answer() -> None:
    with pytest.raises(ClientDisconnect):
        read(coming(b"half", then="http.disconnect"))
