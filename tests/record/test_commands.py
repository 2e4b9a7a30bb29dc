"""Commands: one per verb, which is the answer to it and then the belief in it."""

from __future__ import annotations

import inspect
from typing import Any, get_args

import pytest

import dtrbandit as dtr
from dtrbandit.record import Command

COURSE: list[Any] = [
    dtr.Enroll("u1", {"x": 0.5}),
    dtr.Override("u1", "b", "allergy"),
    dtr.Respond("u1", {"z": 1.0}),
    dtr.Enroll("u2", {"x": -0.5}),
    dtr.Complete("u1", 2.0),
    dtr.Correct("u1", "typo", outcome=3.0),
    dtr.Correct("u1", "typo", stage="first", context={"x": 0.25}),
    dtr.Withdraw("u2", "moved away"),
    dtr.Enroll("u3", {"x": 1.5}),
]


def session() -> dtr.Session:
    stages = [dtr.Stage("first", ("a", "b"), "1 + x"), dtr.Stage("second", ("a", "b"), "1 + z")]
    return dtr.Session(dtr.Design(stages), dtr.FixedRegime(rule={"first": "a", "second": "b"}))


def say(told: dtr.Session, command: Any) -> Any:
    """Call the verb of a command."""
    verb = getattr(told, type(command).__name__.lower())
    positional = [
        name for name, each in inspect.signature(verb).parameters.items() if each.kind is not each.KEYWORD_ONLY
    ]
    fields = command._asdict()
    return verb(*[fields.pop(name) for name in positional], **fields)


def test_every_verb_is_the_answer_to_its_command_and_the_belief_in_it() -> None:
    told, asked = session(), session()

    for command in COURSE * 2:  # the second time all are repetitions, except of what was corrected since
        reply = asked.answer(command)
        assert reply.version == asked.version == told.version
        asked.believe(reply)
        assert say(told, command) == reply.decision
        assert asked.version == reply.version + len(reply.facts)

    assert {type(command) for command in COURSE} == set(get_args(Command))
    assert told.log == asked.log
    assert asked.since(1) == [fact for command in COURSE for fact in replies(command)]


def replies(command: Any) -> tuple[Any, ...]:
    """Return the facts of a command of the course, in a session that was told those before it."""
    told = session()
    for before in COURSE[: COURSE.index(command)]:
        say(told, before)
    return told.answer(command).facts


@pytest.mark.parametrize("command", COURSE, ids=lambda command: type(command).__name__)
def test_a_repetition_is_answered_without_facts_and_with_the_recorded_decision(command: Any) -> None:
    told = session()
    for each in COURSE[: COURSE.index(command) + 1]:
        recorded = say(told, each)

    reply = told.answer(command)

    assert reply == dtr.Reply((), recorded, told.version)
    told.believe(reply)
    assert reply.version == told.version


@pytest.mark.parametrize("found", [None, "Enroll", ("u1", {"x": 1.0}), dtr.Reply((), None, 1)])
def test_what_is_no_command_is_refused(found: Any) -> None:
    with pytest.raises(dtr.ProtocolError, match="no command; commands are Enroll, Respond"):
        session().answer(found)
