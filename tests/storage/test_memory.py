"""The store in memory; its contract is in ``tests/contracts/test_storages.py``."""

from __future__ import annotations

import pytest

from dtrbandit.errors import Conflict
from dtrbandit.storage import IdempotencyKey, MemoryStore


def test_a_key_is_not_there_twice_in_one_append() -> None:
    store = MemoryStore()
    log = store.log(store.add_trial("trial").rehearsal)
    key = IdempotencyKey("", "k", "f", 1, 1)

    with pytest.raises(Conflict):
        log.append([], 0, [key, key])

    assert log.all_keys() == []


def test_closing_keeps_everything() -> None:
    store = MemoryStore()
    store.add_trial("trial")

    store.close()

    assert (store.check(), [entry.name for entry in store.trials()]) == (None, ["trial"])
