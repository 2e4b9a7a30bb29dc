"""Histories as plain values and arrays, and back: what was restored answers as what was frozen."""

from __future__ import annotations

from dataclasses import fields
from datetime import UTC, datetime
from typing import Any

import numpy as np
import pytest

import dtrbandit as dtr
from dtrbandit.record import Enrolled, Histories, Opened, Upgraded
from dtrbandit.record.answers import answer_to
from dtrbandit.record.frozen import frozen, restore
from dtrbandit.record.histories import UnitRecord, advance
from dtrbandit.record.snapshot import Snapshot
from dtrbandit.record.values import Values
from dtrbandit.summary import standing, summarise
from effort import seeded
from policies.states import every_policy
from random_course import DESIGN, go_on, next_command, random_session
from record.plain_histories import all_of, plain
from small_session import DESIGN as TWO_STAGES

POLICIES: list[Any] = [dtr.DTRBandit(q=1, delta=0.5, schedule="permuted"), dtr.UniformRandom(), dtr.LSVIUCB(beta=0.5)]


def thawed(session: dtr.Session, content: bytes | None = None) -> Histories:
    """Return the histories that a session's own lead to when they are frozen, written, read and restored."""
    own = session.histories
    written = frozen(own).snapshot().to_bytes() if content is None else content
    found = Histories(own.design, own.opened)
    found.facts = own.facts  # of units that have ended
    restore(found, Snapshot.from_bytes(written))
    return found


@seeded(40)
def test_restored_histories_are_those_that_were_frozen(seed: int) -> None:
    session = random_session(POLICIES[seed % 3], seed, 0, taught=seed % 2 == 1)
    rng = np.random.default_rng(seed)

    for _ in range(6):
        go_on(session, rng, 25)

        assert all_of(thawed(session)) == all_of(session.histories)


def answered(histories: Histories, command: Any) -> Any:
    """Return what the rules say of a command: a fact, the record of its unit, and the history that it leads to."""
    try:
        fact, known, decision = answer_to(histories, command)
    except dtr.DTRError as error:
        return type(error), str(error)
    history = None if fact is None else advance(histories.design, known, fact, histories.barred)
    return plain(fact), plain(known), plain(decision), plain(history)


@seeded(16)
def test_restored_histories_answer_the_same_and_change_nothing_of_it(seed: int) -> None:
    session = random_session(POLICIES[seed % 3], seed, 150, taught=seed % 2 == 1)
    restored, rng = thawed(session), np.random.default_rng(seed)
    said = [next_command(session.histories, rng) for _ in range(150)]
    said += [dtr.Enroll("u3", {"x": 0.5}), dtr.Complete("nobody", 1.0), dtr.Upgrade("why"), dtr.End("complete")]

    answers = [answered(restored, command) for command in said]

    assert answers == [answered(session.histories, command) for command in said]
    assert len({repr(answer) for answer in answers}) > 20  # 38 and more were found
    assert all_of(restored) == all_of(session.histories)


@seeded(8)
def test_what_was_frozen_stays_as_it_was_while_the_session_goes_on(seed: int) -> None:
    session = random_session(POLICIES[seed % 3], seed, 80)
    own = frozen(session.histories)
    before = own.snapshot().to_bytes()

    go_on(session, np.random.default_rng(seed), 80)

    assert own.snapshot().to_bytes() == before != frozen(session.histories).snapshot().to_bytes()


def test_the_same_histories_are_frozen_to_the_same_bytes_whichever_way_they_came_about() -> None:
    session = random_session(POLICIES[0], 3, 200, taught=True)
    resumed = dtr.Session.resume(session.log)

    own = frozen(session.histories).snapshot().to_bytes()

    assert frozen(resumed.histories).snapshot().to_bytes() == own
    assert frozen(thawed(session)).snapshot().to_bytes() == own


def test_units_of_an_earlier_trial_are_frozen_in_one_order_in_every_process() -> None:
    """They are kept in a set, whose order differs from process to process; ``verify`` compares bytes."""
    session = random_session(POLICIES[0], 1, 0, taught=True)

    assert frozen(session.histories).taught == ["e1", "e2", "u2"]


def test_texts_of_any_language_and_a_session_without_units_are_restored() -> None:
    empty = dtr.Session(DESIGN, dtr.Greedy())
    odd = dtr.Session(DESIGN, dtr.Greedy())
    odd.hold(reason='a "quoted" \\ reason, 悪い', site="süd")
    odd.enroll("患者 1", {"x": 1e-300}, exclude={"second": ["a", "c"]}, reason="allergie à l'arrivée", site="nord")

    assert all_of(thawed(empty)) == all_of(empty.histories)
    assert all_of(thawed(odd)) == all_of(odd.histories)


