"""A session whose verbs go different ways in turn: called, answered and believed, or told elsewhere and followed."""

from __future__ import annotations

from functools import partial
from typing import Any

import dtrbandit as dtr

COMMANDS: dict[str, Any] = {
    kind.__name__.lower(): kind
    for kind in (
        dtr.Enroll, dtr.Respond, dtr.Complete, dtr.Withdraw, dtr.Override, dtr.Correct, dtr.Hold, dtr.Release,
        dtr.Void,
    )
} | {"close_arm": dtr.CloseArm}  # fmt: skip


class Seam:
    """A session whose verbs go different ways in turn: all must lead to the same."""

    def __init__(self, session: dtr.Session) -> None:
        self.session, self.said = session, 0

    def __getattr__(self, name: str) -> Any:
        return partial(self.say, name) if name in COMMANDS else getattr(self.session, name)

    def say(self, verb: str, *content: Any, **more: Any) -> Any:
        self.said += 1
        if self.said % 12 == 0:
            return self.say_elsewhere(verb, *content, **more)
        if self.said % 3:
            return getattr(self.session, verb)(*content, **more)
        reply = self.session.answer(COMMANDS[verb](*content, **more))
        self.session.believe(reply)
        return reply.decision

    def say_elsewhere(self, verb: str, *content: Any, **more: Any) -> Any:
        """Let a resumed session answer, and believe the answer or follow what it has recorded."""
        elsewhere = dtr.Session.resume(self.session.log)
        if self.said % 24:
            self.session.believe(elsewhere.answer(COMMANDS[verb](*content, **more)))
            return getattr(elsewhere, verb)(*content, **more)
        answer = getattr(elsewhere, verb)(*content, **more)
        self.session.follow(elsewhere.since(self.session.version))
        return answer
