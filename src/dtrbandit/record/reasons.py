"""Reasons as they are recorded: a text that says something."""

from __future__ import annotations

from dtrbandit.errors import ObservationError


def accept_reason(reason: object, unit: str) -> str:
    """Return a reason that can be recorded, or raise."""
    return accept_words(reason, f"unit {unit!r}")


def accept_words(reason: object, who: str) -> str:
    """Return a reason, given by or for ``who``, that can be recorded, or raise."""
    if not isinstance(reason, str) or not reason.strip() or len(reason) > 2000:
        raise ObservationError(f"{who}: a reason must be a text of 1 to 2000 characters, found {reason!r}")
    return reason
