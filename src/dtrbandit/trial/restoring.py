"""Backups put back in place."""

from __future__ import annotations

import logging
import shutil
from contextlib import closing
from pathlib import Path

from dtrbandit.errors import DesignError, LogError
from dtrbandit.record.chain import checked
from dtrbandit.record.durable import beside, require_absent, settle
from dtrbandit.storage import SQLiteStore, connect, connect_existing, is_postgres, path_of
from dtrbandit.storage.copying import copy_store
from dtrbandit.storage.key_events import changed_keys, key_record_fault

log = logging.getLogger("dtrbandit.trial")


def restore_file(backup: str | Path, storage: str) -> list[str]:
    """Put a copy of a backup at an address where there is nothing yet; return the names of its trials.

    The copy is looked at first: a damaged one is refused, and nothing is left. A row of the table of keys that
    something else has changed is no damage to a trial: it is restored as it is, with a warning.
    """
    if is_postgres(storage):
        return _restore_tables(backup, storage)
    place = path_of(storage)
    if place is None:
        raise DesignError(f"a backup is restored to a file, found the address {storage!r}")
    require_absent(place, "a restore")
    connect_existing(f"sqlite:///{backup}").close()  # refuses what is no backup
    place = place.resolve()
    with beside(place) as draft:
        shutil.copyfile(backup, draft)
        draft.chmod(0o600)
        names = _look_at(draft)
        settle(draft, place)
    return names


def _restore_tables(backup: str | Path, storage: str) -> list[str]:
    """Copy a backup to an empty database of a server."""
    connect_existing(f"sqlite:///{backup}").close()  # refuses what is no backup
    with beside(Path(backup).resolve()) as draft:
        shutil.copyfile(backup, draft)
        draft.chmod(0o600)
        names = _look_at(draft)
        with closing(SQLiteStore(draft)) as source, closing(connect(storage)) as target:
            copy_store(source, target)
    return names


def _look_at(draft: Path) -> list[str]:
    """Return the names of the trials in a copy, after a look at the file and at the chain of each log."""
    store = SQLiteStore(draft)
    try:
        if fault := store.check() or key_record_fault(store):
            raise LogError(f"the backup is damaged: {fault}; use another")
        for told in changed_keys(store):
            log.warning("%s. It is restored as it is in the table; revoke it, or see dtrbandit trial keys accept", told)
        for entry in store.trials():
            for number in (entry.rehearsal, entry.live):
                if number is not None:
                    sum(1 for _ in checked(store.log(number).read()))
        return [entry.name for entry in store.trials()]
    finally:
        store.close()
