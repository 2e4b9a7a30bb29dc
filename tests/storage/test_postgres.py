"""The store in PostgreSQL: settings, turns between processes, and what happens when the connection is lost."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import pytest

import dtrbandit as dtr
from dtrbandit.record.chain import Record, linked
from dtrbandit.record.events import Completed
from dtrbandit.storage import IdempotencyKey, Storage, connect_existing
from extras import needed
from postgres_server import Server
from trial.children import run

needed("psycopg")

from dtrbandit.storage.postgres import PostgresStore  # noqa: E402


@pytest.fixture
def store(postgres: str) -> Iterator[PostgresStore]:
    opened = PostgresStore(postgres)
    yield opened
    opened.close()


def records(count: int, *, first: int = 1):  # type: ignore[no-untyped-def]  # what append takes
    return list(linked(Record(n, "a", None, Completed("u", 1.0)) for n in range(first, first + count)))


def log_of(store: PostgresStore) -> Storage:
    return store.log(store.add_trial("trial").rehearsal)


# -- a folder for snapshots ----------------------------------------------------------------------------------------


def test_snapshots_lie_in_a_folder_of_this_machine_one_for_each_database(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    one, other = object.__new__(PostgresStore), object.__new__(PostgresStore)
    one._name, other._name = "postgresql://host/one", "postgresql://host/other"
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("DTRBANDIT_SNAPSHOTS", raising=False)

    assert one.snapshots is not None
    assert one.snapshots != other.snapshots
    assert one.snapshots.parent == tmp_path / "cache/dtrbandit/snapshots"
    monkeypatch.setenv("DTRBANDIT_SNAPSHOTS", str(tmp_path / "here"))
    assert one.snapshots.parent == tmp_path / "here"


def test_a_user_without_a_home_has_no_snapshots_unless_a_folder_is_named(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    store = object.__new__(PostgresStore)
    store._name = "postgresql://host/one"
    for name in ("XDG_CACHE_HOME", "DTRBANDIT_SNAPSHOTS"):
        monkeypatch.delenv(name, raising=False)

    def homeless() -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.setattr(Path, "home", homeless)

    assert store.snapshots is None
    monkeypatch.setenv("DTRBANDIT_SNAPSHOTS", str(tmp_path))
    assert store.snapshots is not None


# -- settings --------------------------------------------------------------------------------------------------


def test_what_is_committed_is_on_disk_and_nobody_waits_for_ever(store: PostgresStore) -> None:
    names = ("synchronous_commit", "fsync", "lock_timeout", "statement_timeout", "idle_in_transaction_session_timeout")

    found = [store.ask(f"SHOW {name}")[0][0] for name in names]

    assert found == ["on", "on", "5s", "30s", "1min"]


@pytest.mark.parametrize(("before", "after"), [("off", "on"), ("local", "on"), ("remote_apply", "remote_apply")])
def test_a_commit_that_would_not_wait_for_the_disk_is_made_to(postgres_server: Server, before: str, after: str) -> None:
    address = postgres_server.new()
    store = PostgresStore(address + quote(f" -csynchronous_commit={before}"))

    assert store.ask("SHOW synchronous_commit") == [(after,)]
    store.close()


def test_a_turn_sees_what_was_committed_before_it_had_the_lock(store: PostgresStore) -> None:
    with store.turn():
        assert store.ask("SHOW transaction_isolation") == [("read committed",)]


# -- turns between processes -----------------------------------------------------------------------------------


def test_a_turn_waits_for_another_connection_and_then_says_so(postgres: str) -> None:
    first, second = PostgresStore(postgres), PostgresStore(postgres, patience=0.05)

    with first.turn(), pytest.raises(dtr.Unavailable, match=r"lock timeout. Nothing was recorded"):
        second.add_trial("trial")

    assert second.add_trial("trial").name == "trial"
    first.close()
    second.close()


def test_two_connections_that_look_and_then_append_lose_nothing(postgres: str) -> None:
    stores = [PostgresStore(postgres, patience=60.0) for _ in range(3)]
    number = stores[0].add_trial("trial").rehearsal
    ready = threading.Barrier(3)

    def write(store: PostgresStore) -> None:
        log = store.log(number)
        ready.wait()
        for _ in range(20):
            with store.turn():
                head = log.head()
                added = list(linked([Record(head.sequence + 1, "a", None, Completed("u", 1.0))], head))
                log.append(added, head.sequence)

    threads = [threading.Thread(target=write, args=(store,)) for store in stores]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert list(stores[0].log(number).read()) == records(60)
    for store in stores:
        store.close()


def test_whoever_writes_without_a_turn_causes_a_conflict_and_nothing_is_there_twice(
    store: PostgresStore, postgres: str
) -> None:
    log = log_of(store)
    import psycopg

    with psycopg.connect(postgres, autocommit=True) as other, pytest.raises(dtr.Conflict, match="somebody else wrote"):
        _write_beside(store, log, other)

    assert [each.text for each in log.read()] == [b"x"]


def _write_beside(store: PostgresStore, log: Storage, other) -> None:  # type: ignore[no-untyped-def]  # a connection
    with store.turn():
        assert log.head().sequence == 0
        store.add_rows("requests", [(1, "", "k", "f", 1, 1)])
        other.execute("INSERT INTO records VALUES (1, 1, 'x', 'h')")
        store.add_rows("records", [(1, 1, b"y", "h")])


def test_a_turn_that_goes_on_after_a_failure_stores_nothing_and_says_so(store: PostgresStore) -> None:
    log = log_of(store)

    with pytest.raises(dtr.Unavailable, match="nothing of it was recorded"):
        _swallow_a_failure(store, log)

    assert log.head().sequence == 0


def _swallow_a_failure(store: PostgresStore, log: Storage) -> None:
    with store.turn():
        log.append(records(1), 0)
        with pytest.raises(dtr.Unavailable, match="division by zero"):
            store.ask("SELECT 1 / 0")


def test_what_a_turn_has_written_it_can_read(store: PostgresStore) -> None:
    log = log_of(store)

    with store.turn():
        log.append(records(2), 0, [IdempotencyKey("", "k", "f", 1, 1)])
        assert list(log.read()) == records(2)
        assert len(log.all_keys()) == 1
        assert log.head().sequence == 2


def test_an_interrupted_turn_is_taken_back(store: PostgresStore) -> None:
    log = log_of(store)

    with pytest.raises(KeyboardInterrupt):
        _interrupted(store, log)

    assert log.head().sequence == 0
    log.append(records(1), 0)


def _interrupted(store: PostgresStore, log: Storage) -> None:
    with store.turn():
        log.append(records(1), 0)
        raise KeyboardInterrupt


# -- lost connections ------------------------------------------------------------------------------------------


def test_a_connection_that_is_lost_between_turns_is_made_again(store: PostgresStore, postgres_server: Server) -> None:
    log = log_of(store)

    for expected in range(3):
        assert postgres_server.cut_off() >= 1
        log.append(list(linked([Record(expected + 1, "a", None, Completed("u", 1.0))], log.head())), expected)
        assert postgres_server.cut_off() >= 1
        assert log.head().sequence == expected + 1


def test_a_connection_that_is_lost_in_a_turn_takes_back_the_turn(store: PostgresStore, postgres_server: Server) -> None:
    log = log_of(store)

    with pytest.raises(dtr.Unavailable, match="Nothing was recorded"):
        _cut_in_a_turn(store, log, postgres_server)

    assert log.head().sequence == 0
    log.append(records(2), 0)
    assert log.head().sequence == 2


def _cut_in_a_turn(store: PostgresStore, log: Storage, server: Server) -> None:
    with store.turn():
        log.append(records(1), 0)
        server.cut_off()
        log.all_keys()


def test_a_commit_without_an_answer_is_said_to_be_unknown(store: PostgresStore, postgres_server: Server) -> None:
    log = log_of(store)

    with pytest.raises(dtr.Unavailable, match="lost before it said whether this is stored"):
        _cut_before_the_commit(store, log, postgres_server)

    assert log.head().sequence == 0


def _cut_before_the_commit(store: PostgresStore, log: Storage, server: Server) -> None:
    with store.turn():
        log.append(records(1), 0)
        server.cut_off()


def test_a_store_that_was_closed_stays_closed(postgres: str) -> None:
    store = PostgresStore(postgres)
    store.close()

    with pytest.raises(dtr.Unavailable, match="was closed; open it again"):
        store.trials()


def test_a_server_that_is_away_is_unavailable_and_no_password_is_said(tmp_path: Path) -> None:
    with pytest.raises(dtr.Unavailable, match="cannot connect to") as away:
        PostgresStore(f"postgresql://nurse:SECRET@/trials?host={tmp_path}")

    assert "SECRET" not in str(away.value)
    assert "SECRET" not in str(away.value.__cause__)


@pytest.mark.parametrize(
    "rest", ["nurse:SECRET@db:port/trials", "nurse:SECRET@db/trials?unknown=1", "nurse:SECRET@[::1"]
)
def test_an_address_that_cannot_be_read_is_refused_without_its_password(rest: str) -> None:
    with pytest.raises(dtr.DTRError) as refused:
        PostgresStore(f"postgresql://{rest}")

    assert "SECRET" not in f"{refused.value} {refused.value.__cause__}"


def test_a_store_is_shown_without_its_password(postgres: str) -> None:
    address = postgres.replace("//postgres:@", "//postgres:SECRET@")  # which this server does not ask for
    assert "SECRET" in address

    store = PostgresStore(address)

    assert repr(store).startswith("<PostgresStore postgresql://postgres:***@")
    assert "SECRET" not in repr(store)
    store.close()


# -- the database ----------------------------------------------------------------------------------------------


def test_a_missing_primary_key_is_found(store: PostgresStore) -> None:
    assert store.check() is None

    with store.turn():
        store.ask("ALTER TABLE records DROP CONSTRAINT records_pkey")

    assert store.check() == "without a valid primary key: records; restore a backup"


def test_a_backup_does_not_wait_for_a_turn_and_holds_what_was_committed(store: PostgresStore, tmp_path: Path) -> None:
    log = log_of(store)
    log.append(records(3), 0)

    with store.turn():
        log.append(records(1, first=4), 3)
        store.backup(tmp_path / "backup.db")

    copy = connect_existing(f"sqlite:///{tmp_path}/backup.db")
    assert copy.log(1).head().sequence == 3
    copy.close()


# -- the password ------------------------------------------------------------------------------------------------


def test_the_password_may_come_from_a_file(
    postgres_server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "password"
    file.write_text("s3cret\n")
    monkeypatch.setenv("DTRBANDIT_PASSWORD_FILE", str(file))

    store = PostgresStore(postgres_server.new())

    assert store._connection.info.password == "s3cret"
    assert "s3cret" not in repr(store)
    store.close()


def test_a_password_file_that_cannot_be_read_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DTRBANDIT_PASSWORD_FILE", str(tmp_path / "password"))

    with pytest.raises(dtr.Unavailable, match=r"DTRBANDIT_PASSWORD_FILE names .*password, which cannot be read"):
        PostgresStore("postgresql://nobody@127.0.0.1:1/nothing")


def test_a_child_leaves_the_connection_to_its_parent_and_opens_its_own(postgres: str) -> None:
    _, told, own, ended, parent = run("-m", "forked", postgres, "idle").splitlines()

    assert told.startswith("Unavailable: this process was forked from the one that opened the database")
    assert (own, ended, parent) == ("done: 1", "child ended with 0", "done: 2")
