"""Heads that do not come, too many connections, a server that stops (F9); and wrong keys, limited by address."""

from __future__ import annotations

import asyncio
import json
import socket
import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from extras import needed

needed("uvicorn")
needed("httptools")

from dtrbandit.service import limits  # noqa: E402
from dtrbandit.service.app import Application  # noqa: E402
from dtrbandit.service.limits import MOST_WRONG, Limits, WrongKeys, address_of, names_a_key  # noqa: E402
from dtrbandit.service.problems import Refused  # noqa: E402
from dtrbandit.service.service import Service  # noqa: E402
from dtrbandit.service.writer import WriteProbe  # noqa: E402
from serving.edge import Edge, answered, asked, received, sent, until  # noqa: E402
from serving.served import Served  # noqa: E402


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
    until(lambda: not small.server._limiter._open)
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
        until(lambda: server.server._limiter._turned_away == 0)
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


def test_a_request_that_takes_longer_than_a_stop_is_told_so_in_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun = threading.Event()

    async def wait(_: WriteProbe) -> None:
        begun.set()
        await asyncio.sleep(60)

    monkeypatch.setattr(WriteProbe, "require_writable", wait)
    service = Service(f"sqlite:///{tmp_path}/trial.db")
    server = Edge(Limits(seconds_to_finish=0.3), application=Application(service))
    until(lambda: service.ready)
    with server.connect() as line:
        line.sendall(asked("GET", "/ready"))
        until(begun.is_set)
        server.leave()
        answer = received(line)
    server.stop()

    assert answer.startswith(b"HTTP/1.1 503 ")
    assert "whether it was recorded is not known" in json.loads(answer.partition(b"\r\n\r\n")[2])["detail"]


# -- wrong keys --------------------------------------------------------------------------------------------------


class Clock:
    """Seconds as they are told."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


def refused(limit: WrongKeys, address: str) -> int | None:
    """Return how long a wrong key must wait, None if it is only wrong."""
    try:
        limit.note(address)
    except Refused as error:
        return int(error.headers["Retry-After"])
    return None


def test_after_so_many_wrong_keys_within_a_minute_an_address_must_wait() -> None:
    clock = Clock()
    limit = WrongKeys(clock)

    waits = []
    for _ in range(20):
        waits.append(refused(limit, "192.0.2.7"))
        clock.now += 1.0

    assert waits == [None] * MOST_WRONG + list(range(50, 40, -1))
    assert refused(limit, "192.0.2.8") is None


def test_whoever_waits_may_try_again_and_what_was_refused_does_not_count() -> None:
    clock = Clock()
    limit = WrongKeys(clock)
    for _ in range(MOST_WRONG + 50):
        refused(limit, "192.0.2.7")

    clock.now += 59.5
    assert refused(limit, "192.0.2.7") == 1
    clock.now += 0.5

    assert [refused(limit, "192.0.2.7") for _ in range(MOST_WRONG + 1)] == [None] * MOST_WRONG + [60]


def test_it_remembers_a_bounded_number_of_addresses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "MOST_ADDRESSES", 100)
    limit = WrongKeys(Clock())

    for number in range(1000):
        refused(limit, f"10.0.{number // 256}.{number % 256}")
        refused(limit, "192.0.2.7")  # which is never silent for long

    assert len(limit) == 100
    assert refused(limit, "192.0.2.7") == 60


def scope(peer: str | None, *forwarded: bytes) -> dict[str, object]:
    return {"client": peer and (peer, 4711), "headers": [(b"x-forwarded-for", each) for each in forwarded]}


def test_the_address_is_that_of_the_connection_unless_a_proxy_is_trusted() -> None:
    told = scope("10.0.0.2", b"192.0.2.7")

    assert address_of(told, behind_proxy=False) == "10.0.0.2"
    assert address_of(told, behind_proxy=True) == "192.0.2.7"
    assert address_of(scope("10.0.0.2"), behind_proxy=True) == "10.0.0.2"
    assert address_of(scope(None), behind_proxy=True) == address_of(scope(None), behind_proxy=False) == "unknown"


def test_what_a_client_says_of_itself_before_the_proxy_does_not_count() -> None:
    for told in (scope("10.0.0.2", b"1.1.1.1, 192.0.2.7"), scope("10.0.0.2", b"1.1.1.1", b" 192.0.2.7 ")):
        assert address_of(told, behind_proxy=True) == "192.0.2.7"
    for odd in (b"", b"unknown", b"\xff", b"1.1.1.1,", b"x" * 10_000):
        assert address_of(scope("10.0.0.2", odd), behind_proxy=True) == "10.0.0.2"


def test_of_an_ipv6_address_the_network_counts() -> None:
    first, second, other = "2001:db8:1:2::7", "2001:db8:1:2:ffff::1", "2001:db8:1:3::7"

    one, two, three = (address_of(scope(each), behind_proxy=False) for each in (first, second, other))

    assert one == two != three


def test_ipv4_addresses_that_an_ipv6_socket_writes_are_told_apart() -> None:
    mapped = [address_of(scope(f"::ffff:192.0.2.{last}"), behind_proxy=False) for last in (7, 8)]

    assert mapped == ["192.0.2.7", "192.0.2.8"]


def test_a_request_without_a_key_has_no_wrong_one() -> None:
    assert [names_a_key(text) for text in (None, "", "Bearer", "Bearer  ")] == [False] * 4
    assert [names_a_key(text) for text in ("Bearer x", "Basic abc")] == [True] * 2


def test_over_http_wrong_keys_get_429_and_a_valid_one_opens_from_the_same_address(served: Served) -> None:
    here, there = ({"X-Forwarded-For": address} for address in ("192.0.2.77", "192.0.2.78"))

    answers = [served.get("/trials", key="nonsense", headers=here) for _ in range(MOST_WRONG)]
    tries = iter(range(100 * MOST_WRONG))
    while answers[-1].status == 401 and next(tries, None) is not None:  # more only if a minute has passed meanwhile
        answers.append(served.get("/trials", key="nonsense", headers=here))

    limited = answers[-1]
    assert [answer.status for answer in answers[:MOST_WRONG]] == [401] * MOST_WRONG
    assert limited.status == limited.json["status"] == 429
    assert 1 <= int(limited.headers["retry-after"]) <= 60
    assert limited.headers["content-type"] == "application/problem+json"
    assert served.get("/trials", key="nonsense", headers=there).status == 401
    assert served.get("/trials", headers=here).status == 200
    assert served.get("/trials", key="", headers=here).status == 401
