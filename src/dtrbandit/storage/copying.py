"""Copies of a store: everything in it, from one kind of store to another."""

from __future__ import annotations

from itertools import islice

from dtrbandit.errors import ProtocolError
from dtrbandit.storage.store import KEY_LOG, Storage, Store

AT_ONCE = 10_000


def copy_store(source: Store, target: Store) -> None:
    """Copy all trials and their logs, the keys and what happened to them: to an empty store, all or nothing."""
    if target.trials() or target.api_keys() or target.log(KEY_LOG).head().sequence:
        raise ProtocolError("a copy needs an empty store, and this one has trials or keys; give another")
    with source.turn(), target.turn():
        for entry in source.trials():
            copy = target.add_trial(entry.name)
            _copy_log(source.log(entry.rehearsal), target.log(copy.rehearsal))
            if entry.live is not None:
                copy = target.add_live(entry.name)
                assert copy.live is not None
                _copy_log(source.log(entry.live), target.log(copy.live))
        _copy_log(source.log(KEY_LOG), target.log(KEY_LOG))
        for key in source.api_keys():
            target.put_api_key(key)


def _copy_log(source: Storage, target: Storage) -> None:
    records, count = source.read(), 0
    while some := list(islice(records, AT_ONCE)):
        target.append(some, count)
        count += len(some)
    target.append((), count, source.all_keys())
