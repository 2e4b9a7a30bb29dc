"""Pages for those who treat: enrol a unit, what happened to it, the forms for what comes next, and refused forms."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import NamedTuple

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from dtrbandit.errors import OtherLog
from dtrbandit.record.events import Assigned, Completed, Enrolled, Responded, Voided, Withdrawn
from dtrbandit.service.endpoints import ENDPOINTS
from dtrbandit.service.problems import refusal as refusal_of
from dtrbandit.trial import UnitStory
from dtrbandit.trial.state import LOGS
from dtrbandit.trial.units import describe
from dtrbandit.web.forms import COLUMN, EXCLUDE, LOG, ONCE, Fields, Typed, new_once
from dtrbandit.web.internal_client import Declined, Entries
from dtrbandit.web.page import Page, address, go_to
from dtrbandit.web.templates import plain

BodyOf = Callable[[Entries, Fields, Typed], Entries]
OTHER_LOG = "other-log"
OF_REHEARSAL = "This form was opened in the rehearsal"
NO_LOG = {
    "type": f"urn:dtrbandit:problem:{OTHER_LOG}",
    "detail": "the form does not say whether it was made in the rehearsal or in the live trial; nothing was recorded",
}


class Refusal(NamedTuple):
    """A form that was refused: what was typed, what is wrong at which field, and what the service says."""

    form: str
    fields: Fields
    wrong: Mapping[str, str]
    document: Entries | None
    status: int

    def once(self, form: str) -> str:
        """Return the key under which a form may act once: after a refusal the same as before."""
        return (self.fields.get(ONCE) if form == self.form and self.document is not SENT else None) or new_once()

    def log(self, form: str, now: str) -> str:
        """Return the log that a form is made for: after a refusal the same as before, whatever is written now."""
        return self.fields.get(LOG, now) if form == self.form else now


NOTHING = Refusal("", {}, {}, None, 200)
SENT = {  # the refusal of a form that the browser has kept, and that holds something else by now
    "title": "This form was sent before, with other values",
    "detail": "What was sent then is on record. What stands here is not",
    "remedy": "If it is meant, send it now.",
}


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
    return page.show(
        "bedside.html",
        status=refusal.status,
        trial=trial,
        **await page.units(trial),
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
        **placed(refusal, _offered(coming, stage, latest), trial),
    )


def _offered(coming: Next, stage: Entries | None, latest: Entries) -> dict[str, str]:
    """Return the forms on the page of a unit, and for which stage: another one has been overtaken by others."""
    if coming.over:
        return {}
    following = {"outcome": ""} if stage is None else {"respond": stage["name"]}
    return {**following, "override": latest["name"], "withdraw": ""}


# -- forms -------------------------------------------------------------------------------------------------------


class Form(NamedTuple):
    """A form: how it is called, the endpoint that it asks, and the body that it makes of a trial and its fields."""

    name: str
    endpoint: str
    body: BodyOf


def _enrolment(trial: Entries, fields: Fields, typed: Typed) -> Entries:
    body: Entries = {"unit": typed.text("unit", "the unit's id")}
    body["context"] = typed.context(trial["stages"][0]["columns"])
    site = fields.get("site", "").strip()
    return body | ({"site": site} if site else {}) | _excluded(trial, fields, typed)


def _excluded(trial: Entries, fields: Fields, typed: Typed) -> Entries:
    """Return the arms that are contraindicated, with the reason."""
    exclude: dict[str, list[str]] = {}
    for m, stage in enumerate(trial["stages"]):
        arms = [arm for a, arm in enumerate(stage["arms"]) if f"{EXCLUDE}{m}.{a}" in fields]
        if arms:
            exclude[stage["name"]] = arms
    return {"exclude": exclude, "reason": typed.text("reason", "the reason")} if exclude else {}


def _response(trial: Entries, fields: Fields, typed: Typed) -> Entries:
    stage = next((each for each in trial["stages"] if each["name"] == fields.get("stage")), None)
    columns = [] if stage is None else stage["columns"]
    return {"context": typed.context(columns, some=True), "stage": fields.get("stage", "")}


def _outcome(_: Entries, __: Fields, typed: Typed) -> Entries:
    return {"outcome": typed.number("outcome")}


def _texts(*names: str) -> BodyOf:
    """Return what makes a body of texts that must be there."""
    return lambda _, __, typed: {name: typed.text(name, f"the {name}") for name in names}


FORMS = (
    Form("enrol", "enroll_unit", _enrolment),
    Form("respond", "record_response", _response),
    Form("outcome", "record_outcome", _outcome),
    Form("withdraw", "withdraw_unit", _texts("reason")),
    Form("override", "override_arm", _texts("arm", "reason", "stage")),
)
ADDRESSES = {each.name: each.path.replace(":path", "") for each in ENDPOINTS}


def _sending(form: Form) -> Callable[[Request], Awaitable[Response]]:
    """Return what sends a form to its endpoint: the page of the unit then shows what is on record."""

    async def send(request: Request) -> Response:
        page = Page(request)
        fields = await page.form()
        trial, typed = await page.trial(form.endpoint), Typed(fields)
        body, unit = form.body(trial, fields, typed), fields.get("unit", "")
        if page.holder.site is not None:
            body.pop("site", None)  # a site enrols for itself, whatever its form says
        try:
            await _post(page, typed, ADDRESSES[form.endpoint].format(trial=trial["name"], unit=unit), body, fields)
        except Declined as error:
            if error.kind == OTHER_LOG:
                return await show_other_log(page, fields, error)
            refusal = Refusal(form.name, fields, typed.wrong, error.document, error.status)
            return await (_bedside(page, refusal) if form.name == "enrol" else _unit(page, unit, refusal))
        done = "enrolled" if form.name == "enrol" else form.name
        return go_to(address(trial["name"], "/unit", id=body.get("unit", unit), done=done))

    return send


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


# -- forms that were refused -------------------------------------------------------------------------------------


def placed(refusal: Refusal, offered: Mapping[str, str], trial: Entries) -> Entries:
    """Return what a page shows of a refused form: at the form, or above all if the unit has gone on without it."""
    if refusal.form == "" or offered.get(refusal.form) == refusal.fields.get("stage", ""):
        return {"refusal": refusal, "overtaken": None}
    typed = [pair for pair in typed_in(trial, refusal.fields) if pair[0] != "unit"]  # whose page this is
    return {"refusal": NOTHING, "overtaken": refusal.document or {}, "typed": typed}


def typed_in(trial: Entries, fields: Fields) -> list[tuple[str, str]]:
    """Return what somebody typed or ticked in a form, by what it is called there."""
    shown = {name: name for name in ("unit", "site", "outcome", "arm")}
    shown |= {COLUMN + name: name for stage in trial["stages"] for name in stage["columns"]}
    for m, stage in enumerate(trial["stages"]):
        shown |= {f"{EXCLUDE}{m}.{a}": f"never {arm} at {stage['name']}" for a, arm in enumerate(stage["arms"])}
    shown["reason"] = "reason"
    return [(label, fields[name]) for name, label in shown.items() if fields.get(name, "").strip()]


async def require_log(page: Page, log: str) -> None:
    """Refuse a form of another log before what is wrong with its fields is shown."""
    try:
        await page.dashboard.service.reading(page.request.path_params["trial"], lambda opened: opened.require_log(log))
    except OtherLog as error:
        refused = refusal_of(error)
        raise Declined(refused.status, refused.document()) from None


async def show_other_log(page: Page, fields: Fields, error: Declined) -> Response:
    """Say that a form belongs to another log than the one that is written, and what was typed into it."""
    trial = await page.trial()
    detail = str(error.document["detail"])
    problem = {
        "title": OF_REHEARSAL if fields.get(LOG) == "rehearsal" else "This form cannot be used",
        "detail": detail[0].upper() + detail[1:],
        "remedy": "If it is meant for the live trial, open the form anew and type it there."
        if trial["log"] == "live"
        else "Open the form anew and type it there.",
    }
    return page.show("other_log.html", status=error.status, trial=trial, problem=problem, typed=typed_in(trial, fields))


routes = [
    Route("/ui/trials/{trial}/bedside", show_bedside),
    Route("/ui/trials/{trial}/unit", show_unit),
    *(Route(f"/ui/trials/{{trial}}/{form.name}", _sending(form), methods=["POST"]) for form in FORMS),
]
