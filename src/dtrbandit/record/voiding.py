"""A unit that should never have been enrolled: its round stays used, and it teaches nothing."""

from __future__ import annotations

from dtrbandit.errors import ProtocolError
from dtrbandit.record.events import Voided
from dtrbandit.record.histories import Histories, UnitRecord
from dtrbandit.record.reasons import accept_reason
from dtrbandit.record.rules import known_unit


def voided(histories: Histories, fields: tuple[str, str]) -> tuple[Voided | None, UnitRecord]:
    """Return the voiding of a unit, at whatever point of its course."""
    unit, reason = fields
    record = known_unit(histories, unit)
    fact = Voided(record.history.unit, accept_reason(reason, unit))
    if record.voided == fact:
        return None, record
    if record.voided is not None:
        raise ProtocolError(
            f"unit {unit!r} was voided already ({record.voided.reason}), found another reason, {fact.reason!r}"
        )
    return fact, record
