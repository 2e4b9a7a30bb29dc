"""The store in a file: modes, turns between processes, and a disk that does not do its part. The store in memory."""

from __future__ import annotations

import gc
import sqlite3
import stat
from pathlib import Path

import pytest

import dtrbandit as dtr
from dtrbandit.record.chain import Record, linked
from dtrbandit.record.events import Completed
from dtrbandit.storage import IdempotencyKey, MemoryStore, SQLiteStore, Storage
from dtrbandit.storage import sqlite as module
from dtrbandit.storage.schema import is_safe_for_wal
from trial.children import run
from trial.small_trial import address, begun

SAFE = is_safe_for_wal(sqlite3.sqlite_version_info)


def records(count: int, *, first: int = 1, size: int = 1):  # type: ignore[no-untyped-def]  # what append takes
    return list(linked(Record(n, "a" * size, None, Completed("u", 1.0)) for n in range(first, first + count)))


def test_the_mode_is_the_one_that_this_sqlite_is_safe_in(tmp_path: Path) -> None:
    store = SQLiteStore(tmp_path / "trial.db")

    assert store.journal_mode == ("wal" if SAFE else "delete")
    assert store.ask("PRAGMA synchronous") == [(2 if SAFE else 3,)]  # FULL, or EXTRA; never NORMAL
    store.close()


@pytest.mark.parametrize(("safe", "mode"), [(True, "wal"), (False, "delete")])
def test_a_file_changes_to_the_safe_mode_when_it_is_opened(
    safe: bool, mode: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "is_safe_for_wal", lambda _: not safe)
    SQLiteStore(tmp_path / "trial.db").close()
    monkeypatch.setattr(module, "is_safe_for_wal", lambda _: safe)

    store = SQLiteStore(tmp_path / "trial.db")

    assert store.journal_mode == mode
    store.close()


def test_a_file_that_others_have_open_in_an_unsafe_mode_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "is_safe_for_wal", lambda _: True)
    other = SQLiteStore(tmp_path / "trial.db")
    other.add_trial("trial")
    monkeypatch.setattr(module, "is_safe_for_wal", lambda _: False)

    with pytest.raises(dtr.Unavailable, match=r"locked|can lose data"):
        SQLiteStore(tmp_path / "trial.db", patience=0.05)
    other.close()


def test_only_its_owner_may_read_a_new_file(tmp_path: Path) -> None:
    store = SQLiteStore(tmp_path / "trial.db")
    store.backup(tmp_path / "backup.db")

    for name in ("trial.db", "backup.db"):
        assert stat.S_IMODE((tmp_path / name).stat().st_mode) == 0o600
    store.close()


