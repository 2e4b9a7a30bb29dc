"""Simulated units through a Session, one at a time: for policies of the caller's own."""

from __future__ import annotations

from typing import Any

import numpy as np

from dtrbandit.compiled import Arrivals
from dtrbandit.design.spec import Design
from dtrbandit.engine import Session
from dtrbandit.environments.potential_outcomes import PotentialOutcomes
from dtrbandit.policies.policy import Policy
from dtrbandit.simulation.regret import Arms


def play_session(
    policy: Policy[Any], units: PotentialOutcomes, arrivals: Arrivals, design: Design, *, seed: int
) -> Arms:
    """Return the arms that a policy gives, (n, M), −1 where a stage was not entered.

    As in ``compiled.play``, what would come after a unit has left or ended is passed over.
    """
    session, player = Session(design, policy, seed=seed), _Player(units, arrivals, design)
    for what, unit in arrivals.events.tolist():
        player.happen(session, what, unit)
    return player.arms


class _Player:
    """Tells a Session what happens to drawn units, given the arms that it decides."""

    def __init__(self, units: PotentialOutcomes, arrivals: Arrivals, design: Design) -> None:
        n, self._stages = len(units.outcome), len(design.stages)
        self._arrivals, self._design = arrivals, design
        stage_of = {column: k for k, context in enumerate(units.contexts) for column in context}
        self._columns = [
            [(column, stage_of[column], units.contexts[stage_of[column]][column]) for column in columns]
            for columns in design.columns
        ]
        self._given: list[tuple[int, ...]] = [()] * n
        self._left: set[int] = set()
        self._ended: set[int] = set()
        self.arms = np.full((n, self._stages), -1, dtype=np.int8)

    def happen(self, session: Session, what: int, unit: int) -> None:
        """Let one thing happen to a unit, unless the unit has left or ended."""
        if unit in self._ended or (what < self._stages and unit in self._left):
            return
        if what < self._stages:
            self._arrive(session, what, unit)
            return
        self._ended.add(unit)
        if what == self._stages:
            column = self._arrivals.leaf[self._design.tree.after(self._given[unit])]
            session.complete(f"u{unit + 1}", float(self._arrivals.outcome[unit, column]))
        else:
            session.withdraw(f"u{unit + 1}", reason="lost")

    def _arrive(self, session: Session, m: int, unit: int) -> None:
        given, stage, name = self._given[unit], self._design.stages[m], f"u{unit + 1}"
        values = [(column, float(array[(unit, *given[:k])])) for column, k, array in self._columns[m]]
        context = {column: value for column, value in values if value == value}  # a leaver's may be unknown
        decision = session.enroll(name, context) if m == 0 else session.respond(name, context, stage=stage.name)
        if decision is None:
            self._left.add(unit)
            return
        self.arms[unit, m] = arm = stage.arms.index(decision.arm)
        self._given[unit] = (*given, arm)
