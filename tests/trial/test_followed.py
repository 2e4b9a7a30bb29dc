"""What is believed, in step with a stored log, whose snapshots are taken and whose chain is checked beside it."""

from __future__ import annotations

import json
import logging
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

import dtrbandit as dtr
from dtrbandit.record.chain import EMPTY, Head, Stored, chained, checked
from dtrbandit.storage import MemoryStore
from dtrbandit.trial import Ask, Taken, Trial, followed
from dtrbandit.trial.batch import Batch
from dtrbandit.trial.followed import FollowedLog, SnapshotWorker, chunks
from dtrbandit.trial.snapshots import Copied, Snapshots
from policies.states import differences
from trial.small_trial import DESIGN, POLICY, Clock, address, begun, fill
from trial.snapshot_files import files_of, opened_from, rewrite, take_snapshot


@pytest.mark.parametrize("size", [1, 2, 7, 1000])
def test_chunks_keep_decisions_with_what_they_answer(size: int) -> None:
    trial = begun("memory://")
    fill(trial, 12)
    stored = list(trial._log.storage.read())

    found = list(chunks(stored, EMPTY, size=size))

    assert [record for records, _ in found for record in records] == list(trial.records())
    assert not [records for records, _ in found if isinstance(records[0].event, dtr.record.Assigned)]
    assert max(len(records) for records, _ in found) <= max(size + 1, 2)
    assert [head for _, head in found][-1] == trial.head
    assert [head.hash for _, head in found] == [stored[head.sequence - 1].hash for _, head in found]


