"""Ids of units that people would take for the same: they differ only in case, or in how Unicode writes a letter.

All of this acts on what is asked, never on what is on record: a log keeps the ids that it has.
"""

from __future__ import annotations

from typing import TypeVar
from unicodedata import is_normalized, normalize

from dtrbandit.errors import ProtocolError
from dtrbandit.record.commands import Command
from dtrbandit.record.histories import Histories, folded

Asked = TypeVar("Asked", bound=Command)


def as_known(histories: Histories, unit: str) -> str:
    """Return the id by which a unit is known: as it stands, or in the composed form that new ids have (NFC)."""
    if not isinstance(unit, str):
        return unit
    plain = str.__str__(unit)  # NumPy has texts of its own kind
    return plain if plain.isascii() or plain in histories.rounds else normalize("NFC", plain)


def with_known_id(histories: Histories, command: Asked) -> Asked:
    """Return a command with the id by which its unit is known."""
    unit = getattr(command, "unit", None)
    if not isinstance(unit, str) or (type(unit) is str and unit.isascii()):
        return command
    return command._replace(unit=as_known(histories, unit))  # type: ignore[call-arg,return-value]  # it has a unit


def is_distinct(histories: Histories, unit: str) -> bool:
    """Say whether a new id is composed, and differs from all known ones in more than case or normalisation."""
    key = folded(unit)
    return (
        key not in histories.folded and key not in histories.rounds and (unit.isascii() or is_normalized("NFC", unit))
    )


def require_distinct(histories: Histories, unit: str) -> None:
    """Refuse a new id that differs from a known one only in case or normalisation."""
    key = folded(unit)
    other = histories.folded.get(key, key if key in histories.rounds else None)
    if other is not None:
        told = (
            f"the id {unit!r} looks like that of another unit: they differ only in case or in how letters are encoded"
        )
        raise ProtocolError(
            f"{told}, {other!r}. If it is the same patient, use that id; otherwise give an id that differs in more",
            blind=f"{told}. Look whether the patient is enrolled already, or give an id that differs in more",
        )
