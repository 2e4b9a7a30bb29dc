"""The tables of a database file, and which SQLite may use WAL."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

import dtrbandit as dtr
from dtrbandit.storage.schema import APPLICATION, STEPS, is_safe_for_wal, migrate


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
    migrate(connection, path)
    return connection


def test_a_new_file_gets_its_tables_once(tmp_path: Path) -> None:
    for _ in range(2):
        connection = migrated(tmp_path / "trial.db")
        names = {name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
        assert names == {"trials", "records", "requests", "keys"}
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
