"""Stores: protocols, which ours keep by type and by the contract in ``dtrbandit.testing``; copies; addresses."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

import dtrbandit as dtr
from dtrbandit.storage import (
    KEY_LOG,
    ApiKey,
    MemoryStore,
    SQLiteStore,
    Storage,
    Store,
    connect,
    is_postgres,
    path_of,
    without_secret,
)
from dtrbandit.storage.key_events import CREATED, Change, Request, change_keys, key_fault
from dtrbandit.storage.store import copy_store
from dtrbandit.trial import Trial
from trial.small_trial import DESIGN, POLICY, fill


def test_our_stores_have_every_method_and_property_of_the_protocols(tmp_path: Path) -> None:
    stores: list[Store] = [MemoryStore(), SQLiteStore(tmp_path / "trial.db")]
    for store in stores:
        log: Storage = store.log(store.add_trial("trial").rehearsal)
        for protocol, found in ((Store, store), (Storage, log)):
            members = {name: member for name, member in vars(protocol).items() if not name.startswith("_")}
            methods = [name for name, member in members.items() if not isinstance(member, property)]
            assert [name for name in members if not hasattr(found, name)] == []
            assert [name for name in methods if not callable(getattr(found, name))] == []
        store.close()


# -- copies ------------------------------------------------------------------------------------------------------------

NOW = datetime(2026, 11, 17, 9, tzinfo=UTC)


def filled(store: Store) -> Store:
    for name in ("one", "two"):
        trial = Trial.create(name, DESIGN, POLICY, storage=store)
        fill(trial, 6)
    trial.lock(actor=None, reason="approved")
    return store


@pytest.mark.parametrize("back", [False, True])
def test_a_copy_has_the_same_heads_and_the_same_next_decisions(back: bool, tmp_path: Path) -> None:
    memory, file = MemoryStore(), SQLiteStore(tmp_path / "trial.db")
    source, target = (file, memory) if back else (memory, file)
    filled(source)

    copy_store(source, target)

    for name in ("one", "two"):
        one, other = (Trial.open(name, storage=store) for store in (source, target))
        assert (one.head, one.phase) == (other.head, other.phase)
        assert one.enroll("next", {"x": 0.5}) == other.enroll("next", {"x": 0.5})
    file.close()


@pytest.mark.parametrize("back", [False, True])
def test_a_copy_to_and_from_postgresql_has_the_same_heads_and_next_decisions(
    back: bool, tmp_path: Path, postgres: str
) -> None:
    file, server = SQLiteStore(tmp_path / "trial.db"), connect(postgres)
    source, target = (server, file) if back else (file, server)
    filled(source)
    key = ApiKey("id", "a" * 64, "site", "ward ü", "2026-11-17T09:00:00.000000Z", None, None, salt="s")
    request = Request("admin", "k1", "f" * 64)
    change_keys(source, [Change(CREATED, key)], actor="admin", time=NOW, request=request)

    copy_store(source, target)

    assert target.api_keys() == source.api_keys() == [key]
    one_log, other_log = source.log(KEY_LOG), target.log(KEY_LOG)
    assert (list(one_log.read()), one_log.all_keys()) == (list(other_log.read()), other_log.all_keys())
    assert key_fault(target) is None
    for name in ("one", "two"):
        one, other = (Trial.open(name, storage=store) for store in (source, target))
        assert (one.head, one.phase) == (other.head, other.phase)
        assert one.verify()
        assert other.verify()
        assert one.enroll("next", {"x": 0.5}) == other.enroll("next", {"x": 0.5})
    with pytest.raises(dtr.ProtocolError, match="a copy needs an empty store"):
        copy_store(source, target)
    file.close()
    server.close()


def test_a_copy_needs_an_empty_store() -> None:
    with pytest.raises(dtr.ProtocolError, match="a copy needs an empty store"):
        copy_store(MemoryStore(), filled(MemoryStore()))


def test_a_store_that_has_a_record_of_keys_is_not_empty() -> None:
    source, target = MemoryStore(), MemoryStore()
    key = ApiKey("id", "a" * 64, "site", "ward", "2026-11-17T09:00:00.000000Z", None, None)
    change_keys(target, [Change(CREATED, key)], actor="admin", time=NOW)
    target.ask("DELETE FROM keys")

    with pytest.raises(dtr.ProtocolError, match="a copy needs an empty store"):
        copy_store(source, target)


# -- addresses ---------------------------------------------------------------------------------------------------------


def test_an_address_says_of_which_kind_it_is() -> None:
    assert path_of("sqlite:////data/trial.db") == Path("/data/trial.db")
    assert path_of("memory://") is path_of("postgresql://nurse@db/trials") is None
    assert is_postgres("postgresql://nurse@db/trials")
    assert not is_postgres("sqlite:///postgresql://")


@pytest.mark.parametrize(
    ("address", "as_shown"),
    [
        ("postgresql://nurse@db/trials", "postgresql://nurse@db/trials"),
        ("postgresql://db:5432/trials", "postgresql://db:5432/trials"),
        ("postgresql://nurse:SECRET@db:5432/trials", "postgresql://nurse:***@db:5432/trials"),
        ("postgresql://nurse:SE@RET:SECRET@db/trials", "postgresql://nurse:***@db/trials"),
        ("postgresql://:SECRET@db/trials", "postgresql://:***@db/trials"),
        ("postgresql:///trials?host=/run&password=SECRET", "postgresql:///trials?host=/run&password=***"),
        ("postgresql://db/trials?sslpassword=SECRET&sslmode=require", "postgresql://db/trials?sslpassword=***&sslmode=require"),
    ],
)  # fmt: skip
def test_a_password_is_never_shown(address: str, as_shown: str) -> None:
    assert without_secret(address) == as_shown


def test_an_address_of_no_kind_is_refused_without_its_password() -> None:
    with pytest.raises(dtr.DesignError) as refused:
        path_of("postgres://nurse:SECRET@db/trials")

    assert "SECRET" not in str(refused.value)
    assert "postgresql://user@host/database" in str(refused.value)
