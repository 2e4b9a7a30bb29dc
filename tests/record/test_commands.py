"""Commands: one per verb, which is the answer to it and then the belief in it."""

from __future__ import annotations

import inspect
from typing import Any, get_args

import pytest

import dtrbandit as dtr
from dtrbandit.record import Command, Opened

COURSE: list[Any] = [
    dtr.Upgrade("a new release"),
    dtr.Enroll("u1", {"x": 0.5}),
    dtr.Override("u1", "b", "allergy"),
    dtr.Respond("u1", {"z": 1.0}),
    dtr.Enroll("u2", {"x": -0.5}),
    dtr.Complete("u1", 2.0),
    dtr.Correct("u1", "typo", outcome=3.0),
    dtr.Correct("u1", "typo", stage="first", context={"x": 0.25}),
    dtr.Withdraw("u2", "moved away"),
    dtr.Enroll("u3", {"x": 1.5}, {"second": ["b"]}, "allergy", "north"),
    dtr.Hold("a safety signal"),
    dtr.Hold("a safety signal", "north"),
    dtr.Release("looked at"),
    dtr.Release("looked at", "north"),
    dtr.Unblind("u1", "an emergency"),
    dtr.Void("u3", "not eligible"),
    dtr.CloseArm("second", "a", "harm"),
    dtr.End("enough is known"),
]
VERBS = {dtr.CloseArm: "close_arm"}


def decisions_of_u1(told: dtr.Session) -> tuple[dtr.Decision, ...]:
    return told.histories.decisions("u1")


def session() -> dtr.Session:
    stages = [dtr.Stage("first", ("a", "b"), "1 + x"), dtr.Stage("second", ("a", "b"), "1 + z")]
    begun = dtr.Session(dtr.Design(stages), dtr.FixedRegime(rule={"first": "a", "second": "b"}))
    opened = begun.log[0]
    assert isinstance(opened, Opened)
    return dtr.Session.resume([opened._replace(numerics=dtr.NUMERICS - 1)])  # there is something to upgrade


def say(told: dtr.Session, command: Any) -> Any:
    """Call the verb of a command."""
    verb = getattr(told, VERBS.get(type(command)) or type(command).__name__.lower())
    positional = [
        name for name, each in inspect.signature(verb).parameters.items() if each.kind is not each.KEYWORD_ONLY
    ]
    fields = command._asdict()
    return verb(*[fields.pop(name) for name in positional], **fields)


def test_every_verb_is_the_answer_to_its_command_and_the_belief_in_it() -> None:
    told, asked = session(), session()

    # held twice is not once; of a void unit nothing is repeated; each look is one more
    gone = dtr.Hold, dtr.Release, dtr.Enroll, dtr.Unblind
    again = [each for each in COURSE if not isinstance(each, gone) or each in COURSE[:5]]
    for command in COURSE + again:  # the second time all are repetitions, except of what was corrected since
        reply = asked.answer(command)
        assert reply.version == asked.version == told.version
        asked.believe(reply)
        assert say(told, command) == (reply.decision if not isinstance(command, dtr.Unblind) else decisions_of_u1(told))
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


REPEATABLE = [command for command in COURSE if not isinstance(command, dtr.Unblind)]  # each look is one more


@pytest.mark.parametrize("command", REPEATABLE, ids=lambda command: type(command).__name__)
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
