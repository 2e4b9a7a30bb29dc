"""Pages for those who treat: enrol a unit, its story, and the forms for what comes next."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, NamedTuple

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from dtrbandit.record.events import Assigned, Completed, Enrolled, Responded, Voided, Withdrawn
from dtrbandit.trial import UnitStory
from dtrbandit.trial.state import LOGS
from dtrbandit.trial.units import describe
from dtrbandit.web.forms import EXCLUDE, LOG, ONCE, Fields, Typed, new_once
from dtrbandit.web.internal_client import Declined, Entries
from dtrbandit.web.page import Page, address, go_to
from dtrbandit.web.refusals import NO_LOG, NOTHING, OTHER_LOG, SENT, Refusal, require_log, show_other_log, told
from dtrbandit.web.templates import plain

MOST_LISTED = 200
BodyOf = Callable[[Entries, Fields, Typed], Entries]


class Next(NamedTuple):
    """What a unit awaits: the number of a stage, the outcome (None), or nothing at all."""

    stage: int | None
    over: bool


def next_of(story: UnitStory, stages: int) -> Next:
    """Return what comes next for a unit, by its records."""
    events = [record.event for record in story.records]
    if any(isinstance(event, Completed | Withdrawn | Voided) for event in events):
        return Next(None, True)
    arrivals = sum(isinstance(event, Enrolled | Responded) for event in events)
    left = arrivals > sum(isinstance(event, Assigned) for event in events)
    return Next(None if left or arrivals == stages else arrivals, False)


# -- pages -------------------------------------------------------------------------------------------------------


async def show_bedside(request: Request) -> Response:
    """Show the form to enrol, and who is in flight."""
    return await _bedside(Page(request), NOTHING)


async def _bedside(page: Page, refusal: Refusal) -> Response:
    trial = await page.trial("enroll_unit")
    units = (await page.ask("GET", f"/trials/{trial['name']}/units"))["units"]
    units.sort(key=lambda each: (not each["overdue"], each["due"] or "9"))
    return page.show(
        "bedside.html",
        status=refusal.status,
        trial=trial,
        units=units[:MOST_LISTED],
        more=max(0, len(units) - MOST_LISTED),
        sites=_sites(page, trial["name"]),
        refusal=refusal,
    )


def _sites(page: Page, trial: str) -> list[str]:
    """Return the sites that have keys of a trial, for those who may enrol for any of them."""
    rows = page.dashboard.service.keys.rows() if page.may("list_keys") else ()
    return sorted({row.site for row in rows if row.trial == trial and row.site is not None})


async def show_unit(request: Request) -> Response:
    """Show a unit: its arms, its story to those who may see it, and the form for what comes next."""
    page = Page(request)
    return await _unit(page, request.query_params.get("id", ""), NOTHING)


async def _unit(page: Page, unit: str, refusal: Refusal) -> Response:
    trial = await page.trial("show_unit")
    seen = await page.ask("GET", f"/trials/{trial['name']}/units/{unit}")
    opened = await page.dashboard.service.trial(trial["name"])
    story = await asyncio.to_thread(opened.unit, unit)
    coming, latest = next_of(story, len(trial["stages"])), trial["stages"][len(seen["arms"]) - 1]
    stage = None if coming.stage is None else trial["stages"][coming.stage]
    records = story.records if page.may("read_log") else ()
    decisions = story.decisions if page.may("explain_decisions") else ()
    return page.show(
        "unit.html",
        status=refusal.status,
        trial=trial,
        unit=seen,
        coming=coming,
        stage=stage,
        latest=latest,
        records=[(record, describe(record.event)) for record in records],
        decisions=[each._replace(unit=plain(unit)) for each in decisions],
        done=page.request.query_params.get("done"),
        **told(refusal, _offered(coming, stage, latest), trial),
    )


def _offered(coming: Next, stage: Entries | None, latest: Entries) -> dict[str, str]:
    """Return the forms on the page of a unit, and for which stage: another one has been overtaken by others."""
    if coming.over:
        return {}
    following = {"outcome": ""} if stage is None else {"respond": stage["name"]}
    return {**following, "override": latest["name"], "withdraw": ""}


# -- forms -------------------------------------------------------------------------------------------------------


async def enrol(request: Request) -> Response:
    """Enrol a unit; its page then shows the arm."""
    page = Page(request)
    fields = await page.form()
    trial, typed = await page.trial("enroll_unit"), Typed(fields)
    body: Entries = {"unit": typed.text("unit", "the unit's id")}
    body["context"] = typed.context(trial["stages"][0]["columns"])
    if page.holder.site is None and fields.get("site", "").strip():
        body["site"] = fields["site"].strip()
    body |= _excluded(trial, fields, typed)
    try:
        await _post(page, typed, f"/trials/{trial['name']}/units", body, fields)
    except Declined as error:
        if error.kind == OTHER_LOG:
            return await show_other_log(page, fields, error)
        return await _bedside(page, Refusal("enrol", fields, typed.wrong, error.document, error.status))
    return go_to(address(trial["name"], "/unit", id=body["unit"], done="enrolled"))


def _excluded(trial: Entries, fields: Fields, typed: Typed) -> Entries:
    """Return the arms that are contraindicated, with the reason."""
    exclude: dict[str, list[str]] = {}
    for m, stage in enumerate(trial["stages"]):
        arms = [arm for a, arm in enumerate(stage["arms"]) if f"{EXCLUDE}{m}.{a}" in fields]
        if arms:
            exclude[stage["name"]] = arms
    return {"exclude": exclude, "reason": typed.text("reason", "the reason")} if exclude else {}


async def respond(request: Request) -> Response:
    """Record what was observed on arrival at the next stage."""

    def body(trial: Entries, fields: Fields, typed: Typed) -> Entries:
        stage = next((each for each in trial["stages"] if each["name"] == fields.get("stage")), None)
        columns = [] if stage is None else stage["columns"]
        return {"context": typed.context(columns, some=True), "stage": fields.get("stage", "")}

    return await _about_unit(request, "respond", "record_response", "responses", body)


async def give_outcome(request: Request) -> Response:
    """Record an outcome."""

    def body(_: Entries, __: Fields, typed: Typed) -> Entries:
        return {"outcome": typed.number("outcome")}

    return await _about_unit(request, "outcome", "record_outcome", "outcome", body)


async def withdraw(request: Request) -> Response:
    """Record that a unit is lost."""

    def body(_: Entries, __: Fields, typed: Typed) -> Entries:
        return {"reason": typed.text("reason", "the reason")}

    return await _about_unit(request, "withdraw", "withdraw_unit", "withdrawal", body)


async def override(request: Request) -> Response:
    """Record that another arm was really given."""

    def body(_: Entries, __: Fields, typed: Typed) -> Entries:
        wanted = {"arm": "the arm", "reason": "the reason", "stage": "the stage"}
        return {name: typed.text(name, what) for name, what in wanted.items()}

    return await _about_unit(request, "override", "override_arm", "override", body)


async def _about_unit(request: Request, form: str, endpoint: str, what: str, body: BodyOf) -> Response:
    page = Page(request)
    fields = await page.form()
    trial, typed = await page.trial(endpoint), Typed(fields)
    unit = fields.get("unit", "")
    try:
        await _post(page, typed, f"/trials/{trial['name']}/units/{unit}/{what}", body(trial, fields, typed), fields)
    except Declined as error:
        if error.kind == OTHER_LOG:
            return await show_other_log(page, fields, error)
        return await _unit(page, unit, Refusal(form, fields, typed.wrong, error.document, error.status))
    return go_to(address(trial["name"], "/unit", id=unit, done=form))


async def _post(page: Page, typed: Typed, path: str, body: Entries, fields: Fields) -> None:
    """Send what a form says to the service, under the key of the form and for the log that it was made for.

    Declined without it if something is wrong.
    """
    log = fields.get(LOG)
    if log not in LOGS:
        raise Declined(409, NO_LOG)
    if typed.wrong:
        await require_log(page, log)
        raise Declined(422, {})
    once = fields.get(ONCE) or new_once()
    try:
        await page.ask("POST", path, body=body, once=once, log=log)
    except Declined as error:
        raise Declined(error.status, SENT) if repr(once) in str(error) else error from None


def _form(path: str, endpoint: Any) -> Route:
    return Route(f"/ui/trials/{{trial}}/{path}", endpoint, methods=["POST"])


routes = [
    Route("/ui/trials/{trial}/bedside", show_bedside),
    Route("/ui/trials/{trial}/unit", show_unit),
    _form("enrol", enrol),
    _form("respond", respond),
    _form("outcome", give_outcome),
    _form("withdraw", withdraw),
    _form("override", override),
]
