"""A service without HTTP: its trials, its keys, and when it is ready."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Awaitable, Callable
from contextlib import closing
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any, TypeVar

import pytest

import dtrbandit as dtr
from dtrbandit.errors import NotFound, Unavailable
from dtrbandit.record import Enroll
from dtrbandit.service.key_store import create
from dtrbandit.service.problems import Refused
from dtrbandit.service.service import Service
from dtrbandit.trial import Ask, Trial, followed
from extras import needed
from postgres_server import Server

DESIGN = dtr.Design([dtr.Stage("only", ("a", "b"), "1 + x")])
Done = TypeVar("Done")


def with_service(url: str, act: Callable[[Service], Awaitable[Done]]) -> Done:
    async def run() -> Done:
        service = Service(url)
        await service.start()
        while not service.ready:
            await asyncio.sleep(0.01)
        try:
            return await act(service)
        finally:
            await service.stop()

    return asyncio.run(run())


def test_a_trial_of_another_process_is_found(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/trial.db"

    async def act(service: Service) -> str:
        with pytest.raises(NotFound, match="no trial 'later'"):
            await service.trial("later")
        dtr.Trial.create("later", DESIGN, dtr.Greedy(), storage=url).close()
        return (await service.trial("later")).phase

    assert with_service(url, act) == "rehearsal"


def test_a_trial_that_another_process_locks_is_live_here_too(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/trial.db"
    dtr.Trial.create("pilot", DESIGN, dtr.Greedy(), storage=url).close()

    async def act(service: Service) -> tuple[int, str]:
        trial = await service.trial("pilot")
        await service.writer.ask(trial, Ask(Enroll("u1", {"x": 0.5})))
        with dtr.Trial.open("pilot", storage=url) as other:
            other.lock(actor="me", reason="approved")
        taken = await service.writer.ask(trial, Ask(Enroll("u1", {"x": -0.5})))
        return taken.decision.round, trial.phase

    assert with_service(url, act) == (1, "live")


def test_a_look_sees_what_is_new(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/trial.db"

    async def act(service: Service) -> list[int]:
        trial = await service.create("pilot", DESIGN, dtr.Greedy(), actor="me")
        counts = []
        for number in range(3):
            await service.writer.ask(trial, Ask(Enroll(f"u{number}", {"x": 0.5})))
            counts.append((await service.reading("pilot", dtr.Trial.summary)).units)
        return counts

    assert with_service(url, act) == [1, 2, 3]


def test_keys_of_another_process_are_read() -> None:
    async def act(service: Service) -> str:
        new = create(service.store, "auditor", "inspector", now=datetime.now(UTC))
        with pytest.raises(Refused):
            service.keys.holder(f"Bearer {new.key}", now=datetime.now(UTC))
        await service.read_keys()
        return service.keys.holder(f"Bearer {new.key}", now=datetime.now(UTC)).label

    assert with_service("memory://", act) == "inspector"


def test_what_another_process_stores_is_followed_without_being_asked_for(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/trial.db"

    async def act(service: Service) -> int:
        trial = await service.create("pilot", DESIGN, dtr.Greedy(), actor="me")
        with dtr.Trial.open("pilot", storage=url) as other:
            other.enroll("u1", {"x": 0.5})
        for _ in range(600):
            if trial._log.head.sequence == 3:
                break
            await asyncio.sleep(0.1)
        return trial._log.head.sequence

    assert with_service(url, act) == 3


def test_a_patient_service_begins_when_it_is_ready(tmp_path: Path) -> None:
    async def act() -> bool:
        service = Service(f"sqlite:///{tmp_path}/trial.db", patient=True)
        await service.start()
        ready = service.ready
        await service.stop()
        return ready

    assert asyncio.run(act())


def test_a_service_that_has_not_started_is_not_available() -> None:
    with pytest.raises(Unavailable, match="starting"):
        _ = Service("memory://").store


def test_a_trial_with_the_same_name_must_be_the_same() -> None:
    async def act(service: Service) -> bool:
        first = await service.create("pilot", DESIGN, dtr.Greedy(), actor="me")
        with pytest.raises(dtr.ProtocolError, match="another design or policy"):
            await service.create("pilot", DESIGN, dtr.UniformRandom(), actor="me")
        return await service.create("pilot", DESIGN, dtr.Greedy(), actor="me") is first

    assert with_service("memory://", act)


def test_a_database_that_is_away_at_the_start_is_waited_for(caplog: pytest.LogCaptureFixture) -> None:
    server = Server()
    service = Service(server.new(), patient=True)

    async def act() -> bool:
        server.stop()
        starting = asyncio.create_task(service.start())
        while not caplog.records:
            await asyncio.sleep(0.01)
        await asyncio.to_thread(server.start)
        await starting
        ready = service.ready
        await service.stop()
        return ready

    ready = asyncio.run(act())
    server.close()

    assert ready
    told = [record.getMessage() for record in caplog.records]
    assert told[0].startswith("the database cannot be read yet: cannot connect to")
    assert len(told) == len(set(told))  # each thing is said once


def test_a_start_that_waits_for_a_database_can_be_ended(tmp_path: Path) -> None:
    needed("psycopg")
    service = Service(f"postgresql:///trials?host={tmp_path}")
    service.leaving = lambda: True

    async def act() -> None:
        with pytest.raises(Unavailable, match="cannot connect to"):
            await service.start()
        await service.stop()

    asyncio.run(act())


def test_a_trial_that_is_created_again_while_others_look_at_it_stops_nobody(tmp_path: Path) -> None:
    async def act(service: Service) -> int:
        await service.create("pilot", DESIGN, dtr.Greedy(), actor="me")

        async def look() -> None:
            for _ in range(100):
                await service.reading("pilot", Trial.units)

        async def create() -> None:
            for _ in range(100):
                await service.create("pilot", DESIGN, dtr.Greedy(), actor="me")

        return len(await asyncio.wait_for(asyncio.gather(create(), look(), look()), timeout=120))

    assert with_service(f"sqlite:///{tmp_path}/trial.db", act) == 3


def test_a_trial_is_locked_while_others_look_at_it(tmp_path: Path) -> None:
    async def act(service: Service) -> set[str]:
        phases: set[str] = set()
        for number in range(10):
            name = f"pilot{number}"
            trial = await service.create(name, DESIGN, dtr.Greedy(), actor="me")
            looks = [asyncio.create_task(service.reading(name, Trial.units)) for _ in range(5)]
            await service.writer.do(partial(trial.lock, actor="me", reason="approved"))
            await asyncio.gather(*looks)
            phases.add(trial.phase)
        return phases

    assert with_service(f"sqlite:///{tmp_path}/trial.db", act) == {"live"}


def test_a_stop_leaves_a_snapshot_and_damage_before_it_holds_the_trial(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    needed("starlette")
    from dtrbandit.service.trials import is_ready

    url = f"sqlite:///{tmp_path}/trial.db"
    with dtr.Trial.create("pilot", DESIGN, dtr.Greedy(), storage=url) as trial:
        for number in range(20):
            trial.enroll(f"u{number}", {"x": 0.5})
    monkeypatch.setattr(followed, "AT_THE_END", 10)

    async def do_nothing(_: Service) -> None: ...

    with_service(url, do_nothing)
    assert len(list((tmp_path / "trial.db.snapshots").iterdir())) == 1
    with closing(sqlite3.connect(tmp_path / "trial.db")) as database, database:
        database.execute("UPDATE records SET text = replace(text, 'null', 'null ') WHERE log = 1 AND sequence = 7")

    async def wait_for_the_check(service: Service) -> str:
        trial = await service.trial("pilot")
        while trial.damage is None:
            await asyncio.sleep(0.01)
        with pytest.raises(dtr.LogError, match="record 7"):
            await service.writer.ask(trial, Ask(Enroll("new", {"x": 0.5})))
        call: Any = SimpleNamespace(service=service)  # a request has much more, and this needs no more of it
        with pytest.raises(Refused, match="the stored log of a trial is damaged"):
            await is_ready(call)
        return trial.damage

    assert "record 7" in with_service(url, wait_for_the_check)
