"""The commands of a live trial, as they are typed, and what they do."""

from __future__ import annotations

import json
import sqlite3
import time
from collections.abc import Callable
from pathlib import Path

import pytest

import dtrbandit as dtr
from dtrbandit.cli import trial as commands
from dtrbandit.cli.trial import Format, head_of
from dtrbandit.storage import Check, connect
from dtrbandit.trial import Head
from exit_code import exit_code

EXAMPLE = Path(__file__).parents[2] / "examples/trial.toml"
Run = Callable[..., tuple[int, str, str]]


def test_a_trial_from_its_creation_to_its_end(run: Run, tmp_path: Path) -> None:
    assert run("trial", "create", str(EXAMPLE))[0] == 0
    assert run("trial", "lock", "depression", "--reason", "approved")[0] == 0
    assert run("trial", "list")[1].startswith("depression: live, 1 record")
    head = run("trial", "head", "depression")[1].strip()
    assert run("trial", "verify", "depression", "--against", head)[0] == 0
    assert run("trial", "backup", "copy.db")[0] == 0
    assert run("trial", "restore", "copy.db", "--storage", "sqlite:///other.db")[0] == 0
    with dtr.Trial.open("depression") as trial:
        trial.enroll("u1", {"qids_start1": 12.0})
        trial.respond("u1", {"qids_end1": 3.0})
        trial.complete("u1", -3.0)
    assert run("trial", "export", "depression", "units.jsonl", "--format", "jsonl")[0] == 0
    assert "seed" not in (tmp_path / "units.jsonl").read_text()
    assert run("trial", "end", "depression", "--reason", "complete")[0] == 0
    assert run("doctor")[0] == 0


def test_mistakes_have_exit_code_2_and_one_message(run: Run) -> None:
    for arguments in (
        ("trial", "list"),
        ("trial", "head", "nowhere"),
        ("trial", "create", "missing.toml"),
        ("trial", "list", "--storage", "mysql://x"),
        ("serve", "--host", "0.0.0.0"),
        ("trial", "keys", "create", "king", "x"),
    ):
        code, out, error = run(*arguments)
        assert (code, out) == (2, ""), arguments
        assert "Traceback" not in error


