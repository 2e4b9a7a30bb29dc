"""Copies of whole databases; one takes the place of an earlier one, and of nothing else."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

import dtrbandit as dtr
from dtrbandit.cli import backups
from dtrbandit.cli import trial as commands
from dtrbandit.storage import Check, connect, connect_existing
from exit_code import exit_code
from trial.small_trial import begun, fill

EXAMPLE = Path(__file__).parents[2] / "examples/trial.toml"
Run = Callable[..., tuple[int, str, str]]


def test_a_database_is_copied_to_an_empty_one(run: Run) -> None:
    run("trial", "create", str(EXAMPLE))

    assert run("trial", "copy", "--from", "sqlite:///trial.db", "--to", "sqlite:///other.db")[0] == 0
    code, _, told = run("trial", "copy", "--from", "sqlite:///trial.db", "--to", "sqlite:///other.db")
    assert (code, "a copy needs an empty store" in told) == (2, True)
    assert (
        run("trial", "head", "depression")[1]
        == run("trial", "head", "depression", "--storage", "sqlite:///other.db")[1]
    )


def test_a_file_needs_no_migration(run: Run) -> None:
    run("trial", "create", str(EXAMPLE))

    code, _, told = run("trial", "migrate", "before.db")

    assert (code, "when it is opened" in told) == (2, True)


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


def test_a_backup_is_restored_with_the_same_head(
    storage: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    commands.head("depression", storage)
    head = printed(capsys).strip()

    backups.backup(tmp_path / "copy.db", storage=storage)
    code = exit_code(backups.restore, tmp_path / "copy.db", f"sqlite:///{tmp_path}/restored.db")

    assert code == 0
    assert head in printed(capsys)
    assert [check.what for check in checks_of(storage)] == ["backup"]
    with pytest.raises(dtr.DTRError):
        exit_code(backups.restore, tmp_path / "copy.db", storage)


def test_a_backup_replaces_an_earlier_one_only_if_told(
    storage: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    backups.backup(tmp_path / "copy.db", storage=storage)
    before = (tmp_path / "copy.db").read_bytes()
    with dtr.Trial.open("depression", storage=storage) as trial:
        trial.enroll("new", {"qids_start1": 10.0})
        head = trial.head

    with pytest.raises(dtr.ProtocolError, match="a backup replaces nothing"):
        backups.backup(tmp_path / "copy.db", storage=storage)
    assert (tmp_path / "copy.db").read_bytes() == before
    backups.backup(tmp_path / "copy.db", storage=storage, replace=True)
    with pytest.raises(dtr.DesignError, match="is the database itself"):
        backups.backup(tmp_path / "trial.db", storage=storage, replace=True)

    with dtr.Trial.open("depression", storage=f"sqlite:///{tmp_path}/copy.db") as copy:
        assert copy.head == head
    assert printed(capsys) == f"Written: {tmp_path}/copy.db\n" * 2
    assert sorted(file.name for file in tmp_path.iterdir()) == ["copy.db", "trial.db"]


def test_a_copy_to_postgresql_and_back_has_the_same_head(
    storage: str, postgres: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    commands.head("depression", storage)
    head = printed(capsys).strip()

    assert exit_code(backups.copy, storage, postgres) == 0
    assert exit_code(backups.copy, postgres, f"sqlite:///{tmp_path}/back.db") == 0

    assert printed(capsys).count(head) == 2
    for target in (postgres, storage):
        with pytest.raises(dtr.ProtocolError, match="a copy needs an empty store"):
            exit_code(backups.copy, storage, target)


def test_a_backup_is_restored_to_postgresql(storage: str, postgres: str, tmp_path: Path) -> None:
    backups.backup(tmp_path / "copy.db", storage=storage, every=None, keep=1)

    assert exit_code(backups.restore, tmp_path / "copy.db", postgres) == 0
    with dtr.Trial.open("depression", storage=storage) as one, dtr.Trial.open("depression", storage=postgres) as other:
        assert one.head == other.head


def test_tables_of_this_release_are_left_as_they_are(
    postgres: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    commands.create(EXAMPLE, postgres, "lead")

    backups.migrate(tmp_path / "before.db", postgres)

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

    monkeypatch.setattr("dtrbandit.cli.backups.sleep", rest)

    backups.backup(tmp_path / "copies", storage=storage, every=60.0, keep=2)

    assert capsys.readouterr().err.endswith("Stopped.\n")
    assert len(list((tmp_path / "copies").iterdir())) == 2
    assert set(rests) == {60.0}


def begun_at(place: Path, *, name: str = "pilot", seed: int = 1) -> str:
    """Begin a trial in a file; return the address."""
    with begun(f"sqlite:///{place}", name=name, seed=seed) as trial:
        fill(trial, 3)
    return f"sqlite:///{place}"


def copied(url: str, file: Path) -> None:
    store = connect_existing(url)
    store.backup(file)
    store.close()


def replaced(file: Path, url: str) -> None:
    """Replace a file by a copy of a database."""
    backups.backup(file, replace=True, storage=url)


def test_an_earlier_copy_is_replaced(tmp_path: Path) -> None:
    url, copy = begun_at(tmp_path / "trial.db"), tmp_path / "copy.db"
    copied(url, copy)
    with dtr.Trial.open("pilot", storage=url) as trial:
        trial.enroll("later", {"x": 0.5})
        head = trial.head

    replaced(copy, url)

    with dtr.Trial.open("pilot", storage=f"sqlite:///{copy}") as found:
        assert found.head == head


@pytest.mark.parametrize(("name", "seed"), [("another", 1), ("pilot", 2)])
def test_another_database_is_not_replaced(tmp_path: Path, name: str, seed: int) -> None:
    url = begun_at(tmp_path / "trial.db")
    begun_at(tmp_path / "other.db", name=name, seed=seed)
    before = (tmp_path / "other.db").read_bytes()

    with pytest.raises(dtr.DesignError, match="no earlier copy of this database"):
        replaced(tmp_path / "other.db", url)

    assert (tmp_path / "other.db").read_bytes() == before


def test_a_copy_that_is_in_use_is_not_replaced(tmp_path: Path) -> None:
    url, copy = begun_at(tmp_path / "trial.db"), tmp_path / "copy.db"
    copied(url, copy)
    (tmp_path / "copy.db-shm").write_bytes(b"")

    with pytest.raises(dtr.DesignError, match=r"in use: there is copy\.db-shm"):
        replaced(copy, url)


def test_a_file_that_is_no_database_is_not_replaced(tmp_path: Path) -> None:
    url, text = begun_at(tmp_path / "trial.db"), tmp_path / "thesis.txt"
    text.write_text("dear" * 1000)

    with pytest.raises(dtr.DTRError, match=r"thesis\.txt"):
        replaced(text, url)

    assert text.read_text() == "dear" * 1000
