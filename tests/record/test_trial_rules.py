"""Rules for the trial as a whole. What each fact does to a session stands in ``tests/facts``."""

from __future__ import annotations

from typing import Any, get_args

import pytest

import dtrbandit as dtr
from dtrbandit.record import commands
from dtrbandit.record.commands import OfTheTrial
from dtrbandit.record.events import ArmClosed, Ended, Held, Released, TrialFact, Upgraded
from dtrbandit.record.histories import NO_UNIT
from dtrbandit.record.trial_rules import RULES, segments
from small_session import DESIGN, some_session

FACTS: list[Any] = [
    Held("supply"),
    Held("supply", "north"),
    ArmClosed("first", "ssri", "harm"),
    Ended("complete"),
    Upgraded(99, "9.9", "a new release"),
]


def test_every_fact_of_the_trial_has_a_rule_and_every_such_command_a_fact() -> None:
    assert set(RULES) == set(get_args(TrialFact))
    assert {commands.FACTS[command] for command in get_args(OfTheTrial)} == set(RULES)


@pytest.mark.parametrize("fact", FACTS, ids=repr)
def test_a_fact_is_recorded_once(fact: Any) -> None:
    histories = some_session().histories

    assert RULES[type(fact)](histories, fact) == (fact, None)
    histories.record(fact, None, NO_UNIT)

    assert RULES[type(fact)](histories, fact) == (None, None)


def test_what_is_held_is_released_once() -> None:
    histories = some_session().histories
    with pytest.raises(dtr.ProtocolError, match="was never held"):
        RULES[Released](histories, Released("supply is back"))
    histories.record(Held("supply"), None, NO_UNIT)
    histories.record(Released("supply is back"), None, NO_UNIT)

    assert RULES[Released](histories, Released("supply is back")) == (None, None)
    with pytest.raises(dtr.ProtocolError, match="was released already"):
        RULES[Released](histories, Released("another reason"))


def test_a_log_of_one_release_is_one_segment() -> None:
    session = dtr.Session(DESIGN, dtr.Greedy())

    (only,) = segments(session.histories)

    assert (only.first, only.last, only.own) == (1, 1, True)