def test_contraindications_of_one_arrival_and_of_several_are_restored() -> None:
    session = dtr.Session(DESIGN, dtr.Greedy())
    session.enroll("both", {"x": 1.0}, exclude={"first": ["a"], "second": ["a"]}, reason="allergy")
    session.respond("both", {"z": 0.5, "r": 1.0}, exclude={"second": ["c"]}, reason="interaction")
    session.enroll("later", {"x": 1.0})
    session.respond("later", {"z": 0.5, "r": 1.0}, exclude={"second": ["b"]}, reason="pregnancy")
    session.enroll("leaver", {"x": 1.0}, exclude={"second": ["b"]}, reason="allergy")
    session.respond("leaver", {"r": -2.0})

    restored = thawed(session)

    assert all_of(restored) == all_of(session.histories)
    assert restored.in_flight["both"].history.excluded == (((0, 0), (1, 0)), ((0, 0), (1, 0), (1, 2)))
    assert restored.in_flight["later"].history.excluded == ((), ((1, 1),))
    assert restored.in_flight["leaver"].left


def test_corrections_before_and_after_the_next_arrival_are_told_apart() -> None:
    session = dtr.Session(DESIGN, dtr.Greedy())
    session.enroll("before", {"x": 1.0})
    session.correct("before", stage="first", context={"x": 2.0}, reason="typo")
    session.respond("before", {"z": 0.5, "r": 1.0})
    session.enroll("after", {"x": 1.0})
    session.respond("after", {"z": 0.5, "r": 1.0})
    session.correct("after", stage="first", context={"x": 3.0}, reason="typo")
    session.override("after", "c", reason="supply", stage="second")

    restored = thawed(session)

    assert all_of(restored) == all_of(session.histories)
    for unit, now in (("before", 2.0), ("after", 3.0)):
        record = restored.in_flight[unit]
        assert (record.reported[0]["x"], record.contexts[0]["x"]) == (1.0, now)
        assert record.history.features[0].tolist() == [1.0, now]


def test_an_upgrade_keeps_its_number_in_the_log() -> None:
    opened = Opened(DESIGN.to_dict(), {"name": "Greedy"}, 0, dtr.NUMERICS - 1)
    old = dtr.Session.resume([opened])
    old.hold(reason="a move")
    old.upgrade(reason="the old release is gone")
    old.release(reason="moved")
    old.enroll("u", {"x": 1.0})

    restored = thawed(old)

    assert all_of(restored) == all_of(old.histories)
    assert restored.upgrades == [(3, Upgraded(dtr.NUMERICS, dtr.__version__, "the old release is gone"))]
    assert restored.numerics == dtr.NUMERICS


def test_a_trial_that_has_ended_is_restored_and_lets_nobody_in() -> None:
    session = random_session(POLICIES[0], 1, 60)
    session.end(reason="complete")

    restored = thawed(session)

    assert all_of(restored) == all_of(session.histories)
    assert answered(restored, dtr.Enroll("next", {"x": 0.0})) == answered(
        session.histories, dtr.Enroll("next", {"x": 0.0})
    )


@pytest.mark.parametrize("policy", every_policy(DESIGN), ids=repr)
def test_decisions_of_every_policy_are_restored_bit_for_bit(policy: Any) -> None:
    """Some have Q values for all arms, some for a few or none."""
    session = dtr.Session(DESIGN, policy, seed=2)
    for t in range(24):
        session.enroll(f"u{t}", {"x": t / 7})
        if t % 3:
            session.respond(f"u{t}", {"z": t / 9, "r": 1.0})
        if t % 3 == 2:
            session.complete(f"u{t}", float(t % 5))

    restored = thawed(session)

    assert len(restored.in_flight) == 16
    assert all_of(restored) == all_of(session.histories)


def test_the_summary_of_restored_histories_is_the_same() -> None:
    session = random_session(POLICIES[1], 5, 150)

    restored = thawed(session)

    own = summarise(standing(DESIGN, POLICIES[1], restored, None))
    assert own == summarise(standing(DESIGN, POLICIES[1], session.histories, None))
    assert str(own) == str(session.summary())


def test_restored_histories_take_the_next_fact() -> None:
    session = random_session(POLICIES[1], 5, 100)
    restored, next_round = thawed(session), len(session.histories) + 1
    fact = Enrolled("next", next_round, Values(("x",), (0.5,)))

    restored.record(fact, None, advance(DESIGN, None, fact))

    assert restored.rounds["next"] == next_round
    assert list(restored.in_flight)[-1] == "next"
    assert restored.count == session.version + 1


def test_every_field_of_a_units_record_lasts() -> None:
    session = dtr.Session(TWO_STAGES, dtr.Greedy())
    session.enroll("u", {"start1": 0.5}, site="north", exclude={"second": ["ssri"]}, reason="allergy")
    session.override("u", "other" if session.histories.decisions("u")[0].arm == "ssri" else "ssri", reason="supply")
    session.correct("u", stage="first", context={"start1": 1.5}, reason="misread")
    session.unblind("u", reason="a reaction")
    session.respond("u", {"end1": 2.0})
    record = session.histories.in_flight["u"]
    record.since = datetime(2026, 11, 18, tzinfo=UTC)
    ends = {"outcome", "withdrawn", "voided"}  # a unit in flight has none of these
    set_fields = {field.name for field in fields(UnitRecord) if getattr(record, field.name) not in ((), None, False)}
    assert set_fields == {field.name for field in fields(UnitRecord)} - ends

    other = Histories(TWO_STAGES, session.histories.opened)
    restore(other, frozen(session.histories).snapshot())

    for field in fields(UnitRecord):
        assert repr(getattr(other.in_flight["u"], field.name)) == repr(getattr(record, field.name)), field.name
