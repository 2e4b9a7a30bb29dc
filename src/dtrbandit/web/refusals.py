"""Forms that were refused: what is told, and what becomes of what was typed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from starlette.responses import Response

from dtrbandit.errors import OtherLog
from dtrbandit.service.problems import refusal as refusal_of
from dtrbandit.web.forms import COLUMN, EXCLUDE, LOG, ONCE, Fields, new_once
from dtrbandit.web.internal_client import Declined, Entries
from dtrbandit.web.page import Page

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
SENT = {  # what a form is told that the browser has kept, and that holds something else by now
    "title": "This form was sent before, with other values",
    "detail": "What was sent then is on record. What stands here is not",
    "remedy": "If it is meant, send it now.",
}


def told(refusal: Refusal, offered: Mapping[str, str], trial: Entries) -> Entries:
    """Return what is told of a refused form: at the form, or above all if the unit has gone on without it."""
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
    """Refuse a form of another log before what is wrong with its fields is told."""
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
