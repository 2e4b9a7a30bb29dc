"""Batches: what asks led to, before it is stored."""

from __future__ import annotations

from typing import Any

import pytest

import dtrbandit as dtr
from dtrbandit.policies import Choice
from dtrbandit.record import Assigned, Enrolled, History
from dtrbandit.record.chain import unlinked
from dtrbandit.trial import Ask, Taken
from dtrbandit.trial.batch import Batch, Interrupted
from small_session import Says
from trial.small_trial import DESIGN, Clock, begun


def test_a_batch_links_its_records_and_stores_nothing_by_itself() -> None:
    trial = begun("memory://")
    log = trial._log
    before = log.storage.head()
    batch = Batch(log, Clock(), [])

    answers = [batch.take(Ask(dtr.Enroll(f"u{n}", {"x": 1.0}), "nurse", f"k{n}")) for n in range(3)]

    assert all(isinstance(answer, Taken) for answer in answers)
    assert log.storage.head() == before
    assert [record.sequence for record in unlinked(batch.records, before)] == [2, 3, 4, 5, 6, 7]
    assert (batch.expected, batch.head.sequence) == (1, 7)
    assert [(key.sequence, key.facts) for key in batch.keys.values()] == [(2, 2), (4, 2), (6, 2)]
    again = Ask(dtr.Enroll("u1", {"x": 1.0}), "nurse", "k1")
    expected = answers[1]._replace(repeated=True)  # type: ignore[union-attr]
    assert batch.take(again) == expected
    batch.store()
    assert log.storage.head() == batch.head
    log.note_stored(batch.head)
    assert Batch(log, Clock(), [again]).take(again) == expected  # now from the log


def test_a_session_that_believes_more_than_is_stored_is_read_again() -> None:
    trial = begun("memory://")
    Batch(trial._log, Clock(), []).take(Ask(dtr.Enroll("lost", {"x": 1.0})))

    assert trial.summary().units == 0
    assert trial.enroll("u1", {"x": 1.0}).round == 1


class BreaksOff(Says):
    """A policy that fails when it learns from one unit, after something was recorded of it."""

    def update(self, state: dtr.Design, history: History, event: Any) -> dtr.Design:
        if history.unit == "bad" and isinstance(event, Assigned):
            raise ZeroDivisionError("by zero")
        return state


def own_trial() -> dtr.Trial:
    policy = BreaksOff(Choice(0, "coin", (0.5, 0.5)))
    return dtr.Trial.create("own", DESIGN, policy, storage="memory://", seed=1, clock=Clock())


def asks(*units: str) -> list[Ask]:
    return [Ask(dtr.Enroll(unit, {"x": 1.0}), "nurse", f"key of {unit}") for unit in units]


def test_an_ask_of_several_that_breaks_off_interrupts_the_batch_and_nothing_is_stored() -> None:
    trial = own_trial()
    good, bad = asks("good", "bad")
    batch = Batch(trial._log, Clock(), [good, bad])
    batch.take(good)

    with pytest.raises(Interrupted):
        batch.take(bad)

    assert trial.head.sequence == 1
    assert trial.summary().units == 0


def test_asks_of_an_interrupted_batch_are_taken_one_by_one_and_only_the_bad_one_is_refused() -> None:
    trial = own_trial()

    answers = trial.take(asks("u1", "bad", "u2", "u1"))

    assert [type(answer).__name__ for answer in answers] == ["Taken", "DesignError", "Taken", "Taken"]
    assert answers[3] == answers[0]._replace(repeated=True)  # type: ignore[union-attr]  # it was taken
    assert "failed: ZeroDivisionError" in str(answers[1])
    enrolled = [event for event in trial.session_log() if isinstance(event, Enrolled)]
    assert [(event.unit, event.round) for event in enrolled] == [("u1", 1), ("u2", 2)]
    assert trial.summary().units == len(trial.units()) == trial.ledger().units == 2
    assert trial.verify()
