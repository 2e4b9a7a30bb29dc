"""How trials begin, and begin again from backups: the same head, the same next decision, nothing half done (F15)."""

from __future__ import annotations

import sqlite3
import threading
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import pytest

import dtrbandit as dtr
from dtrbandit.belief import believed
from dtrbandit.record import Opened
from dtrbandit.record.chain import Head, Record, unlinked
from dtrbandit.record.events import Taught
from dtrbandit.storage import ApiKey, SQLiteStore
from dtrbandit.storage.key_events import CREATED, Change, change_keys, key_records
from dtrbandit.trial import Ask, Taken, Trial
from dtrbandit.trial.opening import begin_live, begin_rehearsal, drawn, require_lockable
from trial.small_trial import DESIGN, POLICY, address, begun, fill

NOW = datetime(2026, 11, 17, 9, tzinfo=UTC)


def test_a_rehearsal_begins_with_what_the_session_was_opened_with() -> None:
    (record,) = unlinked(begin_rehearsal("pilot", DESIGN, POLICY, seed=3, actor="lead", time=NOW))

    opened = dtr.Session(DESIGN, POLICY, seed=3).log[0]
    assert (record.actor, record.time, record.event) == ("lead", NOW, opened)


def test_a_live_log_names_the_head_of_the_rehearsal_and_has_its_own_seed() -> None:
    rehearsal = list(unlinked(begin_rehearsal("pilot", DESIGN, POLICY, seed=3, actor=None, time=NOW)))
    known = believed([record.event for record in rehearsal], None, None)

    (record,) = unlinked(begin_live(known, rehearsal, Head(9, "f" * 64), seed=4, actor="lead", time=NOW))

    opened = record.event
    assert isinstance(opened, Opened)
    assert (opened.rehearsal, opened.seed, opened.numerics) == ("f" * 64, 4, dtr.NUMERICS)
    assert dtr.Session.resume([opened]).log[0] == opened


def test_an_actor_or_a_seed_that_cannot_be_recorded_is_refused() -> None:
    with pytest.raises(dtr.ObservationError, match="an actor"):
        begin_rehearsal("pilot", DESIGN, POLICY, seed=3, actor="", time=NOW)
    with pytest.raises(dtr.DesignError, match="seed must be"):
        begin_rehearsal("pilot", DESIGN, POLICY, seed=-1, actor=None, time=NOW)


def test_only_a_rehearsal_without_a_public_schedule_is_locked() -> None:
    public = dtr.DTRBandit(q=1, delta=1.0)

    with pytest.raises(dtr.ProtocolError, match="who knows it can guess"):
        require_lockable(public, "pilot", "rehearsal", paper_schedule=False)
    with pytest.raises(dtr.ProtocolError, match="it is live"):
        require_lockable(public, "pilot", "live", paper_schedule=True)
    require_lockable(public, "pilot", "rehearsal", paper_schedule=True)
    require_lockable(dtr.UniformRandom(), "pilot", "rehearsal", paper_schedule=False)


def test_seeds_differ() -> None:
    assert len({drawn() for _ in range(100)}) == 100


class Earlier:
    """An earlier trial of two units, one of which left early."""

    def teaching(self, design: dtr.Design) -> list[Taught]:  # noqa: ARG002  # what a prior is asked
        stayed = Taught("u1", ({"x": 0.5}, {"r": 1.0, "z": 0.2}), ("a", "b"), 2.0)
        return [stayed, Taught("u2", ({"x": 0.1}, {"r": -1.0}), ("b",), 1.0)]


def test_an_earlier_trial_teaches_the_rehearsal_and_then_the_live_trial() -> None:
    stored = begin_rehearsal("pilot", DESIGN, POLICY, seed=3, prior=Earlier(), actor="lead", time=NOW)
    first = list(unlinked(stored))
    session = dtr.Session.resume([record.event for record in first])
    session.enroll("u1", {"x": 0.3})
    records = [Record(sequence, None, NOW, event) for sequence, event in enumerate(session.log, 1)]

    known = believed(session.log, None, None)
    live = list(unlinked(begin_live(known, records, Head(9, "f" * 64), seed=4, actor="x", time=NOW)))

    assert [type(record.event) for record in first] == [Opened, Taught, Taught]
    assert [(record.actor, record.sequence) for record in live] == [("x", 1), ("x", 2), ("x", 3)]
    assert [record.event for record in live[1:]] == [record.event for record in first[1:]]
    assert dtr.Session.resume([record.event for record in live]).summary().taught == 2


# -- backups ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["memory", "sqlite"])
def test_a_restored_trial_has_the_same_head_and_makes_the_same_next_decision(kind: str, tmp_path: Path) -> None:
    trial = begun("memory://" if kind == "memory" else address(tmp_path))
    fill(trial, 9)
    trial.lock(actor="lead", reason="approved")
    fill(trial, 12)
    ask = Ask(dtr.Enroll("keyed", {"x": 1.0}), key="k1", api_key="site")
    (first,) = trial.take([ask])

    head = trial.backup(tmp_path / "backup.db")
    names = Trial.restore(tmp_path / "backup.db", f"sqlite:///{tmp_path}/restored.db")

    with trial, Trial.open("pilot", storage=f"sqlite:///{tmp_path}/restored.db") as again:
        assert names == ["pilot"]
        assert again.head == head == trial.head
        assert isinstance(first, Taken)
        assert again.take([ask]) == [first._replace(repeated=True)]
        assert again.verify(head)
        assert again.enroll("next", {"x": 0.25}) == trial.enroll("next", {"x": 0.25})


