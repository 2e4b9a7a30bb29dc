"""One call of an endpoint: who makes it, what its address, headers and body say, and how it is answered.

A body is strict JSON: what two readers cannot read differently, and what every record can hold.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from typing import Any, TypeVar

from pydantic import ValidationError
from starlette.datastructures import QueryParams
from starlette.responses import Response
from starlette.types import Receive, Scope

from dtrbandit.design.values import shown
from dtrbandit.record import Command, Decision, Unblind
from dtrbandit.service.http import read_body
from dtrbandit.service.keys import EXPLAIN, Holder, Permission
from dtrbandit.service.models import Body, Explain, Query, decision_explained, may_be_left_out
from dtrbandit.service.problems import Refused
from dtrbandit.service.service import Service
from dtrbandit.trial import Ask, Taken, Trial
from dtrbandit.trial.state import LOGS

LOG_HEADER = b"dtrbandit-log"  # the log that a request is meant for
LONGEST_KEY = 200
MEDIA_TYPE, LINES = "application/json", "application/x-ndjson"
DEEPEST = 16  # a design is four deep
LARGEST_INTEGER = 2**53  # above, a float cannot tell an integer from its neighbour
_TEXTS = re.compile(rb'"(?:[^"\\]|\\.)*"', re.DOTALL)
as_json = json.JSONEncoder(separators=(",", ":"), allow_nan=False).encode

SomeBody = TypeVar("SomeBody", bound=Body)
SomeQuery = TypeVar("SomeQuery", bound=Query)
Found = TypeVar("Found")


class Call:
    """A request by somebody who may make it; Refused if they may not. Without a permission, everybody may."""

    def __init__(self, scope: Scope, receive: Receive, permission: Permission | None) -> None:
        self.scope, self._receive = scope, receive
        self.service: Service = scope["service"]
        self.path: dict[str, str] = scope["path_params"]
        self._headers: dict[bytes, bytes] = dict(scope["headers"])  # those that count come once (service/http.py)
        if permission is not None:
            self.holder: Holder = self._holder()
            self.holder.require(permission, self.path.get("trial"))
            scope["holder"] = self.holder

    def _holder(self) -> Holder:
        if "key_id" in self.scope:  # a page of this process asks, for whoever is logged in
            return self.service.keys.holder_of(self.scope["key_id"], now=datetime.now(UTC))
        return self.service.holder(self.header(b"authorization"), self.scope)

    # -- what it says ----------------------------------------------------------------------------------------

    def header(self, name: bytes) -> str | None:
        """Return a header; None if it is not there."""
        value = self._headers.get(name)
        return None if value is None else value.decode("latin-1")

    def parameters(self, kind: type[SomeQuery] | None) -> SomeQuery | None:
        """Return the parameters after the question mark; refuse others, and two of one name."""
        pairs = QueryParams(self.scope["query_string"]).multi_items()
        known = () if kind is None else tuple(kind.model_fields)
        names = [name for name, _ in pairs]
        for name in names:
            if name not in known:
                raise Refused("parameters", f"the address has the parameter {shown(name)}; {_allowed(known)}")
            if names.count(name) > 1:
                raise Refused("parameters", f"the address has the parameter {shown(name)} {names.count(name)} times")
        try:
            return None if kind is None else kind.model_validate(dict(pairs))
        except ValidationError as error:
            wrong = [f"query.{each['loc'][0]}: {each['msg']}, found {shown(each['input'])}" for each in error.errors()]
            raise Refused("parameters", "; ".join(wrong)) from None

    async def body(self, kind: type[SomeBody]) -> SomeBody:
        """Return what the body says. It may be left out where all its entries may."""
        content = await read_body(self._receive)
        if not content and may_be_left_out(kind):
            return kind()
        require_json(self.header(b"content-type"))
        return body_as(kind, content)

    async def command(self, kind: type[Command], body: type[Body]) -> Command:
        """Return the command that address and body stand for. A site's own key says which site it is."""
        entries = dict(await self.body(body))
        if "unit" in self.path:
            entries["unit"] = self.path["unit"]
        elif set(entries.get("unit", "-")) <= {"."}:
            wrong = "dots alone are no id, since an address cannot hold them; use another id"
            raise Refused("content", f"unit: {wrong}, found {shown(entries['unit'])}")
        if "site" in entries:
            entries["site"] = entries["site"] or self.holder.site
        return kind(**entries)

    async def require_no_body(self) -> None:
        """Refuse a body that nobody would read; an empty object asks for nothing."""
        headers = self._headers
        if headers.get(b"content-length", b"0") == b"0" and b"transfer-encoding" not in headers:
            return
        if (await read_body(self._receive)).strip() not in (b"", b"{}"):
            remedy = "Leave the body out; /openapi.json says what this address takes. Nothing was changed."
            raise Refused("bad-request", "the request has a body, and this address takes none", remedy=remedy)

    def require_no_log(self) -> None:
        """Refuse the name of a log where no log of a trial is written."""
        if "trial" not in self.path and self.scope["method"] == "POST" and LOG_HEADER in self._headers:
            remedy = "Leave the header out; it is for requests about a trial that is there. Nothing was changed."
            raise Refused(
                "bad-request", "the request has Dtrbandit-Log, and it writes to no log of a trial", remedy=remedy
            )

    def idempotency_key(self) -> str | None:
        """Return the key under which the request may be repeated; None without one."""
        key = self.header(b"idempotency-key")
        if key is not None and not (0 < len(key) <= LONGEST_KEY and key.isascii() and key.isprintable()):
            raise Refused("bad-request", f"Idempotency-Key must be 1 to {LONGEST_KEY} printable ASCII characters")
        return key

    def log(self) -> str | None:
        """Return the log that the request is meant for; None if it does not say."""
        log = self.header(LOG_HEADER)
        if log is not None and log not in LOGS:
            raise Refused("bad-request", f"Dtrbandit-Log must be {' or '.join(LOGS)}, found {shown(log)}")
        return log

    async def trial(self) -> Trial:
        """Return the trial of the address."""
        return await self.service.trial(self.path["trial"])

    async def take(self, command: Command) -> Taken:
        """Let the trial take a command, and return what it replied once that is committed."""
        trial, holder = await self.trial(), self.holder
        # each unblinding is a record of its own: a repetition may show what has happened since
        key = None if isinstance(command, Unblind) else self.idempotency_key()
        ask = Ask(command, holder.actor, key, holder.id, holder.site, self.log())
        taken: Taken = await self.service.writer.ask(trial, ask)
        return taken

    async def reading(self, read: Callable[[Trial], Found]) -> Found:
        """Return what a function reads of the trial of the address, which decisions do not wait for."""
        return await self.service.reading(self.path["trial"], read)


