"""Whether units may enrol: accrual is held, everywhere or at one site, and released again.

The two do not meet: a hold everywhere ends by a release everywhere, that of a site by a release of the site, and both
may hold at once. A repetition of the latest of the two writes nothing. Anything else must be the other one.
"""

from __future__ import annotations

from dtrbandit.errors import ProtocolError
from dtrbandit.record.events import Held, Released
from dtrbandit.record.histories import Histories
from dtrbandit.record.reasons import accept_words
from dtrbandit.record.sites import accept_site

Fields = tuple[str, str | None]  # reason and site


def held(histories: Histories, fields: Fields) -> tuple[Held | None, None]:
    """Return the fact that accrual is held."""
    fact = Held(accept_words(fields[0], "hold"), accept_site(fields[1]))
    latest = histories.accrual.get(fact.site)
    if fact == latest and type(latest) is Held:
        return None, None
    if type(latest) is Held:
        raise ProtocolError(
            f"accrual is held{_at(fact.site)} already ({latest.reason}), found another reason, {fact.reason!r}"
        )
    return fact, None


def released(histories: Histories, fields: Fields) -> tuple[Released | None, None]:
    """Return the fact that accrual is released."""
    fact = Released(accept_words(fields[0], "release"), accept_site(fields[1]))
    latest = histories.accrual.get(fact.site)
    if fact == latest and type(latest) is Released:
        return None, None
    if type(latest) is not Held:
        state = "was never held" if latest is None else f"was released already ({latest.reason})"
        raise ProtocolError(
            f"accrual{_at(fact.site)} {state}: there is nothing to release; found the reason {fact.reason!r}"
        )
    return fact, None


def require_accrual(histories: Histories, unit: str, site: str | None) -> None:
    """Refuse a newcomer while accrual is held, everywhere or at its site."""
    hold = histories.hold_of(site)
    if hold is None:
        return
    ends = "release()" if hold.site is None else f"release(site={hold.site!r})"
    told = f"unit {unit!r} cannot enrol: accrual is held{_at(hold.site)}"
    raise ProtocolError(
        f"{told} ({hold.reason}); {ends} ends that",
        blind=f"{told}; the administrator of the trial can say why",
        remedy="Wait until an administrator of the trial releases accrual, then enrol the unit. Units under way go on.",
    )


def _at(site: str | None) -> str:
    return "" if site is None else f" at site {site!r}"