@pytest.fixture
def storage(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> str:
    """A database with the example's trial and three units."""
    url = f"sqlite:///{tmp_path}/trial.db"
    commands.create(EXAMPLE, url, "tester")
    with dtr.Trial.open("depression", storage=url) as trial:
        for number in range(3):
            trial.enroll(f"u{number}", {"qids_start1": 10.0 + number}, actor="nurse")
    capsys.readouterr()
    return url


def checks_of(url: str) -> list[Check]:
    """Return what the database remembers of checks."""
    store = connect(url)
    found = store.last_checks()
    store.close()
    return found


def printed(capsys: pytest.CaptureFixture[str]) -> str:
    return capsys.readouterr().out


def test_a_new_database_prints_its_first_key_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    url = f"sqlite:///{tmp_path}/new.db"

    commands.create(EXAMPLE, url, None)
    first = printed(capsys)
    with pytest.raises(dtr.ProtocolError, match="already"):
        commands.create(EXAMPLE, url, None)

    assert "dtrb_" in first
    assert "A design of 2 stages" in first
    assert "dtrb_" not in printed(capsys)


def test_the_list_tells_where_trials_stand(storage: str, capsys: pytest.CaptureFixture[str]) -> None:
    commands.list_trials(storage)

    assert printed(capsys) == "depression: rehearsal, 7 records, 3 units in flight\n"


def test_counts_of_one_have_no_s(storage: str, capsys: pytest.CaptureFixture[str]) -> None:
    with dtr.Trial.open("depression", storage=storage) as trial:
        for number in range(2):
            trial.respond(f"u{number}", {"qids_end1": 3.0})
            trial.complete(f"u{number}", -3.0)
        commands.list_trials(storage)
    commands.lock("depression", storage=storage, actor="chair", reason="approved", paper_schedule=False)
    commands.list_trials(storage)

    first, _, locked = printed(capsys).splitlines()
    assert first.endswith(" records, 1 unit in flight")
    assert locked == "depression: live, 1 record, 0 units in flight"


def test_ending_a_rehearsal_says_that_it_was_one(storage: str, capsys: pytest.CaptureFixture[str]) -> None:
    commands.end("depression", storage=storage, actor="chair", reason="complete")
    commands.end("depression", storage=storage, actor="chair", reason="complete")
    commands.list_trials(storage)

    *ended, listed = printed(capsys).splitlines()
    for line in ended:
        assert "has ended. It was a rehearsal: it was never live, and cannot be locked any more." in line
    assert len(ended) == 2
    assert listed.startswith("depression: ended in rehearsal, 8 records")


def test_the_paper_schedule_is_warned_about_when_a_trial_is_created(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = EXAMPLE.read_text(encoding="utf-8")
    (tmp_path / "paper.toml").write_text(text.replace('schedule = "permuted"', 'schedule = "paper"'), encoding="utf-8")

    commands.create(EXAMPLE, f"sqlite:///{tmp_path}/permuted.db", "lead")
    permuted = capsys.readouterr()
    commands.create(tmp_path / "paper.toml", f"sqlite:///{tmp_path}/paper.db", "lead")
    paper = capsys.readouterr()

    assert permuted.err == ""
    assert paper.err.startswith('warning: the policy has schedule = "paper": a site could guess the forced arms.')
    assert "--paper-schedule" in paper.err
    assert "Created trial" in paper.out


def test_a_trial_is_locked_and_ended_by_somebody(storage: str, capsys: pytest.CaptureFixture[str]) -> None:
    commands.lock("depression", storage=storage, actor="chair", reason="approved", paper_schedule=False)
    commands.end("depression", storage=storage, actor="chair", reason="complete")

    with dtr.Trial.open("depression", storage=storage) as trial:
        assert trial.phase == "ended"
        assert [record.actor for record in trial.records()] == ["chair", "chair"]
    told = printed(capsys)
    assert "is live. Its head is 1:" in told
    assert "Trial 'depression' has ended. Its head is 2:" in told


def test_verify_finds_nothing_and_says_when(storage: str, capsys: pytest.CaptureFixture[str]) -> None:
    commands.head("depression", storage)
    head = printed(capsys).strip()

    assert exit_code(commands.verify, "depression", against=head, watch=None, storage=storage, json=False) == 0
    assert exit_code(commands.verify, "depression", against=None, watch=None, storage=storage, json=True) == 0

    document = json.loads(printed(capsys).splitlines()[-1])
    assert (document["name"], document["ok"], document["records"]) == ("depression", True, 7)
    (check,) = checks_of(storage)
    assert check.ok
    assert abs(time.time() - check.time) < 600


def test_verify_names_what_was_edited(storage: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with sqlite3.connect(tmp_path / "trial.db") as database:
        database.execute("UPDATE records SET text = replace(text, '11.0', '12.0') WHERE sequence = 4")
    database.close()

    assert exit_code(commands.verify, "depression", against=None, watch=0.01, storage=storage, json=False) == 1

    assert "First bad record: 4." in printed(capsys)
    assert [check.ok for check in checks_of(storage)] == [False]


def test_a_verification_that_cannot_be_noted_still_tells_what_it_found(
    storage: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with sqlite3.connect(tmp_path / "trial.db") as database:
        database.execute("DROP TABLE checks")
    database.close()

    assert exit_code(commands.verify, "depression", against=None, watch=None, storage=storage, json=True) == 0

    told = capsys.readouterr()
    assert json.loads(told.out)["ok"]
    assert "The service will not know of this verify" in told.err


def test_verify_finds_a_log_that_was_cut(storage: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    commands.head("depression", storage)
    head = printed(capsys).strip()
    with sqlite3.connect(tmp_path / "trial.db") as database:
        database.execute("DELETE FROM records WHERE sequence > 5")
    database.close()

    assert exit_code(commands.verify, "depression", against=None, watch=None, storage=storage, json=False) == 0
    assert exit_code(commands.verify, "depression", against=head, watch=None, storage=storage, json=False) == 1


def test_export_writes_a_row_per_unit(storage: str, tmp_path: Path) -> None:
    with dtr.Trial.open("depression", storage=storage) as trial:
        for number in range(3):
            trial.respond(f"u{number}", {"qids_end1": 3.0})
            trial.complete(f"u{number}", -3.0)

    commands.export("depression", tmp_path / "units.csv", Format.CSV, storage)

    lines = (tmp_path / "units.csv").read_text().splitlines()
    assert len(lines) == 1 + 3
    assert "qids_start1" in lines[0]
    assert "seed" not in lines[0]


def test_a_trial_in_postgresql_is_created_without_a_word_on_its_password(
    postgres: str, capsys: pytest.CaptureFixture[str]
) -> None:
    commands.create(EXAMPLE, postgres.replace("//postgres:@", "//postgres:SECRET@"), "lead")

    told = printed(capsys)
    assert "postgresql://postgres:***@" in told
    assert "SECRET" not in told


@pytest.mark.parametrize("text", ["", "7", "x:" + "0" * 64, "7:" + "0" * 63, "7:" + "g" * 64, "-7:" + "0" * 64])
def test_a_head_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(dtr.DesignError, match="SEQUENCE:HASH"):
        head_of(text)


def test_a_head_is_read() -> None:
    assert head_of("7:" + "a" * 64 + "\n") == Head(7, "a" * 64)