def test_a_turn_waits_for_another_process_and_then_says_so(tmp_path: Path) -> None:
    store = SQLiteStore(tmp_path / "trial.db", patience=0.05)
    other = sqlite3.connect(tmp_path / "trial.db", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")

    with pytest.raises(dtr.Unavailable, match=r"locked. Nothing was recorded"):
        store.add_trial("trial")
    other.execute("ROLLBACK")

    assert store.add_trial("trial").name == "trial"
    other.close()
    store.close()


def test_a_full_disk_takes_nothing_and_recovers(tmp_path: Path) -> None:
    store = SQLiteStore(tmp_path / "trial.db")
    log = store.log(store.add_trial("trial").rehearsal)
    log.append(records(3), 0)
    head = log.head()
    (pages,) = store.ask("PRAGMA page_count")[0]
    store.ask(f"PRAGMA max_page_count = {pages}")

    with pytest.raises(dtr.Unavailable, match="full"):
        log.append(list(linked((Record(4, "a" * 60_000, None, Completed("u", 1.0)),), head)), 3)

    assert log.head() == head
    store.ask("PRAGMA max_page_count = 100000")
    log.append(list(linked((Record(4, "a" * 60_000, None, Completed("u", 1.0)),), head)), 3)
    assert (log.head().sequence, store.check()) == (4, None)
    store.close()


def test_a_file_that_was_moved_or_replaced_takes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "trial.db"
    store = SQLiteStore(path)
    log = store.log(store.add_trial("trial").rehearsal)
    path.rename(tmp_path / "moved.db")

    with pytest.raises(dtr.Unavailable, match="was moved, removed or replaced"):
        log.append(records(1), 0)
    SQLiteStore(path).close()
    with pytest.raises(dtr.Unavailable, match="was moved, removed or replaced"):
        log.append(records(1), 0)
    path.unlink()
    (tmp_path / "moved.db").rename(path)
    log.append(records(1), 0)

    assert log.head().sequence == 1
    store.close()


def test_an_interrupted_turn_is_taken_back(tmp_path: Path) -> None:
    store = SQLiteStore(tmp_path / "trial.db")
    log = store.log(store.add_trial("trial").rehearsal)

    with pytest.raises(KeyboardInterrupt):
        _interrupted(store, log)

    assert log.head().sequence == 0
    log.append(records(1), 0)
    store.close()


def _interrupted(store: SQLiteStore, log: Storage) -> None:
    with store.turn():
        log.append(records(1), 0)
        raise KeyboardInterrupt


def test_a_file_that_is_no_database_is_said_to_be_damaged(tmp_path: Path) -> None:
    (tmp_path / "trial.db").write_bytes(b"this is no database, though it is long enough to be one" * 100)

    with pytest.raises(dtr.LogError, match="is damaged: file is not a database"):
        SQLiteStore(tmp_path / "trial.db")


def test_damage_of_the_file_itself_is_found(tmp_path: Path) -> None:
    store = SQLiteStore(tmp_path / "trial.db")
    log = store.log(store.add_trial("trial").rehearsal)
    log.append(records(500), 0)
    assert store.check() is None
    store.close()
    whole = bytearray((tmp_path / "trial.db").read_bytes())
    whole[4096 * 8 : 4096 * 8 + 64] = b"\xff" * 64  # the head of a page
    (tmp_path / "trial.db").write_bytes(whole)

    store = SQLiteStore(tmp_path / "trial.db")

    assert store.check() is not None
    with pytest.raises(dtr.LogError):
        list(store.log(1).read())
    store.close()


def test_a_backup_that_fails_leaves_nothing(tmp_path: Path) -> None:
    store = SQLiteStore(tmp_path / "trial.db")
    store.close()

    with pytest.raises(dtr.Unavailable, match="nothing was left there"):
        store.backup(tmp_path / "backup.db")

    assert [file.name for file in tmp_path.iterdir()] == ["trial.db"]


LIMITED = """
import resource, sys
import dtrbandit as dtr
from dtrbandit.trial import Trial
from trial.small_trial import begun, fill, address
from pathlib import Path

folder = Path(sys.argv[1])
trial = begun(address(folder))
fill(trial, 3)
size = (folder / "trial.db").stat().st_size
soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))  # writes beyond this fail
taken = 0
try:
    for t in range(10_000):
        trial.enroll(f"v{t}", {"x": 1.0})
        taken += 1
except dtr.Unavailable:
    pass
else:
    sys.exit("the disk never failed")
head = trial.head
resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))
assert trial.summary().units == 3 + taken, (trial.summary().units, taken)
trial.enroll("after", {"x": 1.0})
assert trial.head.sequence == head.sequence + 2
assert trial.verify(head), trial.verify(head)
print("recovered after", taken)
"""


def test_a_disk_that_fails_to_write_is_unavailable_and_recovers_by_itself(tmp_path: Path) -> None:
    assert run("-c", LIMITED, str(tmp_path)).startswith("recovered after")


def test_a_record_that_is_not_there_is_named(tmp_path: Path) -> None:
    store = SQLiteStore(tmp_path / "trial.db")
    store.log(1).append(records(3), 0)

    with pytest.raises(dtr.LogError, match="record 4 of log 1 is missing; restore a backup"):
        store.log(1).pick([2, 4])

    store.close()


def test_a_store_that_was_closed_says_so(tmp_path: Path) -> None:
    trial = begun(address(tmp_path))
    trial.enroll("u1", {"x": 0.5})
    trial.close()

    for act in (lambda: trial.enroll("u2", {"x": 0.5}), trial.summary, trial.units):
        with pytest.raises(dtr.Unavailable, match="was closed here; open the trial again"):
            act()


def test_snapshots_lie_beside_the_file_whatever_name_leads_to_it(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link.db").symlink_to(tmp_path / "real/trial.db")
    for path in (tmp_path / "real/trial.db", tmp_path / "real/../link.db"):
        store = SQLiteStore(path)
        assert store.snapshots == tmp_path.resolve() / "real/trial.db.snapshots"
        assert not store.snapshots.exists()
        store.close()


# -- in memory -------------------------------------------------------------------------------------------------


def test_a_store_in_memory_has_a_database_of_its_own() -> None:
    one, two = MemoryStore(), MemoryStore()

    one.add_trial("trial")

    assert (len(one.trials()), two.trials(), one.check()) == (1, [], None)


def test_closing_a_store_in_memory_keeps_everything() -> None:
    store = MemoryStore()
    store.add_trial("trial")

    store.close()

    assert [entry.name for entry in store.trials()] == ["trial"]


def test_a_store_in_memory_ends_with_the_last_that_refers_to_it() -> None:
    store = MemoryStore()
    connection = store._connection

    del store
    gc.collect()

    with pytest.raises(sqlite3.ProgrammingError, match="closed"):
        connection.execute("SELECT 1")


def test_a_key_is_not_there_twice_in_one_append() -> None:
    store = MemoryStore()
    log = store.log(store.add_trial("trial").rehearsal)
    key = IdempotencyKey("", "k", "f", 1, 1)

    with pytest.raises(dtr.Conflict, match="memory://: somebody else wrote"):
        log.append([], 0, [key, key])

    assert log.all_keys() == []
