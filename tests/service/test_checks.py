"""What was last verified and backed up."""

from __future__ import annotations

from pathlib import Path

from dtrbandit.service.checks import Check, note_check, read_checks


def test_the_latest_check_of_each_kind_is_remembered(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/trial.db"

    for check in (Check("verify", "a", 1.0, True), Check("backup", "a", 2.0, True), Check("verify", "a", 3.0, False)):
        note_check(url, check)

    assert read_checks(url) == [Check("backup", "a", 2.0, True), Check("verify", "a", 3.0, False)]


def test_a_damaged_file_tells_nothing(tmp_path: Path) -> None:
    (tmp_path / "trial.db.checks.json").write_text('[{"what": 1')

    assert read_checks(f"sqlite:///{tmp_path}/trial.db") == []


def test_a_database_in_memory_remembers_nothing() -> None:
    note_check("memory://", Check("verify", "a", 1.0, True))

    assert read_checks("memory://") == []
