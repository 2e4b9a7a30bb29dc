"""One thread writes, and commits together what waits; and whether the database takes writes is found by a write."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, TypeVar

import pytest

import dtrbandit as dtr
from dtrbandit.errors import Unavailable
from dtrbandit.service import writer as module
from dtrbandit.service.problems import Busy, Refused
from dtrbandit.service.writer import WriteProbe, Writer
from dtrbandit.storage import SQLiteStore

Done = TypeVar("Done")


class Slow:
    """A trial whose commits wait for a gate; it remembers what came together."""

    def __init__(self) -> None:
        self.gate = threading.Event()
        self.together: list[list[Any]] = []

    def take(self, asks: list[Any]) -> list[Any]:
        self.gate.wait(10)
        self.together.append(asks)
        return [dtr.ProtocolError(ask) if ask == "bad" else f"reply to {ask}" for ask in asks]


def with_writer(act: Callable[[Writer], Awaitable[Done]]) -> Done:
    async def run() -> Done:
        writer = Writer()
        writer.start()
        try:
            return await act(writer)
        finally:
            await writer.stop()

    return asyncio.run(run())


def test_what_waits_is_committed_together_and_each_gets_its_own_reply() -> None:
    trial = Slow()

    async def act(writer: Writer) -> list[Any]:
        asked = [asyncio.ensure_future(writer.ask(trial, number)) for number in range(20)]
        await asyncio.sleep(0)
        trial.gate.set()
        return await asyncio.gather(*asked)

    assert with_writer(act) == [f"reply to {number}" for number in range(20)]
    assert [ask for asks in trial.together for ask in asks] == list(range(20))
    assert len(trial.together) <= 3


def test_a_refusal_is_raised_to_whoever_asked_for_it_alone() -> None:
    trial = Slow()
    trial.gate.set()

    async def act(writer: Writer) -> list[Any]:
        return await asyncio.gather(*(writer.ask(trial, each) for each in ("good", "bad")), return_exceptions=True)

    good, bad = with_writer(act)

    assert good == "reply to good"
    assert isinstance(bad, dtr.ProtocolError)


def test_a_failed_commit_acknowledges_nothing_and_the_thread_goes_on() -> None:
    class Full(Slow):
        def take(self, asks: list[Any]) -> list[Any]:
            if not self.together:
                self.together.append(asks)
                raise Unavailable("disk full")
            return asks

    trial = Full()

    async def act(writer: Writer) -> Any:
        with pytest.raises(Unavailable, match="disk full"):
            await writer.ask(trial, "u1")
        return await writer.ask(trial, "u1")

    assert with_writer(act) == "u1"


def test_other_work_that_writes_keeps_its_place_in_the_queue() -> None:
    trial, order = Slow(), list[str]()

    async def act(writer: Writer) -> None:
        asked = [writer.ask(trial, "before"), writer.do(lambda: order.append(str(trial.together)))]
        waiting = [asyncio.ensure_future(each) for each in [*asked, writer.ask(trial, "after")]]
        await asyncio.sleep(0)
        trial.gate.set()
        await asyncio.gather(*waiting)

    with_writer(act)

    assert order == ["[['before']]"]
    assert trial.together == [["before"], ["after"]]


def test_what_was_asked_before_the_stop_is_done_and_nothing_after_it() -> None:
    trial = Slow()

    async def act(writer: Writer) -> Any:
        asked = asyncio.ensure_future(writer.ask(trial, "u1"))
        await asyncio.sleep(0)
        trial.gate.set()
        await writer.stop()
        with pytest.raises(Unavailable, match="stopping"):
            await writer.ask(trial, "u2")
        return await asked

    async def run() -> Any:
        writer = Writer()
        writer.start()
        return await act(writer)

    assert asyncio.run(run()) == "reply to u1"


def test_a_queue_that_is_too_long_is_said_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_WAITING", 0)

    async def act(writer: Writer) -> None:
        with pytest.raises(Unavailable, match="waiting already"):
            await writer.ask(Slow(), "u1")

    with_writer(act)


def test_whoever_no_longer_waits_is_passed_over() -> None:
    trial = Slow()

    async def act(writer: Writer) -> Any:
        left, stays = (asyncio.ensure_future(writer.ask(trial, each)) for each in ("left", "stays"))
        await asyncio.sleep(0)
        left.cancel()
        trial.gate.set()
        return await stays

    assert with_writer(act) == "reply to stays"


def quick() -> Slow:
    """Return a trial whose commits wait for nothing."""
    trial = Slow()
    trial.gate.set()
    return trial


def test_a_commit_waits_for_those_who_may_come_as_well() -> None:
    trial = quick()

    async def act(writer: Writer) -> list[Any]:
        writer._expected, writer._took = 3, 600.0  # as if three had just been answered, by a disk that takes its time
        asked = []
        for number in range(3):
            asked.append(asyncio.ensure_future(writer.ask(trial, number)))
            await asyncio.sleep(0.02)  # the thread has seen it by now, or sees it later: either is right
        return await asyncio.gather(*asked)

    with_writer(act)

    assert trial.together == [[0, 1, 2]]


def test_a_commit_does_not_wait_for_ever() -> None:
    trial = quick()

    async def act(writer: Writer) -> Any:
        writer._expected, writer._took = 100, 0.02
        return await writer.ask(trial, "alone")

    assert with_writer(act) == "reply to alone"


def test_who_is_alone_does_not_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    trial, turn = quick(), Writer._turn

    def turn_while_the_next_is_asked(writer: Writer, gathered: list[Any]) -> bool:
        more = turn(writer, gathered)
        time.sleep(0.05)  # who was answered asks again before the turn ends
        return more

    monkeypatch.setattr(Writer, "_turn", turn_while_the_next_is_asked)

    async def act(writer: Writer) -> int:
        for number in range(3):
            await writer.ask(trial, number)
        return await writer.do(lambda: writer._expected)

    assert with_writer(act) == 1


# -- whether the database takes writes ---------------------------------------------------------------------------


@pytest.fixture
def store(tmp_path: Path) -> SQLiteStore:
    return SQLiteStore(tmp_path / "trial.db")


def test_a_database_that_takes_no_writes_is_noticed_and_so_is_its_recovery(
    store: SQLiteStore, caplog: pytest.LogCaptureFixture
) -> None:
    async def act(writer: Writer) -> None:
        probe = WriteProbe(writer, lambda: store, seconds=0.0)
        await probe.require_writable()
        store.path.rename(store.path.with_suffix(".away"))
        with pytest.raises(Refused, match="cannot be written now") as refused:
            await probe.require_writable()
        assert refused.value.status == 503
        assert str(store.path) not in refused.value.detail
        assert str(store.path) in caplog.text
        store.path.with_suffix(".away").rename(store.path)
        await probe.require_writable()

    with_writer(act)
    store.close()


def test_a_writer_that_has_too_much_to_do_is_no_fault_of_the_disk(store: SQLiteStore) -> None:
    async def act(writer: Writer) -> None:
        def too_much() -> SQLiteStore:
            raise Busy("too many requests wait")

        with pytest.raises(Busy, match="too many requests wait"):
            await WriteProbe(writer, too_much).require_writable()

    with_writer(act)
    store.close()


def test_many_who_ask_share_one_write(store: SQLiteStore) -> None:
    async def act(writer: Writer) -> None:
        probe = WriteProbe(writer, lambda: store, seconds=3600.0)
        await asyncio.gather(*(probe.require_writable() for _ in range(20)))
        (first,) = store.last_checks()
        await probe.require_writable()
        assert store.last_checks() == [first]
        assert (first.what, first.trial, first.ok) == ("write", "", True)

    with_writer(act)
    store.close()


class Full:
    """A trial for whose decisions there is no room."""

    def __init__(self) -> None:
        self.full = True

    def take(self, asks: list[object]) -> list[object]:
        if self.full:
            raise Unavailable("the disk is full")
        return asks


def test_a_commit_that_failed_is_remembered_until_one_succeeds(store: SQLiteStore) -> None:
    async def act(writer: Writer) -> None:
        trial, probe = Full(), WriteProbe(writer, lambda: store, seconds=0.0, cooldown=3600.0)
        with pytest.raises(Unavailable):
            await writer.ask(trial, "u1")
        with pytest.raises(Refused):
            await probe.require_writable()
        await WriteProbe(writer, lambda: store, cooldown=0.0).require_writable()  # later the small write decides
        trial.full = False
        await writer.ask(trial, "u1")
        await probe.require_writable()

    with_writer(act)
    store.close()
