"""Refusals as problem documents (RFC 9457): what happened, what was found, what to do."""

from __future__ import annotations

import json
import logging
import time
from typing import NamedTuple

from dtrbandit.errors import (
    Conflict,
    DesignError,
    DTRError,
    LogError,
    NotAllowed,
    NotEstimable,
    NotFound,
    ObservationError,
    OtherLog,
    ProtocolError,
    Unavailable,
)

MEDIA_TYPE = "application/problem+json"
RETRY_SECONDS = 1
SECONDS_BETWEEN_LINES = 60.0  # of the same words in the server's log

log = logging.getLogger("dtrbandit.service")


class Kind(NamedTuple):
    """A kind of refusal: its HTTP status, what it is, and what to do about it."""

    status: int
    title: str
    remedy: str


KINDS = {
    "bad-request": Kind(400, "The request cannot be read", "Mend the request; nothing was changed."),
    "no-key": Kind(401, "No valid key", "Send Authorization: Bearer <key>, with a key that an administrator gave you."),
    "form": Kind(403, "The form is too old", "Open the page again and send the form from there; nothing was changed."),
    "forbidden": Kind(403, "Not for this key", "Ask somebody whose key opens it; docs/roles.md has the table."),
    "not-found": Kind(404, "There is no such thing", "Check the name; GET /trials and GET …/units list what there is."),
    "method": Kind(405, "Not this method", "The header Allow names the methods of this address."),
    "slow": Kind(408, "The request did not arrive in time", "Send the whole request at once."),
    "protocol": Kind(409, "This contradicts what is on record", "Look at the unit; corrections mend a recorded value."),
    "other-log": Kind(
        409, "The trial was locked, or is not locked yet", "Look at the trial; send it anew for the right log."
    ),
    "not-estimable": Kind(409, "Not enough data", "Wait for more units, or ask for less."),
    "too-large": Kind(413, "The body is too large", "Send at most 64 KB."),
    "media-type": Kind(415, "Not this kind of body", "Send JSON with Content-Type: application/json; curl: --json."),
    "headers": Kind(431, "The headers are too large", "Send fewer or shorter headers, at most 32 KB in all."),
    "observation": Kind(422, "A value cannot be recorded", "Mend the value; nothing was changed."),
    "design": Kind(422, "The design or the policy is not valid", "Mend the set-up; nothing was changed."),
    "content": Kind(422, "The body does not have the right content", "Mend the body; nothing was changed."),
    "parameters": Kind(422, "The address has a wrong parameter", "Mend the address; /openapi.json describes them all."),
    "wrong-keys": Kind(429, "Too many wrong keys", "Wait as long as Retry-After says, and send a key that is valid."),
    "internal": Kind(500, "The service failed", "Look up the unit before you repeat. The server's own log says more."),
    "unavailable": Kind(
        503,
        "No decision can be stored now",
        "No arm was given. Repeat the same request. If a patient cannot wait: decide by your paper procedure, "
        "and record it with override when the service is back.",
    ),
    "connections": Kind(503, "Too many connections", "Close those that you do not need; repeat when Retry-After says."),
    "stopping": Kind(503, "The service is stopping", "No arm was given. Repeat the same request in a moment."),
    "starting": Kind(
        503, "Not ready yet", "Wait until this answers 200. Trials that are read already decide meanwhile, only slower."
    ),
    "log": Kind(503, "The log cannot be continued", "Run dtrbandit trial verify and dtrbandit doctor on the server."),
}

OF_KEYS = {  # what to do, where a refusal is about an API key
    "protocol": "Look at the key: GET /keys lists them all. Nothing was changed.",
    "not-found": "Check the name; GET /keys lists the keys, GET /trials the trials.",
}

OF_ERRORS: dict[type[DTRError], str] = {
    NotFound: "not-found",
    NotAllowed: "forbidden",
    OtherLog: "other-log",
    ProtocolError: "protocol",
    Conflict: "unavailable",  # others wrote in between: the same request will do
    Unavailable: "unavailable",
    ObservationError: "observation",
    DesignError: "design",
    NotEstimable: "not-estimable",
    LogError: "log",
}


