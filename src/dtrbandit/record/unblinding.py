"""Unblinding: somebody is shown the whole story of a unit.

Each look is a fact of its own, also for the same reason: the log says who looked, and how often.
"""

from __future__ import annotations

from dtrbandit.record.events import Unblinded
from dtrbandit.record.histories import Histories, UnitRecord
from dtrbandit.record.reasons import accept_reason
from dtrbandit.record.rules import known_unit


def unblinded(histories: Histories, fields: tuple[str, str]) -> tuple[Unblinded, UnitRecord]:
    """Return the fact that somebody is shown the story of a unit, at whatever point of its course, void or not."""
    unit, reason = fields
    record = known_unit(histories, unit)
    return Unblinded(record.history.unit, accept_reason(reason, unit)), record
