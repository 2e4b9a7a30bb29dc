"""How trials begin."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

import dtrbandit as dtr
from dtrbandit.record import Opened
from dtrbandit.record.chain import Head, unlinked
from dtrbandit.record.events import Taught
from dtrbandit.trial.opening import begin_live, begin_rehearsal, drawn, require_lockable
from trial.small_trial import DESIGN, POLICY

NOW = datetime(2026, 11, 17, 9, tzinfo=UTC)


def test_a_rehearsal_begins_with_what_the_session_was_opened_with() -> None:
    session, stored = begin_rehearsal("pilot", DESIGN, POLICY, seed=3, actor="lead", time=NOW)

    (record,) = unlinked(stored)

    assert (record.actor, record.time, record.event) == ("lead", NOW, session.log[0])
    assert session.seed == 3


def test_a_live_log_names_the_head_of_the_rehearsal_and_has_its_own_seed() -> None:
    session, _ = begin_rehearsal("pilot", DESIGN, POLICY, seed=3, actor=None, time=NOW)

    (record,) = unlinked(begin_live(session, Head(9, "f" * 64), seed=4, actor="lead", time=NOW))

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
    session = dtr.Session(DESIGN, dtr.DTRBandit(q=1, delta=1.0))

    with pytest.raises(dtr.ProtocolError, match="who knows it can guess"):
        require_lockable(session, "pilot", "rehearsal", paper_schedule=False)
    with pytest.raises(dtr.ProtocolError, match="it is live"):
        require_lockable(session, "pilot", "live", paper_schedule=True)
    require_lockable(session, "pilot", "rehearsal", paper_schedule=True)
    require_lockable(dtr.Session(DESIGN, dtr.UniformRandom()), "pilot", "rehearsal", paper_schedule=False)


def test_seeds_differ() -> None:
    assert len({drawn() for _ in range(100)}) == 100


class Earlier:
    """An earlier trial of two units, one of which left early."""

    def teaching(self, design: dtr.Design) -> list[Taught]:  # noqa: ARG002  # what a prior is asked
        stayed = Taught("u1", ({"x": 0.5}, {"r": 1.0, "z": 0.2}), ("a", "b"), 2.0)
        return [stayed, Taught("u2", ({"x": 0.1}, {"r": -1.0}), ("b",), 1.0)]


def test_an_earlier_trial_teaches_the_rehearsal_and_then_the_live_trial() -> None:
    session, stored = begin_rehearsal("pilot", DESIGN, POLICY, seed=3, prior=Earlier(), actor="lead", time=NOW)
    session.enroll("u1", {"x": 0.3})

    live = [record.event for record in unlinked(begin_live(session, Head(9, "f" * 64), seed=4, actor="x", time=NOW))]

    assert [record.event for record in unlinked(stored)] == list(session.log[:3])
    assert [type(event) for event in live] == [Opened, Taught, Taught]
    assert live[1:] == list(session.log[1:3])
    assert dtr.Session.resume(live).summary().taught == 2