class Refused(Exception):  # noqa: N818  # what happened to the request
    """A request that gets a problem document in place of what it asked for."""

    def __init__(
        self,
        kind: str,
        detail: str,
        *,
        error: str | None = None,
        wait: int = RETRY_SECONDS,
        remedy: str | None = None,
    ) -> None:
        super().__init__(detail)
        self.kind, self.detail, self.error, self.wait = kind, detail, error, wait
        self.remedy = remedy or KINDS[kind].remedy

    @property
    def status(self) -> int:
        """The HTTP status."""
        return KINDS[self.kind].status

    @property
    def headers(self) -> dict[str, str]:
        """What is sent beside the document."""
        if self.status == 401:
            return {"WWW-Authenticate": "Bearer"}
        return {"Retry-After": str(self.wait)} if self.status in (429, 503) else {}

    def document(self) -> dict[str, object]:
        """Return the problem document.

        Examples
        --------
        >>> Refused("slow", "the body took longer than 10 s").document()["status"]
        408
        """
        kind = KINDS[self.kind]
        error = {} if self.error is None else {"error": self.error}
        return {
            "type": f"urn:dtrbandit:problem:{self.kind}",
            "title": kind.title,
            "status": kind.status,
            "detail": self.detail,
            "remedy": self.remedy,
            **error,
        }

    def body(self) -> bytes:
        """Return the document as JSON, in ASCII: whatever a message quotes can be written so."""
        return json.dumps(self.document(), separators=(",", ":")).encode("ascii")


BLIND = {  # what a site hears in place of an error that may tell numbers of records, or the policy
    "unavailable": "the service cannot store anything now; nothing was decided. The server's log says why",
    "log": "the log of this trial cannot be continued here; nothing was decided",
    "design": "the set-up of this trial failed; nothing was recorded",
    "not-estimable": "there is no such answer yet",
}


BUSY = "the service cannot take this now; nothing was decided. Try again in a moment"
LOGGED = "unavailable", "log", "design"  # of which the server's log has what the answer leaves out


class Busy(Unavailable):
    """The service itself cannot take this now. The message is for whoever asks, and names nothing of the server."""


def refusal(error: DTRError, *, blind: bool = False) -> Refused:
    """Return the refusal for an error of the package, which names the error's class for the client.

    ``blind``: for a site, which must not know numbers of records, reasons of the trial as a whole, or the policy.
    What a database says when it cannot be used names hosts and paths: that goes to the server's log, and to nobody.
    """
    for each in type(error).__mro__:
        if each in OF_ERRORS:
            kind, name = OF_ERRORS[each], each.__name__
            break
    else:
        kind, name = "unavailable", None
    return Refused(kind, _detail(error, kind, blind=blind), error=name, remedy=getattr(error, "remedy", None))


def _detail(error: DTRError, kind: str, *, blind: bool) -> str:
    """Return what an answer says of an error; if that is less than what is known, the server's log has the rest."""
    own = str(error)
    if isinstance(error, Busy):
        return BUSY if blind else own
    public = BLIND[kind] if kind == "unavailable" else error.outside if isinstance(error, LogError) else own
    if blind:
        public = getattr(error, "blind", BLIND.get(kind, public))
    if public != own and kind in LOGGED:
        _log_once_a_minute(own)
    return public


_logged: dict[str, float] = {}  # when something was last written to the server's log


def _log_once_a_minute(words: str) -> None:
    """Write to the server's log what an answer leaves out; the same words once a minute, however many requests."""
    now = time.monotonic()
    if now - _logged.get(words, -SECONDS_BETWEEN_LINES) >= SECONDS_BETWEEN_LINES:
        if len(_logged) >= 100:
            _logged.clear()
        _logged[words] = now
        log.error("a request was refused: %s", words)
