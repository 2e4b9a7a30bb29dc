"""A ledger as plain values, and the same by one walk through all events."""

from __future__ import annotations

import math
from typing import Any

import dtrbandit as dtr
from dtrbandit.record.events import (
    ArmClosed,
    Assigned,
    Completed,
    Corrected,
    Decision,
    Ended,
    Enrolled,
    Held,
    Overridden,
    Released,
    Voided,
    Withdrawn,
)
from dtrbandit.trial import Trial
from dtrbandit.trial.ledger import COMPLETED, FORCED, FREE, FREED, IN_FLIGHT, VOIDED, WITHDRAWN, Ledger


class NaiveLedger:
    """All columns, by one walk through the events. Features are those that a session has on record in the end."""

    def __init__(self, trial: Trial) -> None:
        self.stages = [stage.name for stage in trial.design.stages]
        self.labels = {stage.name: stage.arms for stage in trial.design.stages}
        self.rounds: dict[str, int] = {}
        self.decisions: list[list[Decision]] = [[] for _ in self.stages]
        self.given: dict[tuple[str, str], int] = {}  # by unit and stage, as it holds now
        self.outcomes: dict[str, float] = {}
        self.ends: dict[str, int] = {}
        self.forced: dict[str, int] = {}
        self.forced_changes, self.closed = 0, list[ArmClosed]()
        self.ended: str | None = None
        self.held: dict[str | None, str] = {}
        for event in trial.session_log()[1:]:
            self.take(event)
        records = {record.history.unit: record for record in dtr.Session.resume(trial.session_log()).histories}
        self.features = [
            [records[each.unit].history.features[m].tolist() for each in decisions]
            for m, decisions in enumerate(self.decisions)
        ]

    def take(self, event: Any) -> None:
        match event:
            case Enrolled(unit=unit):
                self.rounds[unit] = len(self.rounds) + 1
                self.ends[unit], self.forced[unit], self.outcomes[unit] = IN_FLIGHT, FREE, math.nan
            case Assigned(decision):
                self.decide(decision)
            case Completed(unit=unit, outcome=outcome):
                self.ends[unit], self.outcomes[unit] = COMPLETED, outcome
            case Withdrawn(unit=unit):
                self.ends[unit] = WITHDRAWN
            case _:
                self.amend(event)
        if isinstance(event, Completed | Withdrawn | Voided | Corrected | Overridden):
            self.forced_changes += self.forced[event.unit] != FREE

    def amend(self, event: Any) -> None:
        match event:
            case Voided(unit=unit):
                self.ends[unit], self.outcomes[unit] = VOIDED, math.nan
                self.given |= {key: -1 for key in self.given if key[0] == unit}
            case Corrected(unit=unit, outcome=outcome):
                self.outcomes[unit] = self.outcomes[unit] if outcome is None else outcome
            case Overridden(unit=unit, stage=stage, arm=arm):
                self.given[unit, stage] = self.labels[stage].index(arm)
            case _:
                self.note(event)

    def note(self, event: Any) -> None:
        """Note what concerns the trial as a whole."""
        match event:
            case Held(reason=reason, site=site):
                self.held[site] = reason
            case Released(site=site):
                self.held.pop(site, None)
            case ArmClosed():
                self.closed.append(event)
            case Ended(reason=reason):
                self.ended = reason

    def decide(self, decision: Decision) -> None:
        unit, m = decision.unit, self.stages.index(decision.stage)
        self.decisions[m].append(decision)
        self.given[unit, decision.stage] = self.labels[decision.stage].index(decision.arm)
        if m == 0:
            self.forced[unit] = FORCED if decision.reason == "forced" else FREE
        elif self.forced[unit] == FORCED and decision.reason not in ("forced", "only_feasible"):
            self.forced[unit] = FREED

    def plain(self) -> dict[str, object]:
        """Return everything as plain values; NaN as a text, which equals itself."""
        found: dict[str, object] = {
            "names": list(self.rounds), "outcomes": repr([*self.outcomes.values()]), "ends": [*self.ends.values()],
            "forced": [*self.forced.values()], "forced_changes": self.forced_changes, "held": self.held,
            "closed": self.closed, "ended": self.ended,
        }  # fmt: skip
        for m, decisions in enumerate(self.decisions):
            places = {decision.unit: place for place, decision in enumerate(decisions)}
            found |= {
                f"rounds {m}": [self.rounds[each.unit] for each in decisions],
                f"arms {m}": [self.given[each.unit, each.stage] for each in decisions],
                f"reasons {m}": [each.reason for each in decisions],
                f"leads {m}": repr([naive_lead(each) for each in decisions]),
                f"features {m}": self.features[m],
                f"rows {m}": [places.get(unit, -1) for unit in self.rounds],
            }
        return found


def naive_lead(decision: Decision) -> float:
    """Return the best Q̃ less the next best, of arms that are not barred."""
    barred = [arm for arm, _ in decision.infeasible]
    best = sorted((q for arm, q in decision.q_tilde.items() if q is not None and arm not in barred), reverse=True)
    return best[0] - best[1] if len(best) > 1 else math.nan


def plain(ledger: Ledger) -> dict[str, object]:
    found: dict[str, object] = {
        "names": ledger.names, "outcomes": repr(ledger.outcomes.tolist()), "ends": ledger.ends.tolist(),
        "forced": ledger.forced.tolist(), "forced_changes": ledger.forced_changes, "held": ledger.held,
        "closed": ledger.closed, "ended": ledger.ended,
    }  # fmt: skip
    for m, stage in enumerate(ledger.stages):
        rounds, arms, reasons, leads = stage.columns()
        found |= {
            f"rounds {m}": rounds.tolist(),
            f"arms {m}": arms.tolist(),
            f"reasons {m}": [ledger.reasons[number] for number in reasons],
            f"leads {m}": repr(leads.tolist()),
            f"features {m}": stage.matrix().tolist(),
            f"rows {m}": stage.rows.tolist(),
        }
    return found
