"""Batches: what asks led to, before it is stored."""

from __future__ import annotations

import dtrbandit as dtr
from dtrbandit.record.chain import unlinked
from dtrbandit.trial import Ask, Taken
from dtrbandit.trial.batch import Batch, recorded
from trial.small_trial import Clock, begun


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
    assert recorded(log.session, batch.keys["", "k1"]) == answers[1]._replace(repeated=True)  # type: ignore[union-attr]
    batch.store()
    assert log.storage.head() == batch.head


def test_a_session_that_believes_more_than_is_stored_is_read_again() -> None:
    trial = begun("memory://")
    Batch(trial._log, Clock(), []).take(Ask(dtr.Enroll("lost", {"x": 1.0})))

    assert trial.summary().units == 0
    assert trial.enroll("u1", {"x": 1.0}).round == 1
