"""Keys in a database."""

from __future__ import annotations

from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

import dtrbandit as dtr
from dtrbandit.errors import NotFound
from dtrbandit.service.key_store import create, first_key, revoke, rotate
from dtrbandit.service.keys import is_valid
from dtrbandit.storage import ApiKey, MemoryStore, SQLiteStore

NOW = datetime(2026, 11, 17, 9, tzinfo=UTC)


def test_the_first_key_is_made_once() -> None:
    store = MemoryStore()

    first, second = first_key(store, now=NOW), first_key(store, now=NOW)

    assert first is not None
    assert second is None
    assert [row.role for row in store.api_keys()] == ["administrator"]


def test_rotation_keeps_role_label_expiry_trial_and_site() -> None:
    store = MemoryStore()
    store.add_trial("pilot")
    old = create(store, "site", "nurse A", now=NOW, days=10, trial="pilot", site="north")

    new = rotate(store, old.row.id, now=NOW, overlap=timedelta(hours=1))

    rows = {row.id: row for row in store.api_keys()}
    assert new.row[2:4] == old.row[2:4]
    assert new.row.expires == old.row.expires
    assert (new.row.trial, new.row.site) == ("pilot", "north")
    assert is_valid(rows[old.row.id], NOW + timedelta(minutes=59))
    assert not is_valid(rows[old.row.id], NOW + timedelta(hours=1))


def test_a_key_that_another_process_revokes_meanwhile_is_not_rotated(tmp_path: Path) -> None:
    """The revocation waits for the rotation, or the rotation finds it: who was revoked gets no other key."""
    other = SQLiteStore(tmp_path / "trial.db", patience=0.01)
    first_key(other, now=NOW)
    old = create(other, "auditor", "leaver", now=NOW)
    revoked: list[ApiKey] = []

    class Interrupted(SQLiteStore):
        def api_keys(self) -> list[ApiKey]:
            rows = super().api_keys()
            with suppress(dtr.Unavailable):
                revoked.append(revoke(other, old.row.id, now=NOW))
            return rows

    store = Interrupted(tmp_path / "trial.db")
    rotate(store, old.row.id, now=NOW)
    store.close()
    other.close()

    assert revoked == []


def test_the_last_administrator_stays() -> None:
    store = MemoryStore()
    first = first_key(store, now=NOW)
    assert first is not None

    with pytest.raises(dtr.ProtocolError, match="last key"):
        revoke(store, first.row.id, now=NOW)
    store.add_trial("pilot")
    bound = create(store, "administrator", "of one trial", now=NOW, trial="pilot")
    with pytest.raises(dtr.ProtocolError, match="last key of an administrator of all trials"):
        revoke(store, first.row.id, now=NOW)
    assert revoke(store, bound.row.id, now=NOW).revoked is not None
    create(store, "administrator", "second", now=NOW)

    assert revoke(store, first.row.id, now=NOW).revoked is not None


def test_revoking_twice_changes_nothing() -> None:
    store = MemoryStore()
    key = create(store, "auditor", "inspector", now=NOW)

    first = revoke(store, key.row.id, now=NOW)

    assert revoke(store, key.row.id, now=NOW + timedelta(days=1)) == first


def test_unknown_keys_and_roles_are_said() -> None:
    with pytest.raises(NotFound, match="no key 'x'"):
        revoke(MemoryStore(), "x", now=NOW)
    with pytest.raises(dtr.ObservationError, match="did you mean 'site'"):
        create(MemoryStore(), "sight", "north", now=NOW)


def test_a_key_is_made_for_a_trial_that_is_there() -> None:
    store = MemoryStore()
    store.add_trial("pilot")

    with pytest.raises(NotFound, match="no trial 'pilto' to make a key for; the trials here are 'pilot'"):
        create(store, "auditor", "inspector", now=NOW, trial="pilto")

    assert store.api_keys() == []


def test_within_a_trial_other_keys_are_as_if_they_were_not_there() -> None:
    store = MemoryStore()
    store.add_trial("pilot")
    other, own = (create(store, "auditor", "inspector", now=NOW, trial=trial) for trial in (None, "pilot"))

    for act in (rotate, revoke):
        with pytest.raises(NotFound) as hidden:
            act(store, other.row.id, now=NOW, within="pilot")
        with pytest.raises(NotFound) as missing:
            act(store, "x", now=NOW, within="pilot")
        assert str(hidden.value).replace(other.row.id, "x") == str(missing.value)
    assert rotate(store, own.row.id, now=NOW, within="pilot").row.trial == "pilot"