def test_a_backup_under_load_is_a_whole_beginning(tmp_path: Path) -> None:
    trial = begun(address(tmp_path))
    stop, failed = threading.Event(), list[BaseException]()

    def load() -> None:
        t = 0
        try:
            while not stop.is_set():
                trial.take([Ask(dtr.Enroll(f"u{t}-{k}", {"x": k / 7})) for k in range(20)])
                t += 1
        except BaseException as error:  # noqa: BLE001  # it is looked at below
            failed.append(error)

    writer = threading.Thread(target=load)
    writer.start()
    heads = []
    for n in range(5):
        heads.append(trial.backup(tmp_path / f"backup{n}.db"))
    stop.set()
    writer.join()

    assert not failed
    hashes = {0: ""}
    for record, stored in zip(trial.records(), trial._store.log(1).read(), strict=True):
        hashes[record.sequence] = stored.hash
    for n, head in enumerate(heads):
        assert hashes[head.sequence] == head.hash
        store = SQLiteStore(tmp_path / f"backup{n}.db")
        assert store.check() is None
        store.close()
    trial.close()


def test_a_restore_replaces_nothing_and_refuses_what_is_damaged(tmp_path: Path) -> None:
    with begun(address(tmp_path)) as trial:
        fill(trial, 9)
        trial.backup(tmp_path / "backup.db")
    with pytest.raises(dtr.ProtocolError, match="there already"):
        Trial.restore(tmp_path / "backup.db", address(tmp_path))
    with pytest.raises(dtr.NotFound, match="no file"):
        Trial.restore(tmp_path / "nothing.db", f"sqlite:///{tmp_path}/restored.db")
    with pytest.raises(dtr.DesignError, match="restored to a file"):
        Trial.restore(tmp_path / "backup.db", "memory://")
    backup = tmp_path / "backup.db"
    whole = backup.read_bytes()
    for before, after, told in (
        (b'"sequence":5,', b'"sequence":6,', "hash of record 5"),
        (b'"u3"', b'"u4"', "missing from index records_by_unit"),
    ):
        backup.write_bytes(whole.replace(before, after, 1))
        with pytest.raises(dtr.LogError, match=told):
            Trial.restore(backup, f"sqlite:///{tmp_path}/restored.db")
    backup.write_bytes(b"no database" * 1000)
    with pytest.raises(dtr.DTRError):
        Trial.restore(backup, f"sqlite:///{tmp_path}/restored.db")

    assert sorted(file.name for file in tmp_path.iterdir()) == ["backup.db", "trial.db"]


def test_keys_of_users_and_what_happened_to_them_are_in_the_backup(tmp_path: Path) -> None:
    trial = begun(address(tmp_path))
    key = ApiKey("id1", "a" * 64, "site", "ward", "2026-11-17T09:00:00.000000Z", None, None)
    change_keys(trial._store, [Change(CREATED, key)], actor="admin", time=NOW)

    assert trial.backup(tmp_path / "backup.db") == Head(*trial.head)
    Trial.restore(tmp_path / "backup.db", f"sqlite:///{tmp_path}/restored.db")

    copy = SQLiteStore(tmp_path / "restored.db")
    assert copy.api_keys() == [key]
    assert [(record.actor, record.event.id) for record in key_records(copy)] == [("admin", "id1")]
    copy.close()
    trial.close()


def test_a_backup_whose_table_of_keys_was_changed_is_restored_with_a_warning(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    key = ApiKey("id1", "a" * 64, "site", "ward", "2026-11-17T09:00:00.000000Z", None, None)
    with begun(address(tmp_path)) as trial:
        change_keys(trial._store, [Change(CREATED, key)], actor="admin", time=NOW)
        trial._store.put_api_key(key._replace(label="other"))
        trial._store.put_api_key(key._replace(id="id2"))
        trial.backup(tmp_path / "backup.db")

    assert Trial.restore(tmp_path / "backup.db", f"sqlite:///{tmp_path}/restored.db") == [trial.name]

    told = [record.getMessage() for record in caplog.records if record.levelname == "WARNING"]
    assert [each.partition(". ")[0] for each in told] == [
        "the key id1 in the table of keys is not as record 1 of the record of keys says",
        "the key id2 is in the table of keys, and no record says that it was created",
    ]
    assert all("dtrbandit trial keys accept" in each for each in told)
    with closing(SQLiteStore(tmp_path / "restored.db")) as copy:
        assert [row.label for row in copy.api_keys()] == ["other", "ward"]


def test_a_backup_whose_record_of_keys_is_damaged_is_refused(tmp_path: Path) -> None:
    key = ApiKey("id1", "a" * 64, "site", "ward", "2026-11-17T09:00:00.000000Z", None, None)
    with begun(address(tmp_path)) as trial:
        change_keys(trial._store, [Change(CREATED, key)], actor="admin", time=NOW)
        trial.backup(tmp_path / "backup.db")
    with closing(sqlite3.connect(tmp_path / "backup.db")) as file, file:
        file.execute("UPDATE records SET text = replace(text, 'ward', 'yard') WHERE log = 0")

    with pytest.raises(dtr.LogError, match="the backup is damaged: of the record of keys, the hash of record 1"):
        Trial.restore(tmp_path / "backup.db", f"sqlite:///{tmp_path}/restored.db")
    assert not (tmp_path / "restored.db").exists()
