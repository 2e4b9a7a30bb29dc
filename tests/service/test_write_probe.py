"""Whether the database takes writes, by a write; small ones may fit where a decision did not."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from dtrbandit.errors import Unavailable
from dtrbandit.service.problems import Busy, Refused
from dtrbandit.service.write_probe import WriteProbe
from dtrbandit.service.writer import Writer
from dtrbandit.storage import SQLiteStore


@pytest.fixture
def store(tmp_path: Path) -> SQLiteStore:
    return SQLiteStore(tmp_path / "trial.db")


def with_writer(act: Callable[[Writer], Awaitable[None]]) -> None:
    async def run() -> None:
        writer = Writer()
        writer.start()
        try:
            await act(writer)
        finally:
            await writer.stop()

    asyncio.run(run())


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
        trial, probe = Full(), WriteProbe(writer, lambda: store, seconds=0.0, doubt=3600.0)
        with pytest.raises(Unavailable):
            await writer.ask(trial, "u1")
        with pytest.raises(Refused):
            await probe.require_writable()
        await WriteProbe(writer, lambda: store, doubt=0.0).require_writable()  # later the small write decides
        trial.full = False
        await writer.ask(trial, "u1")
        await probe.require_writable()

    with_writer(act)
    store.close()
