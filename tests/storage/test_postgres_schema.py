"""The tables of a PostgreSQL database: made once, brought up after a backup, refused if they are not ours."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

import dtrbandit as dtr
from dtrbandit.storage import connect, connect_existing, schema, upgrade_tables
from dtrbandit.storage.key_events import key_fault, key_records
from dtrbandit.storage.tables import TableStore
from dtrbandit.trial import Trial
from extras import needed
from postgres_server import Server
from trial.small_trial import begun, fill

needed("psycopg")

from dtrbandit.storage import postgres_schema as module  # noqa: E402

LATER = ("ALTER TABLE keys ADD COLUMN first TEXT;", "ALTER TABLE trials ADD COLUMN second TEXT;")  # invented


def ask(address: str, question: str):  # type: ignore[no-untyped-def]  # rows
    store = connect(address)
    assert isinstance(store, TableStore)
    try:
        with store.turn():
            return store.ask(question)
    finally:
        store.close()


def test_tables_and_columns_are_those_of_a_file(postgres: str, tmp_path: Path) -> None:
    columns = "SELECT column_name FROM information_schema.columns WHERE table_schema = current_schema() AND table_name = '{}' ORDER BY ordinal_position"  # noqa: E501
    file = sqlite3.connect(tmp_path / "trial.db", isolation_level=None)
    schema.migrate(file, tmp_path / "trial.db")

    tables = [name for (name,) in file.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]

    assert len(module.STEPS) == len(schema.STEPS)
    for table in tables:
        named = [row[1] for row in file.execute(f"PRAGMA table_info({table})")]
        assert [name for (name,) in ask(postgres, columns.format(table))] == named
    file.close()


def test_what_must_exist_is_not_made(postgres: str, postgres_server: Server) -> None:
    with pytest.raises(dtr.NotFound, match="there are no trials in postgresql://"):
        connect_existing(postgres)

    schema_name = postgres.rpartition("%3D")[2]
    assert postgres_server.run(f"SELECT 1 FROM pg_tables WHERE schemaname = '{schema_name}'") == []


def test_tables_of_something_else_are_left_alone(postgres: str, postgres_server: Server) -> None:
    schema_name = postgres.rpartition("%3D")[2]
    postgres_server.run(f"CREATE TABLE {schema_name}.trials (mine TEXT)")

    with pytest.raises(dtr.DesignError, match="has tables of something else"):
        connect(postgres)

    assert postgres_server.run(f"SELECT tablename FROM pg_tables WHERE schemaname = '{schema_name}'") == [("trials",)]


def test_tables_of_a_later_release_are_refused(postgres: str) -> None:
    ask(postgres, f"UPDATE {module.NUMBER} SET step = {len(module.STEPS) + 1}")

    with pytest.raises(dtr.LogError, match="later release"):
        connect(postgres)


@pytest.mark.parametrize("step", range(1, len(module.STEPS) + len(LATER)))
def test_tables_of_every_earlier_release_are_brought_up_after_a_backup(
    step: int, postgres: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = {kind: (*kind.STEPS, *LATER) for kind in (module, schema)}
    for kind, steps in whole.items():
        monkeypatch.setattr(kind, "STEPS", steps[:step])
    with begun(postgres) as trial:
        fill(trial, 4)
        head = trial.head
    for kind, steps in whole.items():
        monkeypatch.setattr(kind, "STEPS", steps)

    with pytest.raises(dtr.ProtocolError, match=rf"step {step} of {len(module.STEPS)}.*trial migrate"):
        connect(postgres)
    taken = upgrade_tables(postgres, tmp_path / "before.db")

    assert taken == len(module.STEPS) - step
    assert ask(postgres, f"SELECT step FROM {module.NUMBER}") == [(len(module.STEPS),)]
    with sqlite3.connect(tmp_path / "before.db") as before:
        assert before.execute("PRAGMA user_version").fetchone() == (step,)
    before.close()
    (tmp_path / "before.db").chmod(0o600)
    with (
        Trial.open("pilot", storage=postgres) as found,
        Trial.open("pilot", storage=f"sqlite:///{tmp_path}/before.db") as backup,
    ):
        assert found.head == backup.head == head
        assert found.verify()
        assert found.enroll("next", {"x": 0.5}) == backup.enroll("next", {"x": 0.5})


def test_keys_of_a_release_without_their_record_are_recorded_as_found(
    postgres: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = {kind: kind.STEPS for kind in (module, schema)}
    for kind, steps in whole.items():
        monkeypatch.setattr(kind, "STEPS", steps[:1])
    ask(postgres, "INSERT INTO keys VALUES ('id1', 'a', 'site', 'ward ä', 'now', NULL, NULL, 'pilot', 'north')")
    for kind, steps in whole.items():
        monkeypatch.setattr(kind, "STEPS", steps)

    assert upgrade_tables(postgres, tmp_path / "before.db") == len(module.STEPS) - 1

    for address in (postgres, f"sqlite:///{tmp_path}/before.db"):  # the backup is brought up when it is opened
        store = connect_existing(address)
        assert [(each.event.event, each.event.label) for each in key_records(store)] == [("KeyFound", "ward ä")]
        assert key_fault(store) is None
        store.close()


def test_tables_of_this_release_need_no_step_and_no_backup(postgres: str, tmp_path: Path) -> None:
    connect(postgres).close()

    assert upgrade_tables(postgres, tmp_path / "before.db") == 0
    assert list(tmp_path.iterdir()) == []
