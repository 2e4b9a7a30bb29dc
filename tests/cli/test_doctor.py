"""What the doctor finds."""

from __future__ import annotations

import json
import shutil
import sqlite3
from collections import namedtuple
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

import dtrbandit as dtr
from dtrbandit.build import CHECKED, COMPILED, PLAIN, STALE
from dtrbandit.cli.doctor import all_findings, clock, disk, examine, kernels, sqlite_of_this_machine
from dtrbandit.cli.findings import GOOD, MISSING, NOTE, WRONG
from trial.small_trial import begun

DESIGN = dtr.Design([dtr.Stage("only", ("a", "b"), "1 + x")])


@pytest.fixture
def storage(tmp_path: Path) -> str:
    url = f"sqlite:///{tmp_path}/trial.db"
    with dtr.Trial.create("pilot", DESIGN, dtr.Greedy(), storage=url) as trial:
        trial.enroll("u1", {"x": 0.5})
    return url


def found(storage: str) -> dict[str, str]:
    return {what: how for what, how, _ in all_findings(storage)}


Usage = namedtuple("Usage", "total used free")


def test_a_healthy_database_has_nothing_wrong(
    storage: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda _: Usage(10**12, 0, 10**12))  # whatever this machine has

    assert examine(storage, as_json=True) == 0

    rows = json.loads(capsys.readouterr().out)["table"]
    whole = {"SQLite", "disk", "kernels", "permissions", "database", "keys", "trial pilot", "clock"}
    assert {row["what"] for row in rows} == whole
    assert WRONG not in {row["how"] for row in rows}


def test_a_changed_record_is_wrong(storage: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with sqlite3.connect(tmp_path / "trial.db") as database:
        database.execute("UPDATE records SET text = replace(text, '0.5', '0.6') WHERE sequence = 2")
    database.close()

    assert examine(storage, as_json=False) == 1
    assert capsys.readouterr().out.count("✗ trial pilot") == 1


def test_a_key_that_no_record_names_is_wrong(storage: str, tmp_path: Path) -> None:
    assert found(storage)["keys"] == GOOD
    with sqlite3.connect(tmp_path / "trial.db") as database:
        database.execute(
            "INSERT INTO keys VALUES ('id1', 'a', 'administrator', 'x', 'y', NULL, NULL, NULL, NULL, NULL)"
        )
    database.close()

    assert found(storage)["keys"] == WRONG


def test_a_file_that_others_may_read_is_wrong(storage: str, tmp_path: Path) -> None:
    (tmp_path / "trial.db").chmod(0o644)

    assert found(storage)["permissions"] == WRONG


def test_a_file_that_is_no_database_is_wrong(tmp_path: Path) -> None:
    (tmp_path / "trial.db").write_text("not a database " * 100)
    (tmp_path / "trial.db").chmod(0o600)

    assert found(f"sqlite:///{tmp_path}/trial.db")["database"] == WRONG


def test_without_a_database_no_log_is_called_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda _: Usage(10**12, 0, 10**12))  # whatever this machine has

    assert examine(f"sqlite:///{tmp_path}/trial.db", as_json=False) == 2

    assert f"there is none at sqlite:///{tmp_path}/trial.db: no log was looked at" in capsys.readouterr().out
    assert list(tmp_path.iterdir()) == []


def test_a_database_of_a_server_is_looked_at(postgres: str) -> None:
    before = {what: (how, found) for what, how, found in all_findings(postgres)}
    begun(postgres).close()

    after = {what: (how, found) for what, how, found in all_findings(postgres)}

    assert before["database"][0] == MISSING
    assert before["database"][1].startswith("there is none at postgresql://postgres:***@")
    assert after["database"] == (GOOD, "in order, PostgresStore, 0 keys")
    assert after["trial pilot"][0] == GOOD
    assert not {"disk", "SQLite", "permissions"} & after.keys()


def test_a_clock_behind_the_records_is_wrong() -> None:
    now = datetime(2027, 1, 1, tzinfo=UTC)

    assert clock(now + timedelta(seconds=1), now).how == WRONG
    assert clock(now - timedelta(seconds=1), now).how == GOOD
    assert clock(None, datetime(1970, 1, 1, tzinfo=UTC)).how == WRONG


def test_the_mode_follows_from_the_version_of_sqlite() -> None:
    assert "DELETE" in sqlite_of_this_machine((3, 40, 1)).found
    assert "safe in WAL" in sqlite_of_this_machine((3, 51, 3)).found


def test_a_full_disk_is_wrong(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda _: Usage(10**9, 10**9, 1000))

    assert disk(tmp_path / "trial.db").how == WRONG


@pytest.mark.parametrize(
    ("first", "second", "how", "said"),
    [
        (COMPILED, COMPILED, GOOD, "2 modules, compiled"),
        (CHECKED, CHECKED, NOTE, "bounds checks"),
        (PLAIN, PLAIN, NOTE, "studies 150 times slower"),
        (COMPILED, PLAIN, WRONG, "some are compiled and some are not"),
        (COMPILED, STALE, WRONG, "other sources than those beside them: b; install"),
    ],
)
def test_kernels_are_compiled_plain_or_stale(first: str, second: str, how: str, said: str) -> None:
    finding = kernels({"a": first, "b": second})

    assert finding.how == how
    assert said in finding.found
