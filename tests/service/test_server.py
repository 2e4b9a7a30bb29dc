"""A server that is killed, stopped, starved and flooded (F1, F9), and where it may listen."""

from __future__ import annotations

import http.client
import json
import resource
import signal
import socket
import threading
import time
from collections.abc import Iterator, MutableMapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

import dtrbandit as dtr
from extras import needed
from serving.faults import Nurse, assert_on_record, connected, head
from serving.served import WITHIN, Answer, Served

needed("uvicorn")

from dtrbandit.service.limits import ConnectionLimiter  # noqa: E402
from dtrbandit.service.server import Server, bound, require_safe, reserved  # noqa: E402
from serving.edge import until  # noqa: E402

KILLS, CLIENTS = 3, 8


@pytest.fixture
def own(tmp_path: Path) -> Iterator[Served]:
    """A service that a test may hurt."""
    service = Served(tmp_path)
    yield service
    if service.process.poll() is None:
        service.stop()


def test_no_acknowledged_decision_is_lost_when_the_server_is_killed(own: Served) -> None:
    trial = own.create("killed")
    nurses = [Nurse(own, trial, number) for number in range(CLIENTS)]
    for nurse in nurses:
        nurse.start()

    for kill in range(KILLS):
        seen = sum(len(nurse.told) for nurse in nurses)
        ends = time.monotonic() + WITHIN
        while sum(len(nurse.told) for nurse in nurses) < seen + 40 + 7 * kill and time.monotonic() < ends:
            time.sleep(0.01)
        own.kill()
        own.start()
    for nurse in nurses:
        nurse.over = True
    for nurse in nurses:
        nurse.join(WITHIN)

    acknowledged = {what: body for nurse in nurses for what, body in nurse.told.items()}
    assert len(acknowledged) >= 40 * KILLS
    own.stop()
    assert_on_record(own, "killed", acknowledged)


def test_a_stop_finishes_what_was_asked(own: Served) -> None:
    trial = own.create("stopped")
    answers: list[Answer | None] = [None] * 30

    def enrol(number: int) -> None:
        with suppress(OSError, http.client.HTTPException):  # it came after the stop
            answers[number] = own.post(f"{trial}/units", {"unit": f"u{number}", "context": {"x": 0.5}})

    threads = [threading.Thread(target=enrol, args=(number,)) for number in range(30)]
    for thread in threads:
        thread.start()
    code = own.stop()
    for thread in threads:
        thread.join(WITHIN)

    told = {
        (json.loads(answer.body)["unit"], "units"): answer.body
        for answer in answers
        if answer is not None and answer.status == 200
    }
    assert code == 0
    assert_on_record(own, "stopped", told)


def test_a_stop_finishes_a_request_whose_body_is_still_to_come_and_refuses_new_ones(own: Served) -> None:
    trial, body = own.create("stopped"), b'{"unit":"u1","context":{"x":0.5}}'
    with connected(own) as line:
        line.sendall(head(own, trial, f"Content-Length: {len(body)}", "Expect: 100-continue"))
        assert line.recv(4096).startswith(b"HTTP/1.1 100 ")  # the service waits for the body
        own.process.send_signal(signal.SIGTERM)
        while (refused := own.get("/live")).status == 200:  # until the signal has come
            pass
        line.sendall(body)
        answer = line.recv(65536)
        while more := line.recv(65536):
            answer += more
    code = own._ended()

    assert refused.status == 503
    assert refused.headers["retry-after"] == "1"
    assert refused.json["type"] == "urn:dtrbandit:problem:stopping"
    assert answer.startswith(b"HTTP/1.1 200 ")
    assert code == 0
    assert_on_record(own, "stopped", {("u1", "units"): answer.partition(b"\r\n\r\n")[2]})


def test_a_stop_before_the_server_runs_is_not_lost() -> None:
    began: list[str] = []

    async def answer(scope: MutableMapping[str, Any], *_: object) -> None:
        began.append(scope["type"])

    server = Server(answer, ConnectionLimiter())
    server.handle_exit(signal.SIGTERM, None)
    with bound("127.0.0.1", 0) as place:
        thread = threading.Thread(target=server.run, kwargs={"sockets": [place]}, daemon=True)
        thread.start()
        thread.join(WITHIN)

    assert not thread.is_alive()
    assert set(began) <= {"lifespan"}


# -- F12 -------------------------------------------------------------------------------------------------------


