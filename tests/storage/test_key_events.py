"""What happened to keys: recorded with the change, chained, and held against the table of keys."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest

import dtrbandit as dtr
from dtrbandit.record.chain import Head, linked
from dtrbandit.storage import KEY_LOG, ApiKey, MemoryStore, SQLiteStore, Store, connect
from dtrbandit.storage.key_events import (
    CREATED,
    REVOKED,
    ROTATED,
    Change,
    KeyRecord,
    Request,
    accept_key,
    change_keys,
    changed_keys,
    describe_keys,
    fold,
    key_fault,
    key_record,
    key_record_fault,
    key_records,
)
from dtrbandit.storage.tables import TableStore

NOW = datetime(2026, 11, 17, 9, tzinfo=UTC)
TIME, LATER = "2026-11-17T09:00:00.000000Z", "2026-11-18T09:00:00.000000Z"
OLD = ApiKey("id1", "a" * 64, "site", "nurse ü", TIME, None, None, "pilot", "north", "salt")
NEW = OLD._replace(id="id2", sha256="b" * 64, salt=None)
ENDING = OLD._replace(revoked=LATER)


def filled(store: Store) -> Store:
    """Let a key be created, rotated and revoked: four records."""
    change_keys(store, [Change(CREATED, OLD)], actor="admin", time=NOW, request=Request("k", "once", "f" * 64))
    change_keys(store, [Change(CREATED, NEW), Change(ROTATED, ENDING, "id2")], actor="admin", time=NOW)
    change_keys(store, [Change(REVOKED, OLD._replace(revoked=TIME))], actor="command line", time=NOW)
    return store


@pytest.fixture(params=["memory", "sqlite", "postgres"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Store:
    if request.param == "postgres":
        opened = connect(request.getfixturevalue("postgres"))
    else:
        opened = MemoryStore() if request.param == "memory" else SQLiteStore(tmp_path / "trial.db")
    request.addfinalizer(opened.close)  # noqa: PT021  # by whichever it is
    return filled(opened)


def test_each_event_says_what_happened_by_whom_and_how_the_key_is_since(store: Store) -> None:
    records = list(key_records(store))

    assert [(each.sequence, each.actor, each.time) for each in records] == [
        (1, "admin", NOW), (2, "admin", NOW), (3, "admin", NOW), (4, "command line", NOW),
    ]  # fmt: skip
    assert [(each.event.event, each.event.id, each.event.revoked, each.event.successor) for each in records] == [
        ("KeyCreated", "id1", None, None),
        ("KeyCreated", "id2", None, None),
        ("KeyRotated", "id1", LATER, "id2"),
        ("KeyRevoked", "id1", TIME, None),
    ]
    first = records[0].event
    assert (first.role, first.label, first.trial, first.site) == ("site", "nurse ü", "pilot", "north")
    assert key_record(store, 3) == records[2]
    assert first.row(OLD._replace(revoked=TIME)) == OLD
    assert store.log(KEY_LOG).keys([("k", "once")])[0][3:] == (1, 1)


def test_neither_hash_nor_salt_is_in_the_record(store: Store) -> None:
    texts = b"".join(stored.text for stored in store.log(KEY_LOG).read())

    for hidden in (OLD.sha256, NEW.sha256, "salt"):
        assert hidden.encode() not in texts


def test_the_record_folded_gives_the_table_of_keys(store: Store) -> None:
    last = fold(key_records(store))

    assert {name: record.sequence for name, record in last.items()} == {"id1": 4, "id2": 2}
    assert key_fault(store) is None
    assert describe_keys(store).startswith("4 records of keys: the chain is whole, and the keys are what it says. ")


def test_a_change_and_its_record_are_both_there_or_neither(store: Store) -> None:
    before = store.log(KEY_LOG).head(), store.api_keys()
    third = OLD._replace(id="id3")

    with pytest.raises(dtr.Conflict):  # the idempotency key is in use
        change_keys(store, [Change(CREATED, third)], actor="a", time=NOW, request=Request("k", "once", "g" * 64))

    assert (store.log(KEY_LOG).head(), store.api_keys()) == before


# -- what was changed behind our back ------------------------------------------------------------------------------

EDITS = {
    "UPDATE keys SET role = 'administrator' WHERE id = 'id2'": "the key id2 .* is not as record 2",
    "UPDATE keys SET sha256 = 'c' WHERE id = 'id2'": "the key id2 .* is not as record 2",
    "UPDATE keys SET salt = 'other' WHERE id = 'id1'": "the key id1 .* is not as record 4",
    "UPDATE keys SET revoked = NULL WHERE id = 'id1'": "the key id1 .* is not as record 4",
    "UPDATE keys SET trial = NULL, site = NULL WHERE id = 'id2'": "the key id2 .* is not as record 2",
    "DELETE FROM keys WHERE id = 'id1'": "the key id1 is not in the table of keys; record 4",
    "INSERT INTO keys VALUES ('id0', 'a', 'site', 'x', 'y', NULL, NULL, NULL, NULL, NULL)": "id0 .* no record",
    "UPDATE records SET hash = 'x' WHERE sequence = 3": "the hash of record 3",
    "DELETE FROM records WHERE sequence = 2": "record 2 .* is missing",
    "DELETE FROM records WHERE sequence = 4": "the key id1 .* is not as record 3",
    "UPDATE requests SET sequence = 5": "the idempotency key 'once'",
}


def changed(store: Store, statement: str) -> Store:
    assert isinstance(store, TableStore)
    with store.turn():
        store.ask(statement)
    return store


@pytest.mark.parametrize(("edit", "told"), EDITS.items(), ids=str)
@pytest.mark.parametrize("store", ["sqlite"], indirect=True)
def test_every_edit_of_a_file_is_found_and_the_first_bad_record_named(store: Store, edit: str, told: str) -> None:
    assert re.search(told, key_fault(changed(store, edit)) or "")


@pytest.mark.parametrize("edit", list(EDITS)[::3])
@pytest.mark.parametrize("store", ["postgres"], indirect=True)
def test_edits_of_a_server_are_found(store: Store, edit: str) -> None:
    assert key_fault(changed(store, edit)) is not None


def test_a_text_that_was_edited_is_found(tmp_path: Path) -> None:
    filled(SQLiteStore(tmp_path / "trial.db")).close()
    with sqlite3.connect(tmp_path / "trial.db") as file:
        file.execute("UPDATE records SET text = replace(text, 'north', 'south') WHERE sequence = 2")
    file.close()

    store = SQLiteStore(tmp_path / "trial.db")

    assert "the hash of record 2" in (key_fault(store) or "")
    store.close()


def test_a_record_that_was_cut_is_found_against_a_head_that_was_kept() -> None:
    store = filled(MemoryStore())
    head = store.log(KEY_LOG).head()
    assert key_fault(store, head) is None
    assert key_fault(store, Head(0, "0" * 64)) is None

    shorter = MemoryStore()
    change_keys(shorter, [Change(CREATED, OLD)], actor="admin", time=NOW)

    assert key_fault(shorter) is None
    assert "was cut or changed" in (key_fault(shorter, head) or "")
    assert "was cut or changed" in (key_fault(shorter, Head(1, "f" * 64)) or "")


def test_keys_that_change_while_they_are_looked_at_are_no_fault() -> None:
    class Busy(MemoryStore):
        looks = 0

        def api_keys(self) -> list[ApiKey]:
            rows = super().api_keys()
            self.looks += 1
            if self.looks == 1:  # somebody else writes right after the look
                change_keys(self, [Change(CREATED, OLD)], actor="admin", time=NOW)
            return rows

    store = Busy()

    assert key_fault(store) is None
    assert store.looks == 2


@pytest.mark.parametrize(
    ("forged", "told"),
    [
        (lambda record: record._replace(event=record.event._replace(event=CREATED)), "of which record 1 comes before"),
        (lambda record: record._replace(event=record.event._replace(id="id9")), "of which no record comes before"),
        (lambda record: record._replace(event=record.event._replace(role="auditor")), "it changes more of key id1"),
        (lambda record: record._replace(event=record.event._replace(event="KeyLost")), "it changes more of key id1"),
        (lambda record: record._replace(event=record.event._replace(reason="forged")), "it changes more of key id1"),
        (lambda record: record._replace(event=record.event._replace(successor="id9")), "the successor 'id9'"),
        (lambda record: record._replace(event=record.event._replace(label=3)), "expected an event of a key"),
        (lambda record: record._replace(sequence=7), "found sequence number 7"),
    ],
)
def test_an_event_that_cannot_follow_is_found_under_a_new_chain(
    forged: Callable[[KeyRecord], KeyRecord], told: str
) -> None:
    records = list(key_records(filled(MemoryStore())))[:3]
    store = MemoryStore()
    store.log(KEY_LOG).append(list(linked([*records[:2], forged(records[2])])), 0)

    assert told in (key_fault(store) or "")


# -- the way back --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("edit", [edit for edit in EDITS if " keys " in edit])
@pytest.mark.parametrize("store", ["sqlite", "postgres"], indirect=True)
def test_every_edit_of_the_table_can_be_accepted_and_stays_on_record(store: Store, edit: str) -> None:
    changed(store, edit)
    rows, (told,) = store.api_keys(), changed_keys(store)
    name = told.split()[2]

    event = accept_key(store, name, reason="the ward was renamed", actor="lead (command line)", time=NOW)

    assert event.event == ("KeyLost" if edit.startswith("DELETE") else "KeyFound")
    assert key_fault(store) is None
    assert store.api_keys() == rows
    *before, last = key_records(store)
    assert (len(before), last.actor, last.event.reason) == (4, "lead (command line)", "the ward was renamed")
    assert last.event == event
    with pytest.raises(dtr.ProtocolError, match="nothing to accept"):
        accept_key(store, name, reason="again", actor="lead", time=NOW)


def test_a_key_that_was_accepted_is_held_against_what_was_accepted() -> None:
    store = filled(MemoryStore())
    store.put_api_key(NEW._replace(role="auditor"))
    accept_key(store, "id2", reason="meant", actor="lead", time=NOW)
    change_keys(store, [Change(REVOKED, NEW._replace(role="auditor", revoked=TIME))], actor="lead", time=NOW)
    assert key_fault(store) is None

    store.put_api_key(NEW)

    assert changed_keys(store) == ["the key id2 in the table of keys is not as record 6 of the record of keys says"]
    assert key_record_fault(store) is None


@pytest.mark.parametrize("store", ["sqlite"], indirect=True)
def test_a_lost_key_that_comes_back_is_found(store: Store) -> None:
    changed(store, "DELETE FROM keys WHERE id = 'id2'")
    accept_key(store, "id2", reason="removed by mistake", actor="lead", time=NOW)

    store.put_api_key(NEW)

    assert "the key id2 is" in (key_fault(store) or "")
    accept_key(store, "id2", reason="put back", actor="lead", time=NOW)
    assert key_fault(store) is None


def test_nothing_else_can_be_accepted() -> None:
    store = filled(MemoryStore())
    before = store.log(KEY_LOG).head()

    with pytest.raises(dtr.NotFound, match="no key 'id9'"):
        accept_key(store, "id9", reason="x", actor="lead", time=NOW)
    store.put_api_key(NEW._replace(label="other"))
    with pytest.raises(dtr.ObservationError, match="the key 'id2': a reason must be"):
        accept_key(store, "id2", reason=" ", actor="lead", time=NOW)

    assert store.log(KEY_LOG).head() == before
