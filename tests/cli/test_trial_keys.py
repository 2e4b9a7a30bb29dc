"""The commands about keys, as they are typed, and what they do."""

from __future__ import annotations

import getpass
import json
import sqlite3
from collections.abc import Callable
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import pytest

import dtrbandit as dtr
from dtrbandit.cli import trial_keys
from dtrbandit.cli.trial_keys import RoleName
from dtrbandit.errors import NotFound
from dtrbandit.service.key_store import first_key
from dtrbandit.service.keys import KeyRing, Role
from dtrbandit.storage import connect
from exit_code import exit_code

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


@pytest.fixture
def storage(tmp_path: Path) -> str:
    url = f"sqlite:///{tmp_path}/trial.db"
    store = connect(url)
    store.add_trial("pilot")
    first_key(store, now=datetime.now(UTC))
    store.close()
    return url


def holder_of(storage: str, key: str) -> str:
    store = connect(storage)
    try:
        return KeyRing(store.api_keys()).holder(f"Bearer {key}", now=datetime.now(UTC)).label
    finally:
        store.close()


def test_a_key_is_made_shown_rotated_and_revoked(storage: str, capsys: pytest.CaptureFixture[str]) -> None:
    trial_keys.create_key(RoleName("site"), "nurse A", storage=storage, days=30.0, trial="pilot", site="north")
    key = capsys.readouterr().out.split()[-1]
    name = key.split("_")[1]
    trial_keys.rotate_key(name, 1.0, storage)
    told = capsys.readouterr().out
    successor = told.splitlines()[1].strip()
    trial_keys.list_keys(storage)
    between = capsys.readouterr().out
    trial_keys.revoke_key(name, storage)
    capsys.readouterr()
    trial_keys.list_keys(storage)

    listed = capsys.readouterr().out
    ends = told.splitlines()[2].removeprefix(f"The old key {name} works until ").removesuffix(".")
    assert f"site north  (replaced, until {ends})" in between
    assert holder_of(storage, successor) == "nurse A"
    assert f"{name}  site           nurse A, trial pilot, site north  (revoked)" in listed
    assert ", until " in listed
    assert key not in listed


def test_what_happened_to_keys_is_listed_and_verified(storage: str, capsys: pytest.CaptureFixture[str]) -> None:
    trial_keys.create_key(RoleName("site"), "nurse A", storage=storage, trial="pilot", site="north")
    name = capsys.readouterr().out.split()[2]
    trial_keys.rotate_key(name, 1.0, storage)
    capsys.readouterr()

    trial_keys.key_events(storage)
    listed = capsys.readouterr().out.splitlines()
    trial_keys.key_events(storage, json=True)
    stored = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert exit_code(trial_keys.verify_keys, None, storage) == 0
    verified = capsys.readouterr().out.strip()

    assert len(listed) == 4
    assert f"  rotated  {name}  site           nurse A, trial pilot, site north, successor " in listed[-1]
    assert listed[-1].endswith(f"  by {trial_keys.requester().actor}")
    assert [record["event"]["event"] for record in stored] == ["KeyCreated"] * 3 + ["KeyRotated"]
    assert verified.endswith(f" 4:{stored[-1]['hash']}")
    assert exit_code(trial_keys.verify_keys, f"4:{'f' * 64}", storage) == 1
    assert capsys.readouterr().out.startswith("Not in order: the record of keys was cut or changed")


def test_a_machine_that_does_not_say_who_acts_still_makes_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(getpass, "getuser", lambda: (_ for _ in ()).throw(KeyError("no such user")))

    assert trial_keys.requester().actor == "command line"


def test_mistakes_are_said(storage: str) -> None:
    with pytest.raises(NotFound):
        trial_keys.revoke_key("unknown", storage)
    with pytest.raises(dtr.ObservationError):
        trial_keys.create_key(RoleName("auditor"), "", storage=storage)
    with pytest.raises(dtr.ObservationError, match="needs a trial and a site"):
        trial_keys.create_key(RoleName("site"), "nurse A", storage=storage)
    with pytest.raises(NotFound, match="no file"):
        trial_keys.list_keys(storage + ".other")
