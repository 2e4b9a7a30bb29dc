"""How trials begin."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

import dtrbandit as dtr
from dtrbandit.belief import believed
from dtrbandit.record import Opened
from dtrbandit.record.chain import Head, Record, unlinked
from dtrbandit.record.events import Taught
from dtrbandit.trial.opening import begin_live, begin_rehearsal, drawn, require_lockable
from trial.small_trial import DESIGN, POLICY

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