@pytest.mark.parametrize("size", [1, 5, 1000])
def test_a_log_is_read_in_chunks_to_the_same_belief(size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(followed, "CHUNK", size)
    trial, session = begun("memory://"), dtr.Session(DESIGN, POLICY, seed=1)
    fill(trial, 30)
    fill(session, 30)

    again = FollowedLog(trial._log.storage)
    again.catch_up()

    assert differences(again.belief.state, session._belief.state) == []
    assert repr(list(again.belief.histories)) == repr(list(trial._log.belief.histories))
    assert again.belief.histories.tally.to_dict() == session.histories.tally.to_dict()
    assert again.head == trial.head


def test_a_log_that_was_cut_or_exchanged_is_refused() -> None:
    trial = begun("memory://")
    fill(trial, 3)
    store = trial._store
    assert isinstance(store, MemoryStore)
    log = store.log(1)
    last = log.head()
    tail = list(log.read(last.sequence - 2))

    store.ask("DELETE FROM records WHERE sequence > ?", last.sequence - 2)
    with pytest.raises(dtr.LogError, match="was cut or exchanged"):
        trial.summary()
    log.append([tail[0], tail[1]._replace(hash="0" * 64)], last.sequence - 2)
    with pytest.raises(dtr.LogError, match="was cut or exchanged"):
        trial.summary()
    store.ask("UPDATE records SET hash = ? WHERE sequence = ?", last.hash, last.sequence)

    assert trial.summary().units == 3


def test_a_log_that_is_empty_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    store = MemoryStore()
    store.add_trial("pilot")
    with pytest.raises(dtr.LogError, match="the log is empty"):
        Trial.open("pilot", storage=store)

    trial = begun("memory://")
    failed(trial, monkeypatch)
    trial._store.ask("DELETE FROM records")  # type: ignore[attr-defined]  # it is one of tables
    for _ in range(2):
        with pytest.raises(dtr.LogError, match="the log is empty"):
            trial.summary()


def failed(trial: dtr.Trial, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a trial believe what could not be stored."""

    def refuse(*_: object) -> None:
        raise dtr.Unavailable("the disk is full")

    with monkeypatch.context() as away:
        away.setattr(type(trial._log.storage), "append", refuse)
        with pytest.raises(dtr.Unavailable):
            trial.enroll("lost", {"x": 0.5})
    assert trial._log.is_ahead


def test_after_a_failure_what_is_stored_is_read_again_from_the_newest_snapshot(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trial = begun(address(tmp_path))
    fill(trial, 30)
    monkeypatch.setattr(followed, "EVERY", 20)
    trial.catch_up()
    wait(trial)
    monkeypatch.undo()
    snapshot = trial.head.sequence
    fill(trial, 3, first=30)
    failed(trial, monkeypatch)
    with dtr.Trial.open("pilot", storage=address(tmp_path)) as other:
        other.enroll("meanwhile", {"x": 0.25})
    asked: list[int] = []
    storage: Any = type(trial._log.storage)
    read = storage.read

    def noted(log: object, since: int = 0) -> Iterator[Stored]:
        asked.append(since)
        found: Iterator[Stored] = read(log, since)
        return found

    monkeypatch.setattr(storage, "read", noted)

    decision = trial.enroll("next", {"x": 0.75})

    assert asked[0] == snapshot  # only what came after it
    with trial, dtr.Trial.open("pilot", storage=address(tmp_path)) as again:
        assert trial.session_log() == again.session_log()
        assert again.unit("next").decisions[0] == decision
        assert again.verify()


@pytest.mark.parametrize("late", [False, True], ids=["when it is opened", "when it is followed"])
def test_a_snapshot_whose_tail_is_refused_means_the_log_and_is_said_once(
    late: bool, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """It fits the log and says what cannot be: that accrual is held. Units have enrolled since."""
    trial = begun(address(tmp_path))
    fill(trial, 8)
    place = take_snapshot(trial)
    rewrite(place, of_trial=[[0, json.dumps({"event": "Held", "reason": "no staff"})]])
    with trial, caplog.at_level(logging.WARNING, "dtrbandit.trial"):
        if not late:
            fill(trial, 3, first=8)
        with Trial.open("pilot", storage=address(tmp_path)) as again:
            fill(trial, 3, first=20)

            assert again.summary() == trial.summary()
            assert opened_from(again) == 0
            assert again.enroll("next", {"x": 0.5}) == trial.unit("next").decisions[0]

    (told,) = caplog.records
    assert f"the snapshot {place} cannot be used: LogError" in told.getMessage()
    assert "accrual is held" in told.getMessage()


def test_a_tail_that_is_damaged_is_refused_after_the_log_was_read_from_its_beginning(tmp_path: Path) -> None:
    with begun(address(tmp_path)) as trial:
        fill(trial, 8)
        sequence = trial.head.sequence
        take_snapshot(trial)
        fill(trial, 2, first=8)
    change_file(tmp_path, sequence + 3)
    told: list[int] = []

    with closing(dtr.storage.SQLiteStore(tmp_path / "trial.db")) as store:
        snapshots = Snapshots(tmp_path / "trial.db.snapshots", 1)
        log = FollowedLog(store.log(1), snapshots=snapshots, progress=lambda done, _: told.append(done))
        with pytest.raises(dtr.LogError, match=f"record {sequence + 3}"):
            log.catch_up()

        for _ in range(3):  # and not once more for each call
            with pytest.raises(dtr.LogError, match=f"record {sequence + 3}"):
                log.catch_up()

    assert told == [sequence + 2, sequence + 2]  # after the snapshot, and after the first record


def test_going_back_that_is_interrupted_is_made_good_by_reading_all(monkeypatch: pytest.MonkeyPatch) -> None:
    trial = begun("memory://")
    fill(trial, 5)
    log = trial.session_log()
    failed(trial, monkeypatch)

    for name in ("opened_by", "record_of"):
        with monkeypatch.context() as away:
            away.setattr(followed, name, interrupt)
            with pytest.raises(KeyboardInterrupt):
                trial.summary()

    assert trial.summary().units == 5
    assert trial.session_log() == log


def interrupt(*_: object, **__: object) -> None:
    raise KeyboardInterrupt


def relinked(texts: list[bytes]) -> list[Stored]:
    """Return records with the hashes that their texts lead to, as somebody who can write the file would make them."""
    stored, previous = [], EMPTY.hash
    for text in texts:
        previous = chained(previous, text)
        stored.append(Stored(text, previous))
    return stored


@pytest.mark.parametrize("held_back", [False, True])
def test_of_two_bad_records_the_first_is_named(held_back: bool) -> None:
    trial = begun("memory://")
    fill(trial, 12)
    texts = [each.text for each in trial._log.storage.read()]
    first = next(i for i, text in enumerate(texts) if i > 9 and b'"Enrolled"' in text)
    texts[first] = texts[first].replace(b'"unit"', b'"who"')

    stored = relinked(texts)
    if held_back:  # the next one is refused as its hash does not fit
        stored[first + 1] = stored[first + 1]._replace(hash="0" * 64)
    else:
        stored = relinked([*texts[:20], b"[]", *texts[21:]])

    with pytest.raises(dtr.LogError, match="a damaged Enrolled event"):
        list(chunks(checked(stored), EMPTY, size=1_000))


@pytest.mark.parametrize("longer", [False, True])
def test_another_log_than_the_one_known_is_read_from_its_beginning(
    longer: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    store, others = MemoryStore(), MemoryStore()
    trial = dtr.Trial.create("pilot", DESIGN, POLICY, storage=store, seed=1)
    other = dtr.Trial.create("pilot", DESIGN, POLICY, storage=others, seed=1)
    fill(trial, 5)
    other.enroll("another unit", {"x": 0.5})
    fill(other, 9 if longer else 2)
    failed(trial, monkeypatch)
    store.ask("DELETE FROM records")
    store.log(1).append(list(others.log(1).read()), 0)

    decision = trial.enroll("next", {"x": 0.75})

    assert decision == other.enroll("next", {"x": 0.75})
    assert trial.session_log() == other.session_log()


def test_facts_that_are_not_stored_yet_are_known_and_those_of_others_are_not_before_they_are_followed() -> None:
    trial = begun("memory://")
    fill(trial, 2)
    log = trial._log
    facts = log.facts
    batch = Batch(log, Clock(), [])
    batch.take(Ask(dtr.Complete("u0", 1.0)))

    assert facts.of_unit("u0")[-1] == dtr.record.Completed("u0", 1.0)
    assert [record.event for record in facts.records_of("u0")] == facts.of_unit("u0")[:-1]
    batch.store()
    assert len(facts.records_of("u0")) == 4  # what is stored counts when it is noted
    log.note_stored(batch.head)
    assert [record.event for record in facts.records_of("u0")] == facts.of_unit("u0")
    dtr.Trial.open("pilot", storage=trial._store).void("u1", reason="twice")
    assert not [fact for fact in facts.of_unit("u1") if isinstance(fact, dtr.record.Voided)]
    trial.catch_up()
    assert facts.of_unit("u1")[-1] == dtr.record.Voided("u1", "twice")


def test_a_trial_keeps_no_fact_that_is_stored() -> None:
    trial = begun("memory://")
    other = dtr.Trial.open("pilot", storage=trial._store)

    fill(trial, 12)
    other.catch_up()

    for each in (trial, other):
        assert each._log.facts._new == {}
        assert list(each._log.belief.histories.in_flight) == ["u0", "u5", "u10"]


def test_a_unit_of_an_earlier_trial_with_the_same_id_is_another_one() -> None:
    taught = dtr.record.Taught("u1", ({"x": 0.5}, {"r": -1.0}), ("a",), 2.0)

    class Earlier:
        def teaching(self, design: dtr.Design) -> list[dtr.record.Taught]:  # noqa: ARG002  # what a prior is asked
            return [taught]

    trial = dtr.Trial.create("pilot", DESIGN, POLICY, storage="memory://", seed=1, prior=Earlier())
    trial.enroll("u1", {"x": 0.25})
    trial.respond("u1", {"r": -1.0})
    trial.complete("u1", 1.0)

    assert [type(fact).__name__ for fact in trial._log.facts.of_unit("u1")] == [
        "Enrolled", "Assigned", "Responded", "Completed",
    ]  # fmt: skip
    trial.correct("u1", outcome=3.0, reason="typo")
    assert trial.unit("u1").records[0].sequence == 3
    assert trial.verify()


def change(trial: dtr.Trial, sequence: int, old: str, new: str) -> None:
    """Change the text of a stored record; its hash stays as it was."""
    store: Any = trial._store
    with store.turn():
        store.ask("UPDATE records SET text = replace(text, ?, ?) WHERE log = 1 AND sequence = ?", old, new, sequence)


def test_a_story_whose_bytes_were_changed_is_refused() -> None:
    trial = begun("memory://")
    fill(trial, 12)
    ended = next(record.event.unit for record in trial.records() if isinstance(record.event, dtr.record.Completed))
    assigned = trial.unit(ended).records[1]
    change(trial, assigned.sequence, '"round":', '"round": ')

    with pytest.raises(dtr.LogError, match=f"record {assigned.sequence} was changed"):
        trial.unit(ended)
    with pytest.raises(dtr.LogError, match=f"record {assigned.sequence} was changed"):
        trial.void(ended, reason="twice")


def test_a_reply_under_a_key_whose_record_was_changed_is_refused() -> None:
    trial = begun("memory://")
    ask = Ask(dtr.Enroll("u1", {"x": 1.0}), "nurse", "key")
    (first,) = trial.take([ask])
    (again,) = trial.take([ask])
    assert isinstance(first, Taken)
    assert isinstance(again, Taken)
    assert again.decision == first.decision
    change(trial, 3, '"round":1', '"round":7')

    (refused,) = trial.take([ask])

    assert isinstance(refused, dtr.LogError)


# -- snapshots, in the background -------------------------------------------------------------------------------------


def wait(trial: Trial) -> None:
    """Wait until nothing is done in the background."""
    for thread in trial._log.worker._threads:
        thread.join(timeout=60.0)
        assert not thread.is_alive()


def filled(folder: Path, units: int = 20) -> int:
    """Write a trial and a snapshot of it to files; return the number of its records."""
    with begun(address(folder)) as trial:
        fill(trial, units)
        take_snapshot(trial)
        return trial.head.sequence


def change_file(folder: Path, sequence: int, old: str = '"u', new: str = '"v') -> None:
    """Change the text of a stored record; its hash stays as it was."""
    with closing(sqlite3.connect(folder / "trial.db")) as database, database:
        database.execute("UPDATE records SET text = replace(text, ?, ?) WHERE sequence = ?", (old, new, sequence))


# -- when they are taken ---------------------------------------------------------------------------------------------


def test_one_is_taken_each_time_that_so_many_events_are_new(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(followed, "EVERY", 25)
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
        monkeypatch.setattr(followed, "EVERY", 25)
        other.catch_up()
        wait(other)

        assert files_of(one).sequences() == [one.head.sequence]


@pytest.mark.parametrize(("least", "expected"), [(1, True), (10**6, False)])
def test_a_last_one_is_taken_on_closing_where_it_is_worth_while(
    least: int, expected: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(followed, "AT_THE_END", least)
    trial = begun(address(tmp_path))
    fill(trial, 6)
    head = trial.head

    trial.close()

    assert files_of(trial).sequences() == ([head.sequence] if expected else [])
    assert not any(thread.is_alive() for thread in trial._log.worker._threads)


def test_what_was_opened_by_a_snapshot_and_has_not_grown_gets_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sequence = filled(tmp_path)
    monkeypatch.setattr(followed, "AT_THE_END", 1)

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

    monkeypatch.setattr(followed, "AT_THE_END", 1)
    with monkeypatch.context() as fault:
        fault.setattr(type(trial._log.storage), "append", full)
        with pytest.raises(dtr.Unavailable):
            trial.enroll("lost", {"x": 0.5})
        trial.close()  # what is believed is ahead of what is stored

    assert files_of(trial).sequences() == []
    with Trial.open("pilot", storage=address(tmp_path)) as again:
        assert again.head == stored


def test_verbs_go_on_while_a_snapshot_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(followed, "EVERY", 20)
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
    monkeypatch.setattr(followed, "EVERY", 30)
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
    monkeypatch.setattr(followed, "EVERY", 10)
    monkeypatch.setattr(followed, "AT_THE_END", 1)

    def away(*_: object) -> None:
        raise dtr.Unavailable("the database is away")

    with monkeypatch.context() as fault:
        fault.setattr(type(trial._log.storage), "pick", away)
        assert trial.enroll("next", {"x": 0.5}).round == 7
        trial._log.worker.close(trial._log)
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
        assert trial._log.worker._checked == trial._log.unchecked
        assert trial.enroll("next", {"x": 0.5}).round == 21


def test_damage_before_the_snapshot_is_found_and_verbs_are_refused(tmp_path: Path) -> None:
    sequence = filled(tmp_path)
    change_file(tmp_path, 7)

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
    change_file(tmp_path, 7)
    for path in (tmp_path / "trial.db.snapshots").iterdir():
        path.unlink()

    with pytest.raises(dtr.LogError, match="record 7"):
        Trial.open("pilot", storage=address(tmp_path))


def test_a_damaged_first_record_is_found_at_once(tmp_path: Path) -> None:
    filled(tmp_path)
    change_file(tmp_path, 1, "first", "frist")

    with pytest.raises(dtr.LogError, match="record 1"):
        Trial.open("pilot", storage=address(tmp_path))


def test_damage_after_the_snapshot_is_found_on_opening(tmp_path: Path) -> None:
    sequence = filled(tmp_path)
    with Trial.open("pilot", storage=address(tmp_path)) as trial:
        trial.enroll("next", {"x": 0.5})
    change_file(tmp_path, sequence + 1, "next", "text")

    with pytest.raises(dtr.LogError, match=f"record {sequence + 1}"):
        Trial.open("pilot", storage=address(tmp_path))


class Away:
    """A log whose records cannot be read just now."""

    def read(self, since: int = 0) -> Iterator[Stored]:
        raise dtr.Unavailable(f"away, {since}")


def test_a_database_that_is_away_is_no_damage(tmp_path: Path) -> None:
    worker, log = SnapshotWorker(Snapshots(tmp_path, 1)), Away()

    worker._check(log, Head(5, "0" * 64))  # type: ignore[arg-type]  # it is only read

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
    read = trial._log.storage.read

    class Slow:
        def read(self, since: int = 0) -> Iterator[Stored]:
            for stored in read(since):
                assert go.wait(60.0)
                seen.append(1)
                yield stored

    storage: Any = Slow()
    worker = trial._log.worker
    worker._start(lambda: worker._check(storage, trial._log.unchecked))
    monkeypatch.setattr(worker, "_closed", True)
    go.set()
    trial.close()

    assert len(seen) <= 1
    assert worker.damage is None


def test_damage_holds_the_lock_too(tmp_path: Path) -> None:
    filled(tmp_path)
    change_file(tmp_path, 17)
    with Trial.open("pilot", storage=address(tmp_path)) as trial:
        wait(trial)

        with pytest.raises(dtr.LogError, match="record 17"):
            trial.lock(actor="lead", reason="begin")
        assert trial.phase == "rehearsal"
        with pytest.raises(dtr.LogError) as one, trial:
            trial.enroll("new", {"x": 0.5})
        assert one.value is not trial._log.worker.damage  # a refusal keeps no other alive


def test_a_rehearsal_whose_chain_was_changed_while_it_was_open_is_not_locked(tmp_path: Path) -> None:
    with begun(address(tmp_path)) as trial:
        fill(trial, 12)
        change_file(tmp_path, 17)

        for _ in range(2):
            with pytest.raises(dtr.LogError, match="record 17"):
                trial.lock(actor="lead", reason="begin")


def test_a_verb_that_is_stored_is_answered_whatever_befalls_the_worker(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(followed, "EVERY", 1)

    def fail(*_: object) -> None:
        raise RuntimeError("can't start new thread")

    trial = begun(address(tmp_path))
    monkeypatch.setattr(SnapshotWorker, "_start", fail)

    assert trial.enroll("u1", {"x": 0.5}).round == 1
    monkeypatch.setattr(followed, "AT_THE_END", 1)
    trial.close()

    assert "no snapshot could be taken" in caplog.text


def test_a_check_that_could_not_be_made_is_made_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    filled(tmp_path)
    change_file(tmp_path, 17)
    require, tried = SnapshotWorker._require_chain, list[int]()

    def away(worker: SnapshotWorker, *given: Any) -> None:
        tried.append(1)
        if len(tried) == 1:
            raise dtr.Unavailable("the disk is away")
        require(worker, *given)

    monkeypatch.setattr(SnapshotWorker, "_require_chain", away)
    with Trial.open("pilot", storage=address(tmp_path)) as trial:
        wait(trial)
        assert trial.damage is None
        trial.catch_up()
        wait(trial)

        assert trial.damage is not None
        assert "record 17" in trial.damage


def test_a_chain_that_nobody_can_check_is_not_gone_on_with(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    filled(tmp_path)

    def fail(*_: object) -> None:
        raise MemoryError

    monkeypatch.setattr(SnapshotWorker, "_require_chain", fail)
    with Trial.open("pilot", storage=address(tmp_path)) as trial:
        wait(trial)

        with pytest.raises(dtr.LogError, match="cannot be checked: MemoryError"):
            trial.enroll("new", {"x": 0.5})
