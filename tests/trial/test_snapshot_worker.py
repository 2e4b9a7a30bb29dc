"""Snapshots are taken in the background, and the chain that one stood for is checked there."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

import dtrbandit as dtr
from dtrbandit.record.chain import Head, StoredBatch
from dtrbandit.trial import Ask, Trial, snapshot_worker
from dtrbandit.trial.snapshot_worker import SnapshotWorker
from dtrbandit.trial.snapshots import Copied, Snapshots
from trial.small_trial import address, begun, fill
from trial.snapshot_files import files_of, opened_from, take_snapshot


def wait(trial: Trial) -> None:
    """Wait until nothing is done in the background."""
    for thread in trial._worker._threads:
        thread.join(timeout=60.0)
        assert not thread.is_alive()


def filled(folder: Path, units: int = 20) -> int:
    """Write a trial and a snapshot of it to files; return the number of its records."""
    with begun(address(folder)) as trial:
        fill(trial, units)
        take_snapshot(trial)
        return trial.head.sequence


def change(folder: Path, sequence: int, old: str = '"u', new: str = '"v') -> None:
    """Change the text of a stored record; its hash stays as it was."""
    with closing(sqlite3.connect(folder / "trial.db")) as database, database:
        database.execute("UPDATE records SET text = replace(text, ?, ?) WHERE sequence = ?", (old, new, sequence))


# -- when they are taken ---------------------------------------------------------------------------------------------


def test_one_is_taken_each_time_that_so_many_events_are_new(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(snapshot_worker, "EVERY", 25)
    written: list[int] = []
    write = Snapshots.write

    def noted(files: Snapshots, found: Copied) -> None:
        written.append(found.head.sequence)
        write(files, found)

    monkeypatch.setattr(Snapshots, "write", noted)
    trial = begun(address(tmp_path))

    for n in range(40):
        fill(trial, 1, first=n)
        wait(trial)

    gaps = [late - early for early, late in zip([0, *written], written, strict=False)]
    assert len(written) >= trial.head.sequence // 27
    assert all(25 <= gap <= 27 for gap in gaps)  # the first answer after which so many are new
    assert files_of(trial).sequences() == written[:-3:-1]
    trial.close()


def test_one_that_follows_others_takes_them_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    one = begun(address(tmp_path))
    with one, Trial.open("pilot", storage=address(tmp_path)) as other:
        fill(one, 20)
        monkeypatch.setattr(snapshot_worker, "EVERY", 25)
        other.catch_up()
        wait(other)

        assert files_of(one).sequences() == [one.head.sequence]


@pytest.mark.parametrize(("least", "expected"), [(1, True), (10**6, False)])
def test_a_last_one_is_taken_on_closing_where_it_is_worth_while(
    least: int, expected: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(snapshot_worker, "AT_THE_END", least)
    trial = begun(address(tmp_path))
    fill(trial, 6)
    head = trial.head

    trial.close()

    assert files_of(trial).sequences() == ([head.sequence] if expected else [])
    assert not any(thread.is_alive() for thread in trial._worker._threads)


def test_what_was_opened_by_a_snapshot_and_has_not_grown_gets_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sequence = filled(tmp_path)
    monkeypatch.setattr(snapshot_worker, "AT_THE_END", 1)

    with Trial.open("pilot", storage=address(tmp_path)) as trial:
        files = files_of(trial)
        before = files.path(sequence).stat().st_mtime_ns

    assert files.sequences() == [sequence]
    assert files.path(sequence).stat().st_mtime_ns == before


def test_what_is_not_stored_is_in_no_snapshot(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    trial = begun(address(tmp_path))
    fill(trial, 6)
    stored = trial.head

    def full(*_: object) -> None:
        raise dtr.Unavailable("the disk is full")

    monkeypatch.setattr(snapshot_worker, "AT_THE_END", 1)
    with monkeypatch.context() as fault:
        fault.setattr(type(trial._log.storage), "append", full)
        with pytest.raises(dtr.Unavailable):
            trial.enroll("lost", {"x": 0.5})
        trial.close()  # what is believed is ahead of what is stored

    assert files_of(trial).sequences() == []
    with Trial.open("pilot", storage=address(tmp_path)) as again:
        assert again.head == stored


def test_verbs_go_on_while_a_snapshot_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(snapshot_worker, "EVERY", 20)
    go, write = threading.Event(), Snapshots.write

    def slow(files: Snapshots, found: Copied) -> None:
        assert go.wait(60.0)
        write(files, found)

    monkeypatch.setattr(Snapshots, "write", slow)
    trial = begun(address(tmp_path))
    fill(trial, 4)  # a snapshot of 17 records or more waits to be written
    decided = [trial.enroll(f"next{n}", {"x": 0.5}).round for n in range(3)]
    go.set()
    trial.close()

    assert decided == [5, 6, 7]
    with Trial.open("pilot", storage=address(tmp_path)) as again:
        assert again.verify()
        assert [again.unit(f"next{n}").round for n in range(3)] == decided


def test_a_snapshot_is_of_one_moment_though_the_trial_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is copied while verbs wait; what happens until it is encoded is not in it. ``verify`` compares it."""
    monkeypatch.setattr(snapshot_worker, "EVERY", 30)
    go, write = threading.Event(), Snapshots.write

    def slow(files: Snapshots, found: Copied) -> None:
        assert go.wait(60.0)
        write(files, found)

    monkeypatch.setattr(Snapshots, "write", slow)
    trial = begun(address(tmp_path))
    fill(trial, 8)
    for unit in ("u0", "u5"):
        trial.correct(unit, stage="first", context={"x": 3.0}, reason="typo")
        trial.unblind(unit, reason="an event")
        trial.complete(unit, 1.0)
    trial.void("u1", reason="twice")
    go.set()
    wait(trial)

    assert files_of(trial).sequences()[0] < trial.head.sequence
    assert trial.verify(), trial.verify()
    trial.close()


