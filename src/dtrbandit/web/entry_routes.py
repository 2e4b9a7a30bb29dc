"""Coming and going: login, logout, the list of trials, and the two files that pages load."""

from __future__ import annotations

import re
import secrets

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from dtrbandit.service.endpoints import PERMISSIONS
from dtrbandit.service.problems import Refused
from dtrbandit.web.forms import read_form, require_own
from dtrbandit.web.internal_client import Declined, Entries
from dtrbandit.web.logins import HOURS, form_token
from dtrbandit.web.page import Dashboard, Page, go_to, home, rendered, with_cookie
from dtrbandit.web.templates import STATIC, static

VISITOR = "dtrbandit-form"  # the cookie that the login form must match
_OWN = re.compile(r"[A-Za-z0-9_-]{32}")  # nothing else is sent back to a browser


async def begin(request: Request) -> Response:
    """Send whoever is logged in to where their role begins: with one trial, straight to its page."""
    page = Page(request)
    names = (await page.ask("GET", "/trials"))["trials"]
    return go_to(home(page.holder.role, names[0]) if len(names) == 1 else "/ui/trials")


async def show_trials(request: Request) -> Response:
    """List the trials, each with the page where the role begins."""
    page = Page(request)
    names = (await page.ask("GET", "/trials"))["trials"]
    trials = [(await _seen(page, name), home(page.holder.role, name)) for name in names]
    return page.show("trials.html", trials=trials)


async def _seen(page: Page, name: str) -> Entries:
    """Return a trial as everybody may know it; of one that cannot be opened, what is wrong: the others are in order."""
    try:
        return await page.ask("GET", f"/trials/{name}")
    except Declined as error:
        return {"name": name, "phase": "unavailable", "stages": [], "problem": error.document}


async def show_login(request: Request) -> Response:
    """Show the form that exchanges a key for a login."""
    return _login_form(request, None)


def _login_form(request: Request, wrong: Refused | None) -> Response:
    dashboard: Dashboard = request.scope["dashboard"]
    known = request.cookies.get(VISITOR, "")
    visitor = known if _OWN.fullmatch(known) else secrets.token_urlsafe(24)
    response = rendered(
        dashboard,
        "login.html",
        200 if wrong is None else wrong.status,
        token=form_token(visitor),
        wrong=None if wrong is None else wrong.document(),
        guests=dashboard.guests,
    )
    return with_cookie(dashboard, response, VISITOR, visitor)


async def log_in(request: Request) -> Response:
    """Exchange a key for a login."""
    dashboard: Dashboard = request.scope["dashboard"]
    fields = await read_form(request.receive)
    require_own(fields, form_token(request.cookies[VISITOR]) if VISITOR in request.cookies else secrets.token_hex())
    try:
        holder = dashboard.service.holder(f"Bearer {fields.get('key', '').strip()}", request.scope)
        holder.require(PERMISSIONS["list_trials"], None)
    except Refused as error:
        return _login_form(request, error)
    return with_cookie(dashboard, go_to("/ui/"), dashboard.cookie, dashboard.logins.begin(holder.id), HOURS * 3600)


async def log_out(request: Request) -> Response:
    """End a login."""
    page = Page(request)
    await page.form()
    page.dashboard.logins.end(page.login)
    return with_cookie(page.dashboard, go_to("/ui/login"), page.dashboard.cookie, "", max_age=0)


async def show_file(request: Request) -> Response:
    """Return the style sheet or the script."""
    name = request.path_params["name"]
    if name not in STATIC:
        raise Refused("not-found", "there is no such file")
    return Response(static(name), media_type=STATIC[name])


async def go_in(_: Request) -> Response:
    """Lead from the address of the service to its pages."""
    return go_to("/ui/")


routes = [
    Route("/", go_in),
    Route("/ui", go_in),
    Route("/ui/", begin),
    Route("/ui/login", show_login),
    Route("/ui/login", log_in, methods=["POST"]),
    Route("/ui/logout", log_out, methods=["POST"]),
    Route("/ui/trials", show_trials),
    Route("/ui/static/{name}", show_file),
]
