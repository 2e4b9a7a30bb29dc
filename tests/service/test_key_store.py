"""Keys in a database."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

import dtrbandit as dtr
from dtrbandit.errors import NotFound
from dtrbandit.service.key_store import Requester, Revoked, create, first_key, revoke, rotate
from dtrbandit.service.keys import NewKey, digest, is_valid
from dtrbandit.storage import KEY_LOG, ApiKey, MemoryStore, SQLiteStore, Store, connect
from dtrbandit.storage.key_events import key_fault, key_records

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

    new = rotate(store, old.row.id, now=NOW, overlap=1.0)

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
    revoked: list[Revoked] = []

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
    assert revoke(store, bound.row.id, now=NOW).row.revoked is not None
    create(store, "administrator", "second", now=NOW)

    assert revoke(store, first.row.id, now=NOW).row.revoked is not None


def test_revoking_twice_changes_nothing() -> None:
    store = MemoryStore()
    key = create(store, "auditor", "inspector", now=NOW)

    first = revoke(store, key.row.id, now=NOW)

    assert revoke(store, key.row.id, now=NOW + timedelta(days=1)) == (first.row, True)


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


# -- the same request again ----------------------------------------------------------------------------------------

LATER = NOW + timedelta(minutes=5)


def run_by(store: Store) -> Requester:
    """Return how the first administrator asks, under an idempotency key."""
    first = first_key(store, now=NOW)
    assert first is not None
    return Requester("first administrator", first.row.id, first.key, "once")


def test_the_same_request_makes_one_key_and_shows_it_again() -> None:
    store = MemoryStore()
    requester = run_by(store)
    new = create(store, "auditor", "inspector", now=NOW, days=3.0, requester=requester)
    head = store.log(KEY_LOG).head()

    again = create(store, "auditor", "inspector", now=LATER, days=3.0, requester=requester)

    assert again == new._replace(repeated=True)
    assert digest(again.key) == new.row.sha256
    assert (store.log(KEY_LOG).head(), len(store.api_keys())) == (head, 2)
    assert (
        create(store, "auditor", "inspector", now=NOW, days=3.0, requester=requester._replace(once="other")).row.id
        != new.row.id
    )


def test_another_request_under_the_same_key_is_refused() -> None:
    store = MemoryStore()
    requester = run_by(store)
    new = create(store, "auditor", "inspector", now=NOW, requester=requester)
    head = store.log(KEY_LOG).head()

    with pytest.raises(dtr.ProtocolError, match="'once' belongs to another request"):
        create(store, "auditor", "another", now=NOW, requester=requester)
    with pytest.raises(dtr.ProtocolError, match="'once' belongs to another request"):
        rotate(store, new.row.id, now=NOW, requester=requester)
    with pytest.raises(dtr.ProtocolError, match="'once' belongs to another request"):
        revoke(store, new.row.id, now=NOW, requester=requester)

    assert store.log(KEY_LOG).head() == head


def test_an_idempotency_key_belongs_to_whoever_asks() -> None:
    store = MemoryStore()
    requester = run_by(store)
    second = create(store, "administrator", "second", now=NOW, requester=requester)

    other = create(store, "auditor", "x", now=NOW, requester=Requester("second", second.row.id, second.key, "once"))

    assert not other.repeated


def test_without_an_idempotency_key_each_request_makes_a_key_by_chance_alone() -> None:
    store = MemoryStore()
    requester = run_by(store)._replace(once=None)

    one, other = (create(store, "auditor", "inspector", now=NOW, requester=requester) for _ in range(2))

    assert one.row.id != other.row.id
    assert one.row.salt is None


def test_a_key_that_was_made_without_a_key_is_not_shown_again() -> None:
    store = MemoryStore()
    requester = run_by(store)._replace(key=None)
    create(store, "auditor", "inspector", now=NOW, requester=requester)

    with pytest.raises(dtr.ProtocolError, match="this was done before, by first administrator"):
        create(store, "auditor", "inspector", now=NOW, requester=requester)


def test_processes_that_take_the_same_request_side_by_side_make_one_key(postgres: str) -> None:
    stores = [connect(postgres) for _ in range(3)]
    requester = run_by(stores[0])
    ready = threading.Barrier(3)

    def made(store: Store) -> NewKey:
        ready.wait()
        return create(store, "auditor", "inspector", now=NOW, requester=requester)

    with ThreadPoolExecutor(3) as threads:
        found = list(threads.map(made, stores))

    assert len({new.key for new in found}) == 1
    assert sorted(new.repeated for new in found) == [False, True, True]
    assert len(stores[0].api_keys()) == 2
    assert key_fault(stores[0]) is None
    for store in stores:
        store.close()


@pytest.mark.parametrize("once", ["once", None])
def test_a_key_is_rotated_once_and_whoever_repeats_it_gets_the_same_successor(once: str | None) -> None:
    store = MemoryStore()
    requester = run_by(store)._replace(once=once)
    old = create(store, "auditor", "inspector", now=NOW)
    new = rotate(store, old.row.id, now=NOW, requester=requester)
    head = store.log(KEY_LOG).head()

    assert rotate(store, old.row.id, now=LATER, requester=requester) == new._replace(repeated=True)
    assert rotate(store, old.row.id, now=LATER, requester=requester._replace(once="two")) == new._replace(repeated=True)
    with pytest.raises(dtr.ProtocolError, match=rf"another (overlap; its successor is '{new.row.id}'|request)"):
        rotate(store, old.row.id, now=LATER, overlap=2.0, requester=requester)
    with pytest.raises(dtr.ProtocolError, match="this was done before, by first administrator"):
        rotate(store, old.row.id, now=LATER)
    assert store.log(KEY_LOG).head() == head
    assert key_fault(store) is None


def test_the_answer_stays_the_same_when_the_keys_have_ended_since() -> None:
    store = MemoryStore()
    requester = run_by(store)
    old = create(store, "auditor", "inspector", now=NOW)
    new = rotate(store, old.row.id, now=NOW, overlap=2.0, requester=requester)
    for name in (new.row.id, old.row.id):
        revoke(store, name, now=NOW)

    assert rotate(store, old.row.id, now=LATER, overlap=2.0, requester=requester) == new._replace(repeated=True)


def test_a_key_that_rotates_itself_works_for_an_hour_at_least() -> None:
    store = MemoryStore()
    requester = run_by(store)

    with pytest.raises(dtr.ObservationError, match=r"at least 1 hour, found 0.*revoke it with its successor"):
        rotate(store, requester.key_id, now=NOW, requester=requester)
    new = rotate(store, requester.key_id, now=NOW, overlap=1.0, requester=requester)

    assert rotate(store, requester.key_id, now=LATER, overlap=1.0, requester=requester).key == new.key


@pytest.mark.parametrize("overlap", [-1.0, 720.5, float("nan"), float("inf"), 1e308])
def test_an_overlap_has_limits(overlap: float) -> None:
    store = MemoryStore()
    key = create(store, "auditor", "inspector", now=NOW)

    with pytest.raises(dtr.ObservationError, match="a number of hours from 0 to 720, found"):
        rotate(store, key.row.id, now=NOW, overlap=overlap)

    assert store.api_keys() == [key.row]


def test_a_key_that_a_release_without_a_record_has_replaced_is_not_rotated_again() -> None:
    store = MemoryStore()
    key = create(store, "auditor", "inspector", now=NOW)
    store.put_api_key(key.row._replace(revoked="2026-11-18T09:00:00.000000Z"))

    with pytest.raises(dtr.ProtocolError, match="revoked or replaced"):
        rotate(store, key.row.id, now=NOW)


def test_a_revocation_repeats_its_answer() -> None:
    store = MemoryStore()
    requester = run_by(store)
    key = create(store, "auditor", "inspector", now=NOW)

    first = revoke(store, key.row.id, now=NOW, requester=requester)

    assert revoke(store, key.row.id, now=LATER, requester=requester) == (first.row, True)
    assert [record.event.event for record in key_records(store)][-2:] == ["KeyCreated", "KeyRevoked"]


def test_the_last_administrator_is_one_who_has_no_successor() -> None:
    store = MemoryStore()
    requester = run_by(store)
    new = rotate(store, requester.key_id, now=NOW, overlap=24.0, requester=requester)

    with pytest.raises(dtr.ProtocolError, match="last key"):
        revoke(store, new.row.id, now=NOW)

    assert revoke(store, requester.key_id, now=NOW).row.revoked is not None


def test_who_did_what_to_which_key_is_on_record() -> None:
    store = MemoryStore()
    requester = run_by(store)
    old = create(store, "auditor", "inspector", now=NOW, requester=requester)
    new = rotate(store, old.row.id, now=LATER, overlap=2.0)
    revoke(store, new.row.id, now=LATER, requester=requester._replace(once="two"))

    found = [(record.actor, record.event.event, record.event.id) for record in key_records(store)][1:]

    assert found == [
        ("first administrator", "KeyCreated", old.row.id),
        ("command line", "KeyCreated", new.row.id),
        ("command line", "KeyRotated", old.row.id),
        ("first administrator", "KeyRevoked", new.row.id),
    ]
    assert key_fault(store) is None


def test_a_key_that_was_changed_outside_is_revoked_and_both_are_on_record() -> None:
    store = MemoryStore()
    requester = run_by(store)
    row = create(store, "auditor", "inspector", now=NOW).row
    store.put_api_key(row._replace(role="administrator"))

    with pytest.raises(dtr.ProtocolError, match="not as its record says; revoke it"):
        rotate(store, row.id, now=NOW)
    first, second = (revoke(store, row.id, now=NOW, requester=requester) for _ in range(2))

    assert first.row == second.row
    assert (first.row.role, first.row.revoked is None, second.repeated) == ("administrator", False, True)
    assert key_fault(store) is None
    found, revoked = [each.event for each in key_records(store)][-2:]
    assert (found.event, found.role, found.reason) == ("KeyFound", "administrator", "found so when it was revoked")
    assert revoked.event == "KeyRevoked"


def test_a_key_is_revoked_also_when_its_record_is_damaged(tmp_path: Path) -> None:
    with closing(SQLiteStore(tmp_path / "trial.db")) as store:
        first_key(store, now=NOW)
        row = create(store, "auditor", "inspector", now=NOW).row
        with store.turn():
            store.ask("UPDATE records SET hash = 'x' WHERE sequence = 1")

        assert not revoke(store, row.id, now=NOW).repeated
