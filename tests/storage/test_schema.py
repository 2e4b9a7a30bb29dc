"""The tables of a database file, and which SQLite may use WAL."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

import dtrbandit as dtr
from dtrbandit.storage import SQLiteStore, schema
from dtrbandit.storage.key_events import key_fault, key_records
from dtrbandit.storage.schema import APPLICATION, STEPS, is_safe_for_wal, migrate
from dtrbandit.trial import Trial
from trial.small_trial import address, begun, fill

LATER = ("ALTER TABLE keys ADD COLUMN first TEXT;", "ALTER TABLE trials ADD COLUMN second TEXT;")  # invented


@pytest.mark.parametrize(
    ("version", "safe"),
    [
        ("3.40.1", False), ("3.44.5", False), ("3.44.6", True), ("3.45.0", False), ("3.49.9", False),
        ("3.50.6", False), ("3.50.7", True), ("3.51.0", False), ("3.51.2", False), ("3.51.3", True), ("3.52.0", True),
        ("4.0.0", True),
    ],
)  # fmt: skip
def test_wal_is_for_versions_without_the_defect(version: str, safe: bool) -> None:
    assert is_safe_for_wal(tuple(map(int, version.split(".")))) is safe


def migrated(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(path, isolation_level=None)
    try:
        migrate(connection, path)
    except BaseException:
        connection.close()
        raise
    return connection


def test_a_new_file_gets_its_tables_once(tmp_path: Path) -> None:
    for _ in range(2):
        connection = migrated(tmp_path / "trial.db")
        names = {name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
        assert names == {"trials", "records", "requests", "keys", "checks"}
        assert connection.execute("PRAGMA user_version").fetchone() == (len(STEPS),)
        assert connection.execute("PRAGMA application_id").fetchone() == (APPLICATION,)
        connection.close()


def test_a_file_of_something_else_is_left_alone(tmp_path: Path) -> None:
    connection = sqlite3.connect(tmp_path / "other.db", isolation_level=None)
    connection.execute("CREATE TABLE mine (x)")

    with pytest.raises(dtr.DesignError, match="a database of something else"):
        migrate(connection, tmp_path / "other.db")

    assert connection.execute("SELECT name FROM sqlite_master").fetchall() == [("mine",)]
    assert not connection.in_transaction
    connection.close()


def test_a_file_of_a_later_release_is_refused(tmp_path: Path) -> None:
    connection = migrated(tmp_path / "trial.db")
    connection.execute(f"PRAGMA user_version = {len(STEPS) + 1}")

    with pytest.raises(dtr.LogError, match="later release"):
        migrate(connection, tmp_path / "trial.db")
    connection.close()


@pytest.mark.parametrize("step", range(1, len(STEPS) + len(LATER)))
def test_a_file_of_every_earlier_release_is_copied_and_brought_up(
    step: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    whole = (*STEPS, *LATER)
    monkeypatch.setattr(schema, "STEPS", whole[:step])
    with begun(address(tmp_path)) as trial:
        fill(trial, 4)
        head = trial.head
    monkeypatch.setattr(schema, "STEPS", whole)

    with Trial.open("pilot", storage=address(tmp_path)) as trial:
        (copy,) = tmp_path.glob(f"trial.db.step-{step}-*Z")
        assert f"It was copied to {copy.name} before they were changed" in caplog.text
        with sqlite3.connect(copy) as before:
            assert before.execute("PRAGMA user_version").fetchone() == (step,)
        before.close()
        with Trial.open("pilot", storage=f"sqlite:///{copy}") as kept:
            assert trial.head == kept.head == head
            assert trial.verify()
            assert trial.enroll("next", {"x": 0.5}) == kept.enroll("next", {"x": 0.5})


def test_keys_of_a_release_without_their_record_are_recorded_as_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(schema, "STEPS", STEPS[:1])
    connection = migrated(tmp_path / "trial.db")
    connection.execute("INSERT INTO keys VALUES ('id2', 'b', 'auditor', 'ä', 'now', NULL, 'then', NULL, NULL)")
    connection.execute("INSERT INTO keys VALUES ('id1', 'a', 'site', 'ward', 'now', NULL, NULL, 'pilot', 'north')")
    connection.close()
    monkeypatch.setattr(schema, "STEPS", STEPS)

    for _ in range(2):  # the second time there is nothing to do
        store = SQLiteStore(tmp_path / "trial.db")
        found = list(key_records(store))
        assert [(each.event.event, each.event.id, each.event.label) for each in found] == [
            ("KeyFound", "id1", "ward"),
            ("KeyFound", "id2", "ä"),
        ]
        assert [each.actor for each in found] == ["step 2 of the tables"] * 2
        assert key_fault(store) is None
        store.close()


def test_records_that_are_damaged_do_not_keep_a_file_from_being_brought_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(schema, "STEPS", STEPS[:2])
    connection = migrated(tmp_path / "trial.db")
    for sequence, text in enumerate(("17", "x'ff00'", "CAST(x'7b22c3' AS TEXT)", '\'{"unit":"u\'', "''"), 1):
        connection.execute(f"INSERT INTO records VALUES (1, {sequence}, {text}, 'h')")
    connection.close()
    monkeypatch.setattr(schema, "STEPS", STEPS)

    store = SQLiteStore(tmp_path / "trial.db")

    assert (store.check(), store.log(1).of_unit("u"), len(list(store.log(1).read()))) == (None, [], 5)
    store.close()


def test_a_copy_that_cannot_be_made_leaves_the_file_as_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    migrated(tmp_path / "trial.db").close()
    monkeypatch.setattr(schema, "STEPS", (*STEPS, *LATER))
    monkeypatch.setattr(schema, "settle", lambda *_: (_ for _ in ()).throw(OSError("the disk is full")))

    with pytest.raises(OSError, match="the disk is full"):
        migrated(tmp_path / "trial.db")

    connection = sqlite3.connect(tmp_path / "trial.db")
    assert connection.execute("PRAGMA user_version").fetchone() == (len(STEPS),)
    connection.close()
    assert [file.name for file in tmp_path.iterdir()] == ["trial.db"]
