"""Keys on the command line."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

import dtrbandit as dtr
from dtrbandit.cli import live_keys
from dtrbandit.errors import NotFound
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


def test_mistakes_are_said(storage: str) -> None:
    with pytest.raises(NotFound):
        live_keys.revoke_one("unknown", storage)
    with pytest.raises(dtr.ObservationError):
        live_keys.make_key("auditor", "", storage)
    with pytest.raises(dtr.ObservationError, match="needs a trial and a site"):
        live_keys.make_key("site", "nurse A", storage)
    with pytest.raises(NotFound, match="no file"):
        live_keys.show_keys(storage + ".other")
