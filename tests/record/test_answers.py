"""From a command to its fact, and from a log's next event to what it must be."""

from __future__ import annotations

from typing import Any, get_args

import pytest

import dtrbandit as dtr
from dtrbandit.record import Command, Histories
from dtrbandit.record.answers import OWN, RULES, answer_to, refuse, require_in_turn
from dtrbandit.record.commands import FACTS
from dtrbandit.record.events import Assigned, Completed, Decision, Enrolled, Fact, Opened
from dtrbandit.record.histories import advance
from dtrbandit.record.log import PackedLog
from dtrbandit.record.rules import completed
from dtrbandit.record.values import Values
from small_session import DESIGN, some_session

DECISION = Decision("u", 1, "first", "ssri", "greedy", 1.0, {}, {}, ("ssri",))


def test_every_command_has_an_answer_and_every_fact_a_rule() -> None:
    assert set(FACTS) == set(get_args(Command))
    assert set(RULES) == set(get_args(Fact))


def test_a_command_has_the_fields_of_its_fact_by_their_names() -> None:
    of_the_log = {"round", *OWN}

    for command, fact in FACTS.items():
        assert set(command._fields) == set(fact._fields) - of_the_log


def test_a_command_with_the_fields_of_its_fact_is_answered_by_its_rule() -> None:
    session = some_session()
    session.enroll("u", {"start1": 0.5})
    session.respond("u", {"end1": 2.0})
    histories = session.histories

    assert answer_to(histories, dtr.Complete("u", 2)) == (*completed(histories, ("u", 2.0)), None)


def test_a_rule_takes_an_event_as_it_stands_in_a_log() -> None:
    log, design = some_session().log, DESIGN
    opened: Any = log[0]
    histories = Histories(design, opened)
    histories.facts = packed = PackedLog(opened, histories.names, histories.rounds)

    for event in log[1:]:
        fact, record = RULES[type(event)](histories, event)
        assert fact == event
        assert record is histories.in_flight.get(event.unit)  # type: ignore[union-attr]  # all are of units
        histories.record(fact, record, advance(design, record, fact))

    assert list(packed.events(0, len(log))) == log
    assert histories.count == len(log)


def test_a_command_is_answered_by_its_fact_and_nothing_changes() -> None:
    histories = some_session()._belief.histories
    before = histories.count

    fact, record, decision = answer_to(histories, dtr.Enroll("next", {"start1": 1}))

    assert fact == Enrolled("next", 11, Values(("start1",), (1.0,)))
    assert record is None
    assert decision is None
    assert histories.count == before


def test_a_repetition_is_answered_by_the_decision_on_record() -> None:
    session = some_session()
    recorded = session.enroll("in flight", {"start1": 0.0})

    histories = session._belief.histories
    record = histories.in_flight["in flight"]

    assert answer_to(histories, dtr.Enroll("in flight", {"start1": 0.0})) == (None, record, recorded)
    session.respond("in flight", {"end1": 2.0})  # it leaves early: there is no decision
    assert answer_to(histories, dtr.Respond("in flight", {"end1": 2.0})) == (None, record, None)


def test_an_override_is_answered_by_the_decision_that_it_amends() -> None:
    session = some_session()
    decided = session.enroll("in flight", {"start1": 0.0})
    other = "other" if decided.arm == "ssri" else "ssri"

    fact, _, decision = answer_to(session._belief.histories, dtr.Override("in flight", other, "allergy"))

    assert fact is not None
    assert decision == decided._replace(arm=other, reason="override", propensity=None)


def test_what_is_no_event_or_on_record_already_is_refused() -> None:
    with pytest.raises(dtr.LogError, match="it is on record already"):
        refuse(Completed("u", 1.0))
    with pytest.raises(dtr.LogError, match="a log is opened once"):
        refuse(Opened(DESIGN.to_dict(), {}, 0, 1))
    with pytest.raises(dtr.LogError, match="found 'Enrolled', which is no event"):
        refuse("Enrolled")


def test_an_event_in_turn_passes() -> None:
    require_in_turn(Completed("u", 1.0), None)
    require_in_turn(Assigned(DECISION), "u")
    require_in_turn(Assigned(DECISION), DECISION)


@pytest.mark.parametrize(
    ("event", "due", "says"),
    [
        (Assigned(DECISION), None, "no decision is due, found Decision"),
        (Completed("u", 1.0), "u", "the decision for unit 'u' must come here"),
        (Assigned(DECISION), "v", "the decision for unit 'v' must come here"),
        (Assigned("ssri"), "u", "the decision for unit 'u' must come here"),  # type: ignore[arg-type]
        (Completed("u", 1.0), DECISION, "the decision for unit 'u' must come here"),
        (
            Assigned(DECISION._replace(arm="other")),
            DECISION,
            "unit 'u', stage 'first': the log has arm 'other', but these facts lead to 'ssri'",
        ),
        (
            Assigned(DECISION._replace(propensity=0.5)),
            DECISION,
            "the log has propensity 0.5, but these facts lead to 1.0",
        ),
    ],
)
def test_an_event_out_of_turn_is_refused(event: Any, due: Any, says: str) -> None:
    with pytest.raises(dtr.LogError, match=says):
        require_in_turn(event, due)
