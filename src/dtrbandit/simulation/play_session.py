"""Simulated units through a Session, one at a time: for policies of the caller's own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from dtrbandit.courses import Courses
from dtrbandit.design.spec import Design
from dtrbandit.engine import Session
from dtrbandit.environments.potential_outcomes import PotentialOutcomes
from dtrbandit.policies.policy import Policy
from dtrbandit.record.events import Decision
from dtrbandit.record.teaching import Prior
from dtrbandit.simulation.closings import Closing
from dtrbandit.simulation.regret import Arms


def play_session(  # what a path of a study has
    policy: Policy[Any],
    units: PotentialOutcomes,
    courses: Courses,
    design: Design,
    *,
    seed: int,
    prior: Prior | None = None,
    closings: Sequence[Closing] = (),
) -> Arms:
    """Return the arms that a policy gives, (n, M), −1 where a stage was not entered.

    As in ``courses.play``, what would come after a unit has left or ended is passed over.
    """
    session, player = Session(design, policy, seed=seed, prior=prior), _Player(units, courses, design)
    to_close = list(closings)
    for what, unit in courses.events.tolist():
        while to_close and what == 0 and unit >= to_close[0].round - 1:
            stage, arm, reason = to_close.pop(0).fact
            session.close_arm(stage, arm, reason=reason)
        player.happen(session, what, unit)
    return player.arms


class _Player:
    """Tells a Session what happens to drawn units, given the arms that it decides."""

    def __init__(self, units: PotentialOutcomes, courses: Courses, design: Design) -> None:
        n, self._stages = len(units.outcome), len(design.stages)
        self._courses, self._design = courses, design
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
            column = self._courses.leaf[self._design.tree.after(self._given[unit])]
            session.complete(f"u{unit + 1}", float(self._courses.outcome[unit, column]))
        else:
            session.withdraw(f"u{unit + 1}", reason="lost")

    def _arrive(self, session: Session, m: int, unit: int) -> None:
        given, stage, name = self._given[unit], self._design.stages[m], f"u{unit + 1}"
        values = [(column, float(array[(unit, *given[:k])])) for column, k, array in self._columns[m]]
        context = {column: value for column, value in values if value == value}  # a leaver's may be unknown
        if m == 0:
            decision: Decision | None = session.enroll(name, context, **self._exclusions(unit))
        else:
            decision = session.respond(name, context, stage=stage.name)
        if decision is None:
            self._left.add(unit)
            return
        self.arms[unit, m] = arm = stage.arms.index(decision.arm)
        self._given[unit] = (*given, arm)

    def _exclusions(self, unit: int) -> dict[str, Any]:
        """Return what is said of a unit's contraindications when it enrols."""
        excluded, stages = self._courses.excluded[self._courses.barring[unit]], self._design.stages
        arms: dict[str, list[str]] = {}
        for m, arm in excluded:
            arms.setdefault(stages[m].name, []).append(stages[m].arms[arm])
        return {"exclude": arms, "reason": "contraindicated"} if arms else {}