def _allowed(known: tuple[str, ...]) -> str:
    return f"it may have {', '.join(known)}" if known else "it may have none"


# -- replies -----------------------------------------------------------------------------------------------------


def replied(entries: object, repeated: bool = False) -> Response:
    """Return a reply in JSON; a header says if it repeats one that is on record."""
    body = as_json(entries).encode()
    return Response(body, media_type=MEDIA_TYPE, headers={"Repeated": "true"} if repeated else None)


async def reply_arm(call: Call, query: Explain, command: Any) -> Response:
    """The reply is the arm to give, or that the unit left early."""  # noqa: D401  # a part of what OpenAPI says
    if query.explain:
        EXPLAIN.require(call.holder.role)
    taken = await call.take(command)
    if taken.decision is None:
        return replied({"unit": command.unit, "left": True}, taken.repeated)
    entries = decision_seen(taken.decision)
    if query.explain:
        entries["decision"] = decision_explained(taken.decision)
    return replied(entries, taken.repeated)


def recorded_as(what: str) -> Callable[[Call, Any], Awaitable[Response]]:
    """Return a handler that replies that something is on record, by its name."""

    async def reply(call: Call, command: Any) -> Response:
        return await recorded(call, command, what)

    return reply


async def recorded(call: Call, command: Any, what: str, **more: object) -> Response:
    """Reply that something is on record, and what else there is to say."""
    taken = await call.take(command)
    about = {"unit": command.unit} if hasattr(command, "unit") else {"trial": call.path["trial"]}
    return replied({**about, "recorded": what, **more}, taken.repeated)


def decision_seen(decision: Decision) -> dict[str, object]:
    """Return what a site needs of a decision: which arm.

    Examples
    --------
    >>> decision_seen(Decision("u1", 7, "first", "ssri", "close", 1.0, {}, {}, ("ssri",)))
    {'unit': 'u1', 'stage': 'first', 'arm': 'ssri'}
    """
    return {"unit": decision.unit, "stage": decision.stage, "arm": decision.arm}


# -- bodies --------------------------------------------------------------------------------------------------------


