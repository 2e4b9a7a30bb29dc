"""Whether units may enrol: accrual is held, and released again.

A repetition of the latest of the two writes nothing. Anything else must be the other one.
"""

from __future__ import annotations

from dtrbandit.errors import ProtocolError
from dtrbandit.record.events import Held, Released
from dtrbandit.record.histories import Histories
from dtrbandit.record.reasons import accept_words


def held(histories: Histories, fields: tuple[str]) -> tuple[Held | None, None]:
    """Return the fact that accrual is held."""
    fact, latest = Held(accept_words(fields[0], "hold")), histories.accrual
    if fact == latest and type(latest) is Held:
        return None, None
    if type(latest) is Held:
        raise ProtocolError(f"accrual is held already ({latest.reason}), found another reason, {fact.reason!r}")
    return fact, None


def released(histories: Histories, fields: tuple[str]) -> tuple[Released | None, None]:
    """Return the fact that accrual is released."""
    fact, latest = Released(accept_words(fields[0], "release")), histories.accrual
    if fact == latest and type(latest) is Released:
        return None, None
    if type(latest) is not Held:
        state = "was never held" if latest is None else f"was released already ({latest.reason})"
        raise ProtocolError(f"accrual {state}: there is nothing to release; found the reason {fact.reason!r}")
    return fact, None
