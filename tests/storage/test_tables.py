"""Tables of any database; the contract is in ``tests/contracts/test_storages.py``."""

from __future__ import annotations

from pathlib import Path

import pytest

import dtrbandit as dtr
from dtrbandit.record.chain import Record, linked
from dtrbandit.record.events import Completed
from dtrbandit.storage import SQLiteStore, Store, connect
from dtrbandit.storage.tables import TableStore, text_of


@pytest.fixture(params=["sqlite", "postgres"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Store:
    address = request.getfixturevalue("postgres") if request.param == "postgres" else f"sqlite:///{tmp_path}/trial.db"
    return connect(address)


@pytest.mark.parametrize("name", ["a\0b", "\ud800", "\n", ""])
def test_a_name_that_no_trial_can_have_is_not_there(store: Store, name: str) -> None:
    assert store.trial(name) is None
    store.close()


def test_a_record_that_is_missing_is_named(store: Store) -> None:
    log = store.log(store.add_trial("trial").rehearsal)
    log.append(list(linked(Record(n, None, None, Completed("u", 1.0)) for n in range(1, 6))), 0)
    assert isinstance(store, TableStore)
    with store.turn():
        store.ask("DELETE FROM records WHERE sequence = ?", 3)

    with pytest.raises(dtr.LogError, match="record 3 of log 1 is missing") as found:
        list(log.read())

    assert found.value.sequence == 3
    store.close()


@pytest.mark.parametrize("found", [b"\xff\x00ab", b"", b'{"event":1}'])
def test_bytes_that_were_changed_come_back_as_they_are(store: Store, found: bytes) -> None:
    log = store.log(store.add_trial("trial").rehearsal)
    (stored,) = linked([Record(1, None, None, Completed("u", 1.0))])
    log.append([stored._replace(text=found)], 0)

    assert list(log.read()) == [stored._replace(text=found)]
    store.close()


@pytest.mark.parametrize("text", [b'{"unit":"u"', b'{"actor":null,"event":{"unit":"u"},"sequence":7,"time":null}'])
def test_a_damaged_record_of_a_unit_is_named(store: Store, text: bytes) -> None:
    log = store.log(store.add_trial("trial").rehearsal)
    first, second = linked(Record(n, None, None, Completed("u", 1.0)) for n in (1, 2))
    log.append([first, second._replace(text=text)], 0)

    with pytest.raises(dtr.LogError) as found:
        log.of_unit("u")

    assert found.value.sequence == 2
    assert log.of_unit("u", 1) == [(1, first)]  # what comes later is not even decoded
    store.close()


def test_a_unit_is_found_however_its_id_is_spelled(store: Store) -> None:
    log = store.log(store.add_trial("trial").rehearsal)
    (stored,) = linked([Record(1, None, None, Completed("é", 1.0))])
    plain = stored._replace(text=stored.text.replace(rb"\u00e9", "é".encode()))
    log.append([plain], 0)

    assert log.of_unit("é") == [(1, plain)]
    store.close()


def test_the_records_of_a_unit_are_found_by_an_index(store: Store) -> None:
    log = store.log(store.add_trial("trial").rehearsal)
    log.append(list(linked(Record(n, None, None, Completed(f"u{n}", 1.0)) for n in range(1, 5_001))), 0)
    assert isinstance(store, TableStore)
    explain = "EXPLAIN QUERY PLAN" if isinstance(store, SQLiteStore) else "EXPLAIN"

    plan = store.ask(f"{explain} {store.of_unit}", b'"unit":"u1"', 1, 5_000)

    assert "records_by_unit" in str(plan)
    store.close()


def test_a_text_that_is_no_text_can_be_shown() -> None:
    assert [text_of(each) for each in ("a", b"a", b"\xff", 7)] == ["a", "a", "\ufffd", "7"]
