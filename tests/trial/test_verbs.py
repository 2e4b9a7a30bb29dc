"""The verbs of a trial are those of a session, and each has its actor."""

from __future__ import annotations

import inspect
from typing import Any, get_args

import dtrbandit as dtr
from dtrbandit.record import Command
from dtrbandit.trial.units import UnitStory
from dtrbandit.trial.verbs import Verbs

VERBS = {kind: {"CloseArm": "close_arm"}.get(kind.__name__, kind.__name__.lower()) for kind in get_args(Command)}


class Told(Verbs):
    """Whoever keeps what it is told."""

    def __init__(self) -> None:
        self.told: list[tuple[Command, str | None]] = []

    def _tell(self, command: Command, actor: str | None) -> None:
        self.told.append((command, actor))

    def unit(self, unit: str, *, site: str | None = None) -> UnitStory:  # noqa: ARG002  # all sites
        return UnitStory(unit, 1, "", {}, (), ())


def test_every_verb_makes_its_command_and_passes_the_actor_on() -> None:
    for kind, name in VERBS.items():
        told = Told()
        verb: Any = getattr(told, name)
        given = {each: f"the {each}" for each in inspect.signature(verb).parameters if each != "actor"}

        verb(**given, actor="nurse")

        ((command, actor),) = told.told
        assert type(command) is kind
        assert actor == "nurse"
        assert {name: value for name, value in command._asdict().items() if value} == given


def test_the_verbs_have_the_arguments_of_a_session() -> None:
    for name in VERBS.values():
        own = inspect.signature(getattr(Verbs, name)).parameters
        session = inspect.signature(getattr(dtr.Session, name)).parameters

        assert [each for each in own if each != "actor"] == list(session)
        assert own["actor"].kind is inspect.Parameter.KEYWORD_ONLY
