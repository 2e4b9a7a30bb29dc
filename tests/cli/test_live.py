"""What the commands of a live trial do."""

from __future__ import annotations

import json
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import pytest

import dtrbandit as dtr
from dtrbandit.cli import live
from dtrbandit.cli.live import head_of
from dtrbandit.storage import Check, connect
from dtrbandit.trial import Head
from extras import needed
from serving.served import TRIAL, Served

EXAMPLE = Path(__file__).parents[2] / "examples/trial.toml"


@pytest.fixture
def storage(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> str:
    """A database with the example's trial and three units."""
    url = f"sqlite:///{tmp_path}/trial.db"
    live.create_trial(EXAMPLE, url, "tester")
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

    live.create_trial(EXAMPLE, url, None)
    first = printed(capsys)
    with pytest.raises(dtr.ProtocolError, match="already"):
        live.create_trial(EXAMPLE, url, None)

    assert "dtrb_" in first
    assert "A design of 2 stages" in first
    assert "dtrb_" not in printed(capsys)


def test_the_list_tells_where_trials_stand(storage: str, capsys: pytest.CaptureFixture[str]) -> None:
    live.show_trials(storage)

    assert printed(capsys) == "depression: rehearsal, 7 records, 3 units in flight\n"


def test_counts_of_one_have_no_s(storage: str, capsys: pytest.CaptureFixture[str]) -> None:
    with dtr.Trial.open("depression", storage=storage) as trial:
        for number in range(2):
            trial.respond(f"u{number}", {"qids_end1": 3.0})
            trial.complete(f"u{number}", -3.0)
        live.show_trials(storage)
    live.lock_trial("depression", storage, "chair", reason="approved", paper_schedule=False)
    live.show_trials(storage)

    first, _, locked = printed(capsys).splitlines()
    assert first.endswith(" records, 1 unit in flight")
    assert locked == "depression: live, 1 record, 0 units in flight"


def test_ending_a_rehearsal_says_that_it_was_one(storage: str, capsys: pytest.CaptureFixture[str]) -> None:
    live.end_trial("depression", storage, "chair", reason="complete")
    live.end_trial("depression", storage, "chair", reason="complete")
    live.show_trials(storage)

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

    live.create_trial(EXAMPLE, f"sqlite:///{tmp_path}/permuted.db", "lead")
    permuted = capsys.readouterr()
    live.create_trial(tmp_path / "paper.toml", f"sqlite:///{tmp_path}/paper.db", "lead")
    paper = capsys.readouterr()

    assert permuted.err == ""
    assert paper.err.startswith('warning: the policy has schedule = "paper": a site could guess the forced arms.')
    assert "--paper-schedule" in paper.err
    assert "Created trial" in paper.out


def test_a_trial_is_locked_and_ended_by_somebody(storage: str, capsys: pytest.CaptureFixture[str]) -> None:
    live.lock_trial("depression", storage, "chair", reason="approved", paper_schedule=False)
    live.end_trial("depression", storage, "chair", reason="complete")

    with dtr.Trial.open("depression", storage=storage) as trial:
        assert trial.phase == "ended"
        assert [record.actor for record in trial.records()] == ["chair", "chair"]
    told = printed(capsys)
    assert "is live. Its head is 1:" in told
    assert "Trial 'depression' has ended. Its head is 2:" in told


def test_verify_finds_nothing_and_says_when(storage: str, capsys: pytest.CaptureFixture[str]) -> None:
    live.show_head("depression", storage)
    head = printed(capsys).strip()

    assert live.verify_trial("depression", storage, against=head, every=None, as_json=False) == 0
    assert live.verify_trial("depression", storage, against=None, every=None, as_json=True) == 0

    document = json.loads(printed(capsys).splitlines()[-1])
    assert (document["name"], document["ok"], document["records"]) == ("depression", True, 7)
    (check,) = checks_of(storage)
    assert check.ok
    assert abs(time.time() - check.time) < 600


def test_verify_names_what_was_edited(storage: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with sqlite3.connect(tmp_path / "trial.db") as database:
        database.execute("UPDATE records SET text = replace(text, '11.0', '12.0') WHERE sequence = 4")
    database.close()

    assert live.verify_trial("depression", storage, against=None, every=0.01, as_json=False) == 1

    assert "First bad record: 4." in printed(capsys)
    assert [check.ok for check in checks_of(storage)] == [False]


def test_a_verification_that_cannot_be_noted_still_tells_what_it_found(
    storage: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with sqlite3.connect(tmp_path / "trial.db") as database:
        database.execute("DROP TABLE checks")
    database.close()

    assert live.verify_trial("depression", storage, against=None, every=None, as_json=True) == 0

    told = capsys.readouterr()
    assert json.loads(told.out)["ok"]
    assert "The service will not know of this verify" in told.err


def test_verify_finds_a_log_that_was_cut(storage: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    live.show_head("depression", storage)
    head = printed(capsys).strip()
    with sqlite3.connect(tmp_path / "trial.db") as database:
        database.execute("DELETE FROM records WHERE sequence > 5")
    database.close()

    assert live.verify_trial("depression", storage, against=None, every=None, as_json=False) == 0
    assert live.verify_trial("depression", storage, against=head, every=None, as_json=False) == 1


def test_export_writes_a_row_per_unit(storage: str, tmp_path: Path) -> None:
    with dtr.Trial.open("depression", storage=storage) as trial:
        for number in range(3):
            trial.respond(f"u{number}", {"qids_end1": 3.0})
            trial.complete(f"u{number}", -3.0)

    live.export_trial("depression", tmp_path / "units.csv", "csv", storage)

    lines = (tmp_path / "units.csv").read_text().splitlines()
    assert len(lines) == 1 + 3
    assert "qids_start1" in lines[0]
    assert "seed" not in lines[0]


def test_a_backup_is_restored_with_the_same_head(
    storage: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    live.show_head("depression", storage)
    head = printed(capsys).strip()

    live.back_up(tmp_path / "copy.db", storage)
    code = live.restore_backup(tmp_path / "copy.db", f"sqlite:///{tmp_path}/restored.db")

    assert code == 0
    assert head in printed(capsys)
    assert [check.what for check in checks_of(storage)] == ["backup"]
    with pytest.raises(dtr.DTRError):
        live.restore_backup(tmp_path / "copy.db", storage)


def test_a_backup_replaces_an_earlier_one_only_if_told(
    storage: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    live.back_up(tmp_path / "copy.db", storage)
    before = (tmp_path / "copy.db").read_bytes()
    with dtr.Trial.open("depression", storage=storage) as trial:
        trial.enroll("new", {"qids_start1": 10.0})
        head = trial.head

    with pytest.raises(dtr.ProtocolError, match="a backup replaces nothing"):
        live.back_up(tmp_path / "copy.db", storage)
    assert (tmp_path / "copy.db").read_bytes() == before
    live.back_up(tmp_path / "copy.db", storage, replace=True)
    with pytest.raises(dtr.DesignError, match="is the database itself"):
        live.back_up(tmp_path / "trial.db", storage, replace=True)

    with dtr.Trial.open("depression", storage=f"sqlite:///{tmp_path}/copy.db") as copy:
        assert copy.head == head
    assert printed(capsys) == f"Written: {tmp_path}/copy.db\n" * 2
    assert sorted(file.name for file in tmp_path.iterdir()) == ["copy.db", "trial.db"]


def test_a_copy_to_postgresql_and_back_has_the_same_head(
    storage: str, postgres: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    live.show_head("depression", storage)
    head = printed(capsys).strip()

    assert live.copy_trials(storage, postgres) == 0
    assert live.copy_trials(postgres, f"sqlite:///{tmp_path}/back.db") == 0

    assert printed(capsys).count(head) == 2
    for target in (postgres, storage):
        with pytest.raises(dtr.ProtocolError, match="a copy needs an empty store"):
            live.copy_trials(storage, target)


def test_a_backup_is_restored_to_postgresql(storage: str, postgres: str, tmp_path: Path) -> None:
    live.back_up(tmp_path / "copy.db", storage, every=None, keep=1)

    assert live.restore_backup(tmp_path / "copy.db", postgres) == 0
    with dtr.Trial.open("depression", storage=storage) as one, dtr.Trial.open("depression", storage=postgres) as other:
        assert one.head == other.head


def test_a_trial_in_postgresql_is_created_without_a_word_on_its_password(
    postgres: str, capsys: pytest.CaptureFixture[str]
) -> None:
    live.create_trial(EXAMPLE, postgres.replace("//postgres:@", "//postgres:SECRET@"), "lead")

    told = printed(capsys)
    assert "postgresql://postgres:***@" in told
    assert "SECRET" not in told


def test_tables_of_this_release_are_left_as_they_are(
    postgres: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    live.create_trial(EXAMPLE, postgres, "lead")

    live.migrate_tables(tmp_path / "before.db", postgres)

    assert "The tables are those of this release." in printed(capsys)
    assert list(tmp_path.iterdir()) == []


def test_backups_on_a_schedule_keep_the_latest_until_stopped(
    storage: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    rests: list[float] = []

    def rest(seconds: float) -> None:
        rests.append(seconds)
        if len(rests) == 4:
            raise KeyboardInterrupt

    monkeypatch.setattr("dtrbandit.cli.live.sleep", rest)

    live.back_up(tmp_path / "copies", storage, every=60.0, keep=2)

    assert capsys.readouterr().err.endswith("Stopped.\n")
    assert len(list((tmp_path / "copies").iterdir())) == 2
    assert set(rests) == {60.0}


@pytest.mark.parametrize("text", ["", "7", "x:" + "0" * 64, "7:" + "0" * 63, "7:" + "g" * 64, "-7:" + "0" * 64])
def test_a_head_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(dtr.DesignError, match="SEQUENCE:HASH"):
        head_of(text)


def test_a_head_is_read() -> None:
    assert head_of("7:" + "a" * 64 + "\n") == Head(7, "a" * 64)


@pytest.mark.slow
def test_serve_says_which_database_it_made_and_what_it_serves(tmp_path: Path) -> None:
    needed("uvicorn")
    needed("jinja2")
    served, told = Served(tmp_path), []
    for _ in range(3):
        told.append(served.told)
        served.post("/trials", {"name": "pilot", **TRIAL} if len(told) == 2 else {})
        served.stop()
        served.start()
    served.stop()

    (made, advice, _, key, _), (empty, _), (known, listens) = told
    assert made.startswith(f"NEW DATABASE: there was none at {tmp_path}/trial.db, so an empty one was made there.")
    assert "--storage sqlite:////folder/trial.db" in advice
    assert key.strip() == served.key
    assert empty.startswith(f"{tmp_path}/trial.db holds no trial yet.")
    assert known == f"{tmp_path}/trial.db: 1 trial (pilot)."
    assert listens.startswith("Listening at")


def test_serve_says_what_is_missing_without_the_extra(tmp_path: Path) -> None:
    code = (
        "import sys; sys.modules['uvicorn'] = None\n"
        "from dtrbandit.cli import app\n"
        f"app(['serve', '--storage', 'sqlite:///{tmp_path}/t.db'])"
    )

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)

    assert done.returncode == 2
    assert "pip install 'dtrbandit[serve]'" in done.stderr
