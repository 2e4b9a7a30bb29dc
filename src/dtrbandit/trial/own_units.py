"""A site acts on its own units, and on no others."""

from __future__ import annotations

from dtrbandit.design.values import shown
from dtrbandit.errors import NotAllowed
from dtrbandit.record.commands import Command, Enroll
from dtrbandit.record.histories import Histories


def require_own(histories: Histories, command: Command, site: str) -> None:
    """Refuse a command that is not about a unit of a site.

    An unknown unit is left to the session, and so is one that is enrolled already.
    """
    if isinstance(command, Enroll):
        if command.site != site:
            raise NotAllowed(f"a key of site {site!r} enrols units of that site, found {shown(command.site)}")
        return
    unit = getattr(command, "unit", None)
    if not isinstance(unit, str):
        raise NotAllowed(f"{type(command).__name__} is about the trial as a whole, and a site acts on its own units")
    record = histories.get(unit)
    if record is not None:
        require_site(unit, record.site, site)


def require_site(unit: str, found: str | None, site: str | None) -> None:
    """Refuse a unit of another site, without a word about that one; ``site`` None stands for all sites."""
    if site not in (None, found):
        raise NotAllowed(f"unit {unit!r} is not one of site {site!r}; ask the site that enrolled it")
