"""Keys on the command line."""

from __future__ import annotations

import getpass
import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

import dtrbandit as dtr
from dtrbandit.cli import live_keys
from dtrbandit.errors import NotFound
from dtrbandit.record.chain import Head
from dtrbandit.service.key_store import first_key
from dtrbandit.service.keys import KeyRing
from dtrbandit.storage import connect


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
    live_keys.make_key("site", "nurse A", storage, days=30.0, trial="pilot", site="north")
    key = capsys.readouterr().out.split()[-1]
    name = key.split("_")[1]
    live_keys.rotate_one(name, 1.0, storage)
    told = capsys.readouterr().out
    successor = told.splitlines()[1].strip()
    live_keys.show_keys(storage)
    between = capsys.readouterr().out
    live_keys.revoke_one(name, storage)
    capsys.readouterr()
    live_keys.show_keys(storage)

    listed = capsys.readouterr().out
    ends = told.splitlines()[2].removeprefix(f"The old key {name} works until ").removesuffix(".")
    assert f"site north  (replaced, until {ends})" in between
    assert holder_of(storage, successor) == "nurse A"
    assert f"{name}  site           nurse A, trial pilot, site north  (revoked)" in listed
    assert ", until " in listed
    assert key not in listed


def test_what_happened_to_keys_is_listed_and_verified(storage: str, capsys: pytest.CaptureFixture[str]) -> None:
    live_keys.make_key("site", "nurse A", storage, trial="pilot", site="north")
    name = capsys.readouterr().out.split()[2]
    live_keys.rotate_one(name, 1.0, storage)
    capsys.readouterr()

    live_keys.show_events(storage, as_json=False)
    listed = capsys.readouterr().out.splitlines()
    live_keys.show_events(storage, as_json=True)
    stored = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert live_keys.verify_events(storage, None) == 0
    verified = capsys.readouterr().out.strip()

    assert len(listed) == 4
    assert f"  rotated  {name}  site           nurse A, trial pilot, site north, successor " in listed[-1]
    assert listed[-1].endswith(f"  by {live_keys.operator()}")
    assert [record["event"]["event"] for record in stored] == ["KeyCreated"] * 3 + ["KeyRotated"]
    assert verified.endswith(f" 4:{stored[-1]['hash']}")
    assert live_keys.verify_events(storage, Head(4, "f" * 64)) == 1
    assert capsys.readouterr().out.startswith("Not in order: the record of keys was cut or changed")


def test_a_machine_that_does_not_say_who_acts_still_makes_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(getpass, "getuser", lambda: (_ for _ in ()).throw(KeyError("no such user")))

    assert live_keys.operator() == "command line"


def test_mistakes_are_said(storage: str) -> None:
    with pytest.raises(NotFound):
        live_keys.revoke_one("unknown", storage)
    with pytest.raises(dtr.ObservationError):
        live_keys.make_key("auditor", "", storage)
    with pytest.raises(dtr.ObservationError, match="needs a trial and a site"):
        live_keys.make_key("site", "nurse A", storage)
    with pytest.raises(NotFound, match="no file"):
        live_keys.show_keys(storage + ".other")