@pytest.mark.skipif(not hasattr(resource, "prlimit"), reason="needs a limit on the size of files")
def test_a_full_disk_gives_no_arm_and_heals(own: Served) -> None:
    """A limit on the size of files stands for a disk that is full: SQLite fails in the same way."""
    trial = own.create("full")

    def enrol(unit: str) -> Answer:
        return own.post(f"{trial}/units", {"unit": unit, "context": {"x": 0.5}})

    first = enrol("u1")
    _, hard = resource.prlimit(own.process.pid, resource.RLIMIT_FSIZE)
    resource.prlimit(own.process.pid, resource.RLIMIT_FSIZE, (100, hard))
    until(lambda: own.try_ready() == 503)  # though nobody has tried to enrol
    refused = [enrol(f"full{number}") for number in range(5)]
    again = enrol("u1")
    not_ready = own.get("/ready")
    resource.prlimit(own.process.pid, resource.RLIMIT_FSIZE, (hard, hard))
    until(lambda: own.try_ready() == 200)
    healed = enrol("u2")

    assert {answer.status for answer in refused} == {503}
    assert {answer.headers["retry-after"] for answer in refused} == {"1"}
    assert again.status in (200, 503)
    assert not_ready.status == 503
    assert not_ready.headers["retry-after"] == "1"
    assert not_ready.json["detail"].startswith("the database cannot be written now")
    assert healed.status == 200
    assert enrol("u1").body == first.body
    assert own.records(trial) == 5
    own.stop()
    assert_on_record(own, "full", {("u1", "units"): first.body, ("u2", "units"): healed.body})


# -- F9 --------------------------------------------------------------------------------------------------------


def test_a_body_of_64_kb_is_read_and_one_byte_more_refused(served: Served, trial: str) -> None:
    body = b'{"unit":"u","context":{"x":1}}'

    assert served.post(f"{trial}/units", body.ljust(64 * 1024)).status == 200
    assert served.post(f"{trial}/units", body.ljust(64 * 1024 + 1)).status == 413


def test_an_endless_body_in_chunks_is_cut_off(served: Served, trial: str) -> None:
    with connected(served) as line:
        line.sendall(head(served, trial, "Transfer-Encoding: chunked"))
        sent = 0
        try:
            for _ in range(10_000):
                sent += line.send(b"1000\r\n" + b" " * 4096 + b"\r\n")
        except OSError:
            pass
        answer = received(line)

    assert answer == b"" or b" 413 " in answer
    assert sent < 20_000_000
    assert served.records(trial) == 1


def received(line: socket.socket) -> bytes:
    try:
        return line.recv(4096)
    except OSError:  # it was closed before everything was read
        return b""


def test_ten_thousand_headers_are_refused(served: Served, trial: str) -> None:
    with connected(served) as line:
        with suppress(OSError):
            line.sendall(head(served, trial, *(f"X-{number}: {number}" for number in range(10_000))))
        answer = received(line)

    assert answer == b"" or b" 400 " in answer or b" 431 " in answer
    assert served.get("/live").status == 200


def test_half_a_request_changes_nothing(served: Served, trial: str) -> None:
    with connected(served) as line:
        line.sendall(head(served, trial, "Content-Length: 100") + b'{"unit":"u"')

    assert served.get("/live").status == 200
    assert served.records(trial) == 1


# -- where it may listen ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "::1", "127.1.2.3"])
def test_it_listens_on_this_machine(host: str) -> None:
    require_safe(host, behind_proxy=False)


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.1.2", "example.org", ""])
def test_another_address_needs_a_proxy(host: str) -> None:
    with pytest.raises(dtr.DesignError, match="--behind-proxy"):
        require_safe(host, behind_proxy=False)
    require_safe(host, behind_proxy=True)


def test_answers_are_sent_without_waiting_for_the_client() -> None:
    """Asyncio sets TCP_NODELAY where a socket names its protocol; otherwise an answer in two parts takes 40 ms."""
    with bound("127.0.0.1", 0) as place:
        assert place.proto == socket.IPPROTO_TCP


def test_a_port_that_is_taken_is_refused_in_words() -> None:
    with bound("127.0.0.1", 0) as place:
        place.listen()
        port = place.getsockname()[1]

        with pytest.raises(dtr.DesignError, match=f"cannot listen at port {port} of 127.0.0.1: .*; stop what listens"):
            reserved("127.0.0.1", port)

    reserved("127.0.0.1", 0).close()