def require_json(content_type: str | None) -> None:
    """Refuse a body that says it is something else than JSON. One that says nothing is read as JSON.

    Examples
    --------
    >>> require_json("application/json; charset=utf-8")
    """
    if content_type is None or content_type == MEDIA_TYPE:
        return
    kind, *parameters = (part.strip().lower() for part in content_type.split(";"))
    if kind == MEDIA_TYPE and all(each in ("", "charset=utf-8", 'charset="utf-8"') for each in parameters):
        return
    raise Refused("media-type", f"Content-Type is {shown(content_type)}, and a body is {MEDIA_TYPE}, in UTF-8")


def body_as(kind: type[SomeBody], body: bytes) -> SomeBody:
    """Return a body as what it should be, or refuse it with everything that is wrong.

    Examples
    --------
    >>> from dtrbandit.service.models import Rotation
    >>> body_as(Rotation, b'{"overlap": 8.5}')
    Rotation(overlap=8.5)
    """
    try:
        return kind.model_validate(strict_json(body))
    except NotStrict as error:
        raise Refused("bad-request", str(error)) from None
    except ValidationError as error:
        raise Refused("content", "; ".join(_wrong(each) for each in error.errors(include_url=False)[:10])) from None


def _wrong(error: Any) -> str:
    place = ".".join(str(part)[:100] for part in error["loc"]) or "the body"
    if error["type"] == "missing":
        return f"{place} is missing"
    if error["type"] == "extra_forbidden":
        return f"{place} is not an entry of this body"
    return f"{place}: {error['msg']}, found {shown(error['input'])}"


class NotStrict(ValueError):  # noqa: N818  # what it is, not that it is one
    """A body is no JSON that can be taken; the message says what was found and what is allowed."""


def strict_json(body: bytes) -> object:
    """Return what a body says.

    Refused are bytes that are no UTF-8, a byte order mark, NaN and Infinity, numbers beyond the floats, numbers so
    small that they would be read as 0, integers beyond 2**53, a key twice in an object, half of a surrogate pair, and
    more than 16 levels.

    Examples
    --------
    >>> strict_json(b'{"x": 1.5}')
    {'x': 1.5}
    """
    if body.startswith(b"\xef\xbb\xbf"):
        raise NotStrict("the body begins with a byte order mark; send UTF-8 without one")
    try:
        text = body.decode("utf-8")
    except UnicodeDecodeError as error:
        raise NotStrict(f"the body is not valid UTF-8 ({error.reason} at byte {error.start})") from None
    _check_depth(body)
    try:
        value: object = _DECODER.decode(text)
    except json.JSONDecodeError as error:
        raise NotStrict(f"the body is not JSON: {error.msg} at line {error.lineno}, column {error.colno}") from None
    if "\\u" in text:
        _check_texts(value)
    return value


def _check_depth(body: bytes) -> None:
    """Refuse deep nesting before a parser that works by recursion sees it."""
    if body.count(b"{") + body.count(b"[") <= DEEPEST:
        return
    depth = 0
    for mark in _TEXTS.sub(b"", body):
        if mark in b"{[":
            depth += 1
            if depth > DEEPEST:
                raise NotStrict(f"the body is nested more than {DEEPEST} levels deep")
        elif mark in b"}]":
            depth -= 1


def _object(pairs: list[tuple[str, object]]) -> dict[str, object]:
    entries = dict(pairs)
    if len(entries) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise NotStrict(f"an object has the key {shown(twice)} twice; say each once")
    return entries


def _constant(name: str) -> object:
    raise NotStrict(f"found {name}, which JSON does not know; numbers are finite")


def _integer(digits: str) -> int:
    if len(digits) > 17 or abs(int(digits)) > LARGEST_INTEGER:
        raise NotStrict(f"found the integer {digits[:40]}; integers go up to 2**53, others are written as 1.5e20")
    return int(digits)


def strict_float(digits: str) -> float:
    """Return the number that digits stand for. Refuse one beyond the floats, and one so small that it would be 0.

    Examples
    --------
    >>> strict_float("1.5e2")
    150.0
    """
    number = float(digits)
    if math.isinf(number):
        raise NotStrict(f"found the number {digits[:40]}, which is beyond what a float can hold")
    if not number and digits.lower().partition("e")[0].strip("+-0."):
        raise NotStrict(f"found the number {digits[:40]}, which is so small that it would be read as 0; send 0")
    return number


_DECODER = json.JSONDecoder(
    object_pairs_hook=_object, parse_constant=_constant, parse_int=_integer, parse_float=strict_float
)


def _check_texts(value: object) -> None:
    """Refuse half of a surrogate pair: no text in UTF-8 can hold it."""
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        raise NotStrict("a text has half of a surrogate pair (\\ud800 to \\udfff), which is no character") from None
