"""The commands about keys as they are typed; what they do is tried in tests/cli/test_live_keys.py."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

from dtrbandit.cli.trial_keys import RoleName
from dtrbandit.service.keys import Role

EXAMPLE = Path(__file__).parents[2] / "examples/trial.toml"
Run = Callable[..., tuple[int, str, str]]


def test_keys_are_listed_and_made(run: Run) -> None:
    run("trial", "create", str(EXAMPLE))

    assert run("trial", "keys", "create", "site", "nurse A")[0] == 2
    place = ("--trial", "depression", "--site", "north")
    assert run("trial", "keys", "create", "site", "nurse A", *place, "--days", "3")[0] == 0
    code, listed, _ = run("trial", "keys", "list")
    name = next(line.split()[0] for line in listed.splitlines() if "north" in line)
    assert run("trial", "keys", "rotate", name)[0] == 0
    assert run("trial", "keys", "rotate", name)[0] == 2  # it is rotated once
    assert run("trial", "keys", "revoke", name)[0] == 0
    assert "  rotated  " in run("trial", "keys", "events")[1]
    assert run("trial", "keys", "verify")[0] == 0
    assert run("trial", "keys", "verify", "--against", f"9:{'0' * 64}")[0] == 1
    assert code == 0


def edit(file: Path, statement: str) -> None:
    """Change a database as somebody does who has the file."""
    with closing(sqlite3.connect(file)) as database, database:
        database.execute(statement)


def test_a_key_that_was_changed_outside_is_restored_with_a_warning_and_accepted(run: Run, tmp_path: Path) -> None:
    run("trial", "create", str(EXAMPLE))
    name = run("trial", "keys", "list")[1].split()[0]
    edit(tmp_path / "trial.db", "UPDATE keys SET label = 'somebody else'")
    run("trial", "backup", "copy.db")
    there = ("--storage", "sqlite:///other.db")

    code, told, _ = run("trial", "restore", "copy.db", *there)
    assert (code, f"the key {name} in the table of keys is not as record 1 of" in told) == (1, True)
    assert "  somebody else" in run("trial", "keys", "list", *there)[1]
    assert run("trial", "keys", "accept", name, *there)[0] == 2  # without a reason
    code, told, _ = run("trial", "keys", "accept", name, "--reason", "a typing error", *there)

    assert (code, "was changed outside, and is accepted" in told) == (0, True)
    assert "somebody else, changed outside: a typing error  by " in run("trial", "keys", "events", *there)[1]
    assert run("trial", "keys", "verify", *there)[0] == 0
    assert run("trial", "verify", "depression", *there)[0] == 0
    assert run("trial", "backup", "second.db", *there)[0] == 0
    assert run("trial", "restore", "second.db", "--storage", "sqlite:///third.db")[0] == 0


def test_the_roles_of_the_command_line_are_those_of_the_service() -> None:
    assert [role.value for role in RoleName] == [role.value for role in Role]
