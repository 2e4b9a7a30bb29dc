"""The protocols of stores: ours keep them by type, and by the contract in ``dtrbandit.testing``."""

from __future__ import annotations

from pathlib import Path

from dtrbandit.storage import MemoryStore, SQLiteStore, Storage, Store


def test_our_stores_have_every_method_of_the_protocols(tmp_path: Path) -> None:
    stores: list[Store] = [MemoryStore(), SQLiteStore(tmp_path / "trial.db")]
    for store in stores:
        log: Storage = store.log(store.add_trial("trial").rehearsal)
        for protocol, found in ((Store, store), (Storage, log)):
            names = [name for name in vars(protocol) if not name.startswith("_")]
            assert [name for name in names if not callable(getattr(found, name, None))] == []
        store.close()