def test_a_database_that_is_away_when_a_snapshot_is_due_harms_no_verb(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was stored is answered, and closing lets go; the next look takes it."""
    trial = begun(address(tmp_path))
    fill(trial, 6)
    monkeypatch.setattr(snapshot_worker, "EVERY", 10)
    monkeypatch.setattr(snapshot_worker, "AT_THE_END", 1)

    def away(*_: object) -> None:
        raise dtr.Unavailable("the database is away")

    with monkeypatch.context() as fault:
        fault.setattr(type(trial._log.storage), "pick", away)
        assert trial.enroll("next", {"x": 0.5}).round == 7
        trial._worker.close(trial._log)
        assert files_of(trial).sequences() == []
    trial.catch_up()
    wait(trial)

    assert files_of(trial).sequences() == [trial.head.sequence]
    trial.close()


# -- the chain before it ---------------------------------------------------------------------------------------------


def test_a_chain_that_is_whole_is_checked_and_nothing_is_said(tmp_path: Path) -> None:
    filled(tmp_path)

    with Trial.open("pilot", storage=address(tmp_path)) as trial:
        wait(trial)

        assert trial.damage is None
        assert trial._worker._checked == trial._log.unchecked
        assert trial.enroll("next", {"x": 0.5}).round == 21


def test_damage_before_the_snapshot_is_found_and_verbs_are_refused(tmp_path: Path) -> None:
    sequence = filled(tmp_path)
    change(tmp_path, 7)

    with Trial.open("pilot", storage=address(tmp_path)) as trial:
        assert opened_from(trial) == sequence
        wait(trial)

        assert trial.damage is not None
        assert "record 7" in trial.damage
        with pytest.raises(dtr.LogError, match="record 7"):
            trial.enroll("next", {"x": 0.5})
        (answer,) = trial.take([Ask(dtr.Hold("a signal"))])
        assert isinstance(answer, dtr.LogError)
        assert trial.head.sequence == sequence  # nothing was recorded
        assert trial.verify().first_bad == 7


def test_without_a_snapshot_the_same_damage_is_found_on_opening(tmp_path: Path) -> None:
    filled(tmp_path)
    change(tmp_path, 7)
    for path in (tmp_path / "trial.db.snapshots").iterdir():
        path.unlink()

    with pytest.raises(dtr.LogError, match="record 7"):
        Trial.open("pilot", storage=address(tmp_path))


def test_a_damaged_first_record_is_found_at_once(tmp_path: Path) -> None:
    filled(tmp_path)
    change(tmp_path, 1, "first", "frist")

    with pytest.raises(dtr.LogError, match="record 1"):
        Trial.open("pilot", storage=address(tmp_path))


def test_damage_after_the_snapshot_is_found_on_opening(tmp_path: Path) -> None:
    sequence = filled(tmp_path)
    with Trial.open("pilot", storage=address(tmp_path)) as trial:
        trial.enroll("next", {"x": 0.5})
    change(tmp_path, sequence + 1, "next", "text")

    with pytest.raises(dtr.LogError, match=f"record {sequence + 1}"):
        Trial.open("pilot", storage=address(tmp_path))


class Away:
    """A log whose records cannot be read just now."""

    def batches(self, since: int = 0) -> Iterator[StoredBatch]:
        raise dtr.Unavailable(f"away, {since}")


def test_a_database_that_is_away_is_no_damage(tmp_path: Path) -> None:
    worker, log = SnapshotWorker(Snapshots(tmp_path, 1)), Away()

    worker._check(log, Head(5, "0" * 64))  # type: ignore[arg-type]  # it is asked for batches alone

    assert worker.damage is None


def test_a_log_that_was_cut_or_exchanged_meanwhile_is_damage() -> None:
    trial = begun("memory://")
    fill(trial, 8)
    head = trial.head

    for found, says in (
        (Head(head.sequence + 3, "0" * 64), "the log ends with"),
        (Head(5, "0" * 64), "record 5 is an"),
    ):
        worker = SnapshotWorker(None)
        worker._check(trial._log.storage, found)
        assert worker.damage is not None
        assert says in str(worker.damage)


def test_a_check_ends_when_the_trial_is_closed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    filled(tmp_path)
    go, seen = threading.Event(), list[int]()
    trial = Trial.open("pilot", storage=address(tmp_path))
    wait(trial)
    batches = trial._log.storage.batches

    class Slow:
        def batches(self, since: int = 0) -> Iterator[StoredBatch]:
            for batch in batches(since):
                assert go.wait(60.0)
                for text, own in zip(*batch, strict=True):
                    seen.append(1)
                    yield StoredBatch([text], [own])

    storage: Any = Slow()
    worker = trial._worker
    worker._start(lambda: worker._check(storage, trial._log.unchecked))
    monkeypatch.setattr(worker, "_closed", True)
    go.set()
    trial.close()

    assert len(seen) <= 1
    assert worker.damage is None


def test_damage_holds_the_lock_too(tmp_path: Path) -> None:
    filled(tmp_path)
    change(tmp_path, 17)
    with Trial.open("pilot", storage=address(tmp_path)) as trial:
        wait(trial)

        with pytest.raises(dtr.LogError, match="record 17"):
            trial.lock(actor="lead", reason="begin")
        assert trial.phase == "rehearsal"
        with pytest.raises(dtr.LogError) as one, trial:
            trial.enroll("new", {"x": 0.5})
        assert one.value is not trial._worker.damage  # a refusal keeps no other alive


def test_a_rehearsal_whose_chain_was_changed_while_it_was_open_is_not_locked(tmp_path: Path) -> None:
    with begun(address(tmp_path)) as trial:
        fill(trial, 12)
        change(tmp_path, 17)

        for _ in range(2):
            with pytest.raises(dtr.LogError, match="record 17"):
                trial.lock(actor="lead", reason="begin")


def test_a_verb_that_is_stored_is_answered_whatever_befalls_the_worker(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(snapshot_worker, "EVERY", 1)

    def fail(*_: object) -> None:
        raise RuntimeError("can't start new thread")

    trial = begun(address(tmp_path))
    monkeypatch.setattr(SnapshotWorker, "_start", fail)

    assert trial.enroll("u1", {"x": 0.5}).round == 1
    monkeypatch.setattr(snapshot_worker, "AT_THE_END", 1)
    trial.close()

    assert "no snapshot could be taken" in caplog.text


def test_a_check_that_could_not_be_made_is_made_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    filled(tmp_path)
    change(tmp_path, 17)
    whole, tried = SnapshotWorker._is_whole, list[int]()

    def away(worker: SnapshotWorker, *given: Any) -> bool:
        tried.append(1)
        if len(tried) == 1:
            raise dtr.Unavailable("the disk is away")
        return whole(worker, *given)

    monkeypatch.setattr(SnapshotWorker, "_is_whole", away)
    with Trial.open("pilot", storage=address(tmp_path)) as trial:
        wait(trial)
        assert trial.damage is None
        trial.catch_up()
        wait(trial)

        assert trial.damage is not None
        assert "record 17" in trial.damage


def test_a_chain_that_nobody_can_check_is_not_gone_on_with(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    filled(tmp_path)

    def fail(*_: object) -> bool:
        raise MemoryError

    monkeypatch.setattr(SnapshotWorker, "_is_whole", fail)
    with Trial.open("pilot", storage=address(tmp_path)) as trial:
        wait(trial)

        with pytest.raises(dtr.LogError, match="cannot be checked: MemoryError"):
            trial.enroll("new", {"x": 0.5})
