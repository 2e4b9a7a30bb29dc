"""What is believed, in step with a stored log."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import dtrbandit as dtr
from dtrbandit.record import chain
from dtrbandit.record.chain import EMPTY, Stored, StoredBatch, chained, in_batches
from dtrbandit.storage import MemoryStore
from dtrbandit.trial import Ask, Taken, followed, snapshot_worker
from dtrbandit.trial.batch import Batch
from dtrbandit.trial.followed import FollowedLog, parts
from policies.states import differences
from trial.small_trial import DESIGN, POLICY, Clock, address, begun, fill


@pytest.mark.parametrize("size", [1, 2, 7, 1000])
def test_parts_keep_decisions_with_what_they_answer(size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(followed, "PART", size)
    trial = begun("memory://")
    fill(trial, 12)
    stored = list(trial._log.storage.read())

    found = list(parts(in_batches(stored), EMPTY))

    assert [event for events, _, _ in found for event in events] == trial.session_log()
    assert [time for _, times, _ in found for time in times] == [record.time for record in trial.records()]
    assert not [events for events, _, _ in found if isinstance(events[0], dtr.record.Assigned)]
    assert found[-1][2] == trial.head


@pytest.mark.parametrize("size", [1, 2, 3, 5])
def test_an_arrival_at_the_end_of_a_batch_waits_for_its_decision(size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chain, "AT_ONCE", size)
    monkeypatch.setattr(followed, "PART", 1)
    trial = begun("memory://")
    fill(trial, 12)

    found = [events for events, _, _ in parts(trial._log.storage.batches(), EMPTY)]

    assert [event for events in found for event in events] == trial.session_log()
    assert not [events for events in found if isinstance(events[0], dtr.record.Assigned)]


@pytest.mark.parametrize("size", [1, 5, 1000])
def test_a_log_is_read_in_parts_to_the_same_belief(size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(followed, "PART", size)
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
    monkeypatch.setattr(snapshot_worker, "EVERY", 20)
    trial.catch_up()
    trial._worker.close(None)  # the snapshot is written
    monkeypatch.undo()
    snapshot = trial.head.sequence
    fill(trial, 3, first=30)
    failed(trial, monkeypatch)
    with dtr.Trial.open("pilot", storage=address(tmp_path)) as other:
        other.enroll("meanwhile", {"x": 0.25})
    asked: list[int] = []
    storage: Any = type(trial._log.storage)
    batches = storage.batches

    def noted(log: object, since: int = 0) -> Iterator[StoredBatch]:
        asked.append(since)
        found: Iterator[StoredBatch] = batches(log, since)
        return found

    monkeypatch.setattr(storage, "batches", noted)

    decision = trial.enroll("next", {"x": 0.75})

    assert asked[0] == snapshot  # only what came after it
    with trial, dtr.Trial.open("pilot", storage=address(tmp_path)) as again:
        assert trial.session_log() == again.session_log()
        assert again.unit("next").decisions[0] == decision
        assert again.verify()


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
        list(parts(in_batches(stored), EMPTY))


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
