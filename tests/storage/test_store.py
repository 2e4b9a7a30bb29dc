"""The protocols of stores: ours keep them by type, and by the contract in ``dtrbandit.testing``."""

from __future__ import annotations

from pathlib import Path

from dtrbandit.storage import MemoryStore, SQLiteStore, Storage, Store


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
