"""Heads that do not come, too many connections, and a server that stops (F9)."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from contextlib import suppress

import pytest

from extras import needed

needed("uvicorn")
needed("httptools")

from dtrbandit.service.connections import Limits  # noqa: E402
from serving.edge import Edge, answered, asked, received, sent, until  # noqa: E402


def served_over(line: socket.socket) -> bytes:
    line.sendall(asked("GET", "/echo"))
    return answered(line)


@pytest.fixture(scope="module")
def hasty() -> Iterator[Edge]:
    """A server that waits half a second for a head."""
    server = Edge(Limits(seconds_for_head=0.5))
    yield server
    server.stop()


PARTS = [b"G", b"GET /echo HTTP/1.1", b"GET /echo HTTP/1.1\r\nHost: x\r\n", b"\r\n"]


@pytest.mark.parametrize("before", [False, True], ids=["first", "after another"])
def test_half_a_head_is_told_that_it_took_too_long(before: bool, hasty: Edge) -> None:
    lines = []
    for part in PARTS:
        lines.append(hasty.connect())
        if before:
            served_over(lines[-1])
        lines[-1].sendall(part)

    for line in lines:
        with line:
            answer = received(line)
        assert answer.startswith(b"HTTP/1.1 408 ")
        assert json.loads(answer.partition(b"\r\n\r\n")[2])["detail"].startswith("address and headers were not there")


def test_a_header_now_and_then_does_not_keep_a_connection(hasty: Edge) -> None:
    with hasty.connect() as line:
        line.sendall(b"GET /echo HTTP/1.1\r\nHost: x\r\n")
        line.settimeout(0.01)
        answer = b""
        while not answer:
            sent(line, b"X: 1\r\n")
            with suppress(TimeoutError):
                answer = line.recv(65536)

    assert answer.startswith(b"HTTP/1.1 408 ")


def test_whoever_says_nothing_is_hung_up_on(hasty: Edge) -> None:
    with hasty.connect() as line:
        assert received(line) == b""


def test_a_connection_may_rest_between_requests(hasty: Edge) -> None:
    with hasty.connect() as line, hasty.connect() as silent:
        served_over(line)
        received(silent)  # so much later that a head would have been too late

        assert served_over(line).startswith(b"HTTP/1.1 200 ")


def test_a_request_under_way_is_answered_though_the_next_head_is_late(hasty: Edge) -> None:
    hasty.go.clear()
    with hasty.connect() as line, hasty.connect() as silent:
        line.sendall(asked("GET", "/wait") + b"GET /ec")
        received(silent)
        hasty.go.set()
        answer = received(line)

    assert answer.startswith(b"HTTP/1.1 200 ")
    assert answer.count(b"HTTP/1.1 ") == 1


# -- too many connections ----------------------------------------------------------------------------------------


@pytest.fixture
def small() -> Iterator[Edge]:
    server = Edge(Limits(connections=3, per_address=2))
    yield server
    server.stop()


def test_one_connection_too_many_is_refused_in_words_and_the_others_go_on(small: Edge) -> None:
    with small.connect() as one, small.connect() as two, small.connect("127.0.0.2") as three:
        for line in (one, two, three):
            assert served_over(line).startswith(b"HTTP/1.1 200 ")
        with small.connect("127.0.0.3") as more:
            sent(more, asked("POST", "/echo", "Content-Length: 4") + b"body")
            refused = received(more)

        assert served_over(one).startswith(b"HTTP/1.1 200 ")

    head, _, body = refused.partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 503 ")
    assert b"retry-after: 1\r\n" in head
    assert json.loads(body)["type"] == "urn:dtrbandit:problem:connections"


def test_one_address_cannot_take_all_connections(small: Edge) -> None:
    with small.connect() as one, small.connect() as two:
        assert served_over(one)
        assert served_over(two)
        with small.connect() as more:
            assert b"from your address" in received(more)
        with small.connect("127.0.0.2") as other:
            assert served_over(other).startswith(b"HTTP/1.1 200 ")
    until(lambda: not small.server._gate._open)
    with small.connect() as line:
        assert served_over(line).startswith(b"HTTP/1.1 200 ")


def test_the_address_of_a_proxy_has_no_limit_of_its_own() -> None:
    server = Edge(Limits(connections=3, per_address=1), behind_proxy=True)
    with server.connect() as one, server.connect() as two:
        assert served_over(one)
        assert served_over(two)
    server.stop()


def test_whoever_is_turned_away_takes_no_place_for_long() -> None:
    """Files are left for the trials: of those for whom there is no room only some are told so."""
    server = Edge(Limits(connections=1, turned_away=2, seconds_to_linger=3600.0))
    with server.connect() as inside:
        assert served_over(inside)
        told = [server.connect() for _ in range(2)]
        assert all(b"503" in answered(line) for line in told)
        for _ in range(20):
            with server.connect() as more:
                assert received(more) == b""
        for line in told:
            line.close()
        until(lambda: server.server._gate._turned_away == 0)
        with server.connect() as again:
            assert b"503" in answered(again)
        assert served_over(inside).startswith(b"HTTP/1.1 200 ")
    server.stop()


# -- a server that stops -----------------------------------------------------------------------------------------


def test_a_stop_finishes_what_was_read_and_refuses_what_is_new() -> None:
    server = Edge()
    with server.connect() as slow, server.connect() as whole, server.connect() as idle:
        served_over(idle)
        slow.sendall(asked("POST", "/echo", "Content-Length: 4"))
        whole.sendall(asked("POST", "/wait", "Content-Length: 4") + b"that" + asked("GET", "/echo"))
        until(lambda: len(server.begun) == 3)
        server.leave()
        new = server.connect()
        refused = [served_over(idle), received(new)]
        new.close()
        server.go.set()
        slow.sendall(b"this")
        answers = received(slow), received(whole)
    server.stop()

    assert answers[0].endswith(b"\r\n\r\nthis")
    assert b"connection: close" in answers[0]
    assert answers[1].count(b"HTTP/1.1 200 ") == 2
    for answer in refused:
        assert answer.startswith(b"HTTP/1.1 503 ")
        assert b"retry-after: 1" in answer
        assert b"urn:dtrbandit:problem:stopping" in answer


def test_a_request_that_takes_longer_than_a_stop_is_told_so_in_words() -> None:
    server = Edge(Limits(seconds_to_finish=0.3))
    with server.connect() as line:
        line.sendall(asked("POST", "/wait", "Content-Length: 4") + b"that")
        until(lambda: server.begun)
        server.leave()
        answer = received(line)
    server.stop()

    assert answer.startswith(b"HTTP/1.1 503 ")
    assert "whether it was recorded is not known" in json.loads(answer.partition(b"\r\n\r\n")[2])["detail"]
