"""Who asks for a page, what the page may ask for in turn, and what stands on every page of a trial."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, NamedTuple
from urllib.parse import urlencode

from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.types import ASGIApp

from dtrbandit.service.endpoints import PERMISSIONS
from dtrbandit.service.keys import Holder, Role
from dtrbandit.service.service import Service
from dtrbandit.web.cache import Find, Found, State, TrialCache, by_version
from dtrbandit.web.forms import Fields, read_form, require_own
from dtrbandit.web.internal_client import Entries, InternalClient
from dtrbandit.web.logins import Logins, form_token
from dtrbandit.web.templates import environment, part

TABS = (  # address, name, and the endpoint that a role must be allowed
    ("", "Overview", "summarise_trial"),
    ("/allocation", "Allocation", "summarise_trial"),
    ("/outcomes", "Outcomes", "summarise_trial"),
    ("/learning", "Learning", "summarise_trial"),
    ("/bedside", "Bedside", "enroll_unit"),
    ("/units", "Units", "read_head"),
    ("/integrity", "Integrity", "read_head"),
)
MOST_LISTED = 200  # units on a page
HOME = {Role.SITE: "/bedside", Role.AUDITOR: "/integrity"}  # where others than those begin: the overview


@dataclass(frozen=True)
class Dashboard:
    """What all pages share: the service, its endpoints, who is logged in, what was looked up.

    ``secure`` is for cookies: the pages are reached by TLS. ``guests`` are keys that the login page of a rehearsal
    offers to everybody, by the name of their role.
    """

    service: Service
    endpoints: ASGIApp
    cache: TrialCache
    logins: Logins
    secure: bool = False
    guests: Mapping[str, str] = field(default_factory=dict)

    @property
    def cookie(self) -> str:
        """The name of the cookie of a login; with its prefix a browser takes it by TLS alone."""
        return "__Host-dtrbandit" if self.secure else "dtrbandit"


class Page:
    """One request for a page, by somebody who is logged in; Refused if nobody is."""

    def __init__(self, request: Request) -> None:
        self.request = request
        self.dashboard: Dashboard = request.scope["dashboard"]
        self.login = request.cookies.get(self.dashboard.cookie, "")
        self.holder: Holder = self.require("list_trials")
        self._client = InternalClient(self.dashboard.endpoints, self.holder.id, request.scope)
        request.scope["holder"] = self.holder

    def require(self, endpoint: str) -> Holder:
        """Refuse whoever may not use an endpoint, or whose key or login has ended meanwhile."""
        key_id = self.dashboard.logins.key_id(self.login)
        holder = self.dashboard.service.keys.holder_of(key_id, now=datetime.now(UTC))
        holder.require(PERMISSIONS[endpoint], self.request.path_params.get("trial"))
        return holder

    def may(self, endpoint: str) -> bool:
        """Say whether the role allows an endpoint."""
        return self.holder.role in PERMISSIONS[endpoint].roles

    async def ask(self, method: str, path: str, **how: Any) -> Entries:
        """Return what an endpoint of the service answers to whoever is logged in."""
        return await self._client.entries(method, path, **how)

    async def lines(self, path: str, query: str) -> bytes:
        """Return what an endpoint answers in lines."""
        return await self._client.ask("GET", path, query=query)

    async def trial(self, endpoint: str | None = None) -> Entries:
        """Return the trial of this page as everybody may know it; refused to whom the endpoint is."""
        if endpoint is not None:
            self.require(endpoint)
        return await self.ask("GET", f"/trials/{self.request.path_params['trial']}")

    async def cached(self, trial: Entries, what: str, find: Find[Found], state: State = by_version) -> Found:
        """Return what ``find`` gives for the ledger of this trial, never one of another log that was kept."""
        return await self.dashboard.cache.get(trial["name"], (trial["log"], what), find, state)

    async def units(self, trial: Entries, **query: str) -> Entries:
        """Return the units in flight as a page lists them: the overdue ones first, those next due before others."""
        found = await self.ask("GET", f"/trials/{trial['name']}/units", query=urlencode(query))
        units = sorted(found["units"], key=lambda each: (not each["overdue"], each["due"] or "9"))
        return {"units": units[:MOST_LISTED], "more": max(0, len(units) - MOST_LISTED), "total": len(units)}

    async def form(self) -> Fields:
        """Return the fields of a form that was made for this login."""
        fields = await read_form(self.request.receive)
        require_own(fields, form_token(self.login))
        return fields

    def show(self, template: str, *, status: int = 200, trial: Entries | None = None, **content: Any) -> Response:
        """Return a page."""
        base = "" if trial is None else address(trial["name"])
        tabs = [(base + path, name) for path, name, endpoint in TABS if self.may(endpoint)] if trial else []
        shared = {
            "holder": self.holder,
            "token": form_token(self.login),
            "tabs": tabs,
            "here": self.request.url.path,
            "base": base,
            "trial": trial,
            "may": self.may,
            "follows": trial is not None and self.may("read_head"),
        }
        return rendered(self.dashboard, template, status, **shared, **content)


def rendered(dashboard: Dashboard, template: str, status: int = 200, **content: Any) -> Response:
    """Return a template filled in."""
    trial, simulated = content.get("trial"), bool(dashboard.guests)
    banner = banner_of(trial["phase"], simulated=simulated) if trial else SIMULATED if simulated else None
    text = environment().get_template(template).render(banner=banner, **content)
    return HTMLResponse(text.encode(errors="replace"), status)


def address(trial: str, path: str = "", **query: str) -> str:
    """Return the address of a page of a trial.

    Examples
    --------
    >>> address("pilot", "/unit", id="a/b")
    '/ui/trials/pilot/unit?id=a%2Fb'
    """
    return f"/ui/trials/{part(trial)}{path}" + (f"?{urlencode(query, errors='surrogatepass')}" if query else "")


def home(role: Role, trial: str) -> str:
    """Return the address of the page of a trial where a role begins."""
    return address(trial, HOME.get(role, ""))


def go_to(place: str) -> Response:
    """Send a browser to another page, which it gets."""
    return RedirectResponse(place, 303)


def with_cookie(
    dashboard: Dashboard, response: Response, name: str, value: str, max_age: int | None = None
) -> Response:
    """Set a cookie that no script and no other site gets; an age of 0 takes it away."""
    response.set_cookie(name, value, max_age, path="/", secure=dashboard.secure, httponly=True, samesite="strict")
    return response


# -- the line at the top -----------------------------------------------------------------------------------------


class Banner(NamedTuple):
    """A phase, its word in capitals, and what it means for whoever reads it."""

    phase: str
    word: str
    text: str


SIMULATED = Banner("rehearsal", "REHEARSAL", "Simulated patients, simulated time. Nobody is treated.")
BANNERS = {
    each.phase: each
    for each in (
        Banner("rehearsal", "REHEARSAL", "Nothing here teaches the live trial. It begins when the trial is locked."),
        Banner("live", "LIVE", "Real patients. What is recorded here stays on record."),
        Banner("ended", "ENDED", "No more arms are given. Late outcomes are still recorded."),
    )
}


def banner_of(phase: str, *, simulated: bool) -> Banner:
    """Return the banner of a phase. Where patients are simulated, everything is a rehearsal.

    Examples
    --------
    >>> banner_of("live", simulated=False).word, banner_of("live", simulated=True).word
    ('LIVE', 'REHEARSAL')
    """
    return SIMULATED if simulated else BANNERS[phase]
