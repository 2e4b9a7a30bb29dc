"""A session whose verbs go different ways in turn: called, answered and believed, or told elsewhere and followed.

Now and then it goes on from a snapshot of itself.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import dtrbandit as dtr
from dtrbandit.belief import Belief
from dtrbandit.kernels.arrays import under, within
from dtrbandit.policies.state import PolicyState
from dtrbandit.record.snapshot import Snapshot, frozen, restore

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
        if self.said % 7 == 0:
            self.go_on_from_a_snapshot()
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

    def go_on_from_a_snapshot(self) -> None:
        """Know what a snapshot as bytes says, and no more; the facts themselves are kept where they are."""
        before: Any = self.session._belief
        arrays = under("state", before.state.arrays())
        own = frozen(before.histories).snapshot()
        found = Snapshot.from_bytes(Snapshot(own.header, {**own.arrays, **arrays}).to_bytes())
        facts = before.histories.facts
        belief = Belief(before.design, before.policy, before.seed, opened=before.histories.opened, facts=facts)
        restore(belief.histories, found)
        facts._names, facts._rounds = belief.histories.names, belief.histories.rounds
        belief.state = PolicyState.from_arrays(belief.policy, belief.design, within("state", found.arrays))
        belief.version = belief.histories.count
        self.session._belief = belief
