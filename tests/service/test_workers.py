"""Several workers on PostgreSQL: rounds without gaps (F5), and what happens when workers or the server fall (F2)."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

import dtrbandit as dtr
from extras import needed
from postgres_server import Server
from serving.faults import Nurse, are_listening, assert_on_record, workers_of
from serving.served import TRIAL, WITHIN, Served
from serving.surfer import Surfer

needed("jinja2")
needed("uvicorn")
needed("psycopg")
psutil = needed("psutil")

from dtrbandit.service.server import bound  # noqa: E402
from dtrbandit.service.workers import require_shareable  # noqa: E402

WORKERS, CLIENTS, EACH = 3, 64, 5


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    """A server that a test may stop."""
    opened = Server()
    yield opened
    opened.close()


@pytest.fixture(scope="module")
def service(server: Server, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A service of several workers."""
    started = Served(tmp_path_factory.mktemp("workers"), storage=server.new(), workers=WORKERS)
    yield started
    if started.process.poll() is None:
        started.stop()


@pytest.fixture
def served(service: Served) -> Served:
    """The same, with all its workers."""
    if service.process.poll() is not None:
        service.start()
    until(lambda: len(workers_of(service)) == WORKERS and are_listening(service, WORKERS))
    return service


def until(holds: Callable[[], bool]) -> None:
    ends = time.monotonic() + 3 * WITHIN
    while not holds():
        assert time.monotonic() < ends, "it did not come about"
        time.sleep(0.02)


def test_many_clients_of_several_workers_get_every_round_once(served: Served) -> None:
    trial = served.create("crowded")

    def enrol(client: int) -> int:
        nurse = Nurse(served, trial, client)
        for unit in range(EACH):
            nurse.ask(f"u{client}-{unit}", "units", {"unit": f"u{client}-{unit}", "context": {"x": unit / 7}})
        return len(nurse.told)

    with ThreadPoolExecutor(CLIENTS) as clients:
        answers = list(clients.map(enrol, range(CLIENTS)))

    assert answers == [EACH] * CLIENTS
    assert served.records(trial) == 1 + 2 * CLIENTS * EACH
    with dtr.Trial.open("crowded", storage=served.storage) as found:
        rounds = [event.round for event in found.session_log() if isinstance(event, dtr.record.Enrolled)]
        assert rounds == list(range(1, CLIENTS * EACH + 1))
        assert found.verify()


@pytest.mark.slow
def test_nothing_is_lost_when_workers_connections_and_the_server_fall(served: Served, server: Server) -> None:
    trial = served.create("hurt")
    nurses = [Nurse(served, trial, number) for number in range(8)]
    for nurse in nurses:
        nurse.start()

    def told() -> int:
        return sum(len(nurse.told) for nurse in nurses)

    def more() -> None:
        enough = told() + 20
        until(lambda: told() >= enough)

    def hurt(act: Callable[[], object]) -> None:
        """Do it after some answers, and wait until there are more."""
        more()
        act()
        more()

    for _ in range(2):
        hurt(lambda: workers_of(served)[0].kill())
        hurt(server.cut_off)
    hurt(server.restart)
    until(lambda: len(workers_of(served)) == WORKERS and are_listening(served, WORKERS))
    for nurse in nurses:
        nurse.over = True
    for nurse in nurses:
        nurse.join(WITHIN)

    acknowledged = {what: body for nurse in nurses for what, body in nurse.told.items()}
    assert len(acknowledged) >= 200
    assert_on_record(served, "hurt", acknowledged)
    key = served.new_key("auditor")  # which the others still hear of
    until(lambda: all(served.get(f"{trial}/head", key=key).status == 200 for _ in range(4 * WORKERS)))


def test_what_one_worker_takes_all_others_know(served: Served) -> None:
    trial = served.create("known")
    first = served.post(f"{trial}/units", {"unit": "u1", "context": {"x": 0.5}}).body

    for _ in range(5 * WORKERS):  # each a new connection, which may go to any worker
        assert served.post(f"{trial}/units", {"unit": "u1", "context": {"x": 0.5}}).body == first
        assert served.post("/trials", {"name": "known", **TRIAL}).status == 200
        assert served.get("/ready").status == 200
    assert served.records(trial) == 3


def test_all_workers_know_a_login_to_the_pages(served: Served) -> None:
    surfer = Surfer(served)
    surfer.log_in(served.key)

    statuses = [surfer.send("GET", "/ui/trials").status for _ in range(40)]  # each by a connection of its own

    assert statuses == [200] * 40


@pytest.mark.slow
def test_workers_end_with_whoever_started_them(served: Served) -> None:
    workers = workers_of(served)
    assert served.stop() == 0
    assert [worker.pid for worker in workers if is_alive(worker)] == []

    served.start()
    workers = workers_of(served)
    served.kill()

    assert workers
    until(lambda: not any(is_alive(worker) for worker in workers))


def is_alive(process: Any) -> bool:
    try:
        return bool(process.is_running() and process.status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False


# -- where there is only one -----------------------------------------------------------------------------------


@pytest.mark.parametrize("url", ["memory://", "sqlite:///trial.db"])
def test_several_workers_need_postgresql(url: str) -> None:
    require_shareable(url, 1)
    with pytest.raises(dtr.DesignError, match="2 workers need PostgreSQL"):
        require_shareable(url, 2)


@pytest.mark.parametrize("workers", [0, -1, 65])
def test_the_number_of_workers_has_bounds(workers: int) -> None:
    with pytest.raises(dtr.DesignError, match="the number of workers is 1 to 64"):
        require_shareable("postgresql://db/trials", workers)


def test_a_port_is_shared_only_with_those_that_share_it() -> None:
    with bound("127.0.0.1", 0, shared=True) as first:
        port = first.getsockname()[1]
        first.listen()
        with bound("127.0.0.1", port, shared=True):
            pass
        with pytest.raises(OSError, match="in use"):
            bound("127.0.0.1", port)
