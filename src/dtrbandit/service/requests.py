"""What every endpoint does with a request: who asks, what the body says, and the reply."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from fastapi import Request, Response

from dtrbandit.design.values import shown
from dtrbandit.record import Command, Unblind
from dtrbandit.service.body import read_body
from dtrbandit.service.headers import require_json
from dtrbandit.service.keys import Holder
from dtrbandit.service.models import Body, Problem, Reply, Wanted, body_as
from dtrbandit.service.parameters import LOG_HEADER
from dtrbandit.service.problems import MEDIA_TYPE, Refused
from dtrbandit.service.roles import Role, require
from dtrbandit.service.service import Service
from dtrbandit.service.views import decision_explained, decision_seen
from dtrbandit.service.wrong_keys import address_of, names_a_key
from dtrbandit.trial import Ask, Taken, Trial
from dtrbandit.trial.state import LOGS

LONGEST_KEY = 200
_ENCODER = json.JSONEncoder(separators=(",", ":"), allow_nan=False)


class Visit:
    """One request, by somebody who may make it."""

    def __init__(self, request: Request, endpoint: str, trial: str | None = None) -> None:
        self.request = request
        self.service: Service = request.scope["service"]
        self.holder: Holder = self._holder(request.headers.get("authorization"), endpoint, trial)
        request.scope["holder"] = self.holder

    def _holder(self, authorization: str | None, endpoint: str, trial: str | None) -> Holder:
        if "key_id" in self.request.scope:  # a page of this process asks, for whoever is logged in
            return self.service.visitor(self.request.scope["key_id"], endpoint, trial)
        try:
            return self.service.holder(authorization, endpoint, trial)
        except Refused as refused:
            if refused.kind == "no-key" and names_a_key(authorization):
                self.service.wrong_keys.note(address_of(self.request.scope, behind_proxy=self.service.behind_proxy))
            raise

    async def body(self, kind: type[Wanted], *, empty: Wanted | None = None) -> Wanted:
        """Return what the body says; ``empty`` if there is none and it may be left out."""
        content = await read_body(self.request.receive)
        if empty is not None and not content:
            return empty
        require_json(self.request.headers.get("content-type"))
        return body_as(kind, content)

    async def trial(self, name: str) -> Trial:
        """Return the trial that is asked about."""
        return await self.service.trial(name)

    async def take(self, name: str, command: Command) -> Taken:
        """Let a trial take a command, and return what it replied once that is committed."""
        trial = await self.service.trial(name)
        holder, key = self.holder, self.idempotency_key()
        if isinstance(command, Unblind):
            key = None  # each look is a record of its own: a repetition may show what has happened since
        ask = Ask(command, holder.actor, key, holder.id, holder.site, self.log())
        taken: Taken = await self.service.writer.ask(trial, ask)
        return taken

    async def arm(self, name: str, command: Any, *, explain: bool) -> Response:
        """Reply with the arm that a command led to, or that the unit left."""
        if explain:
            require(self.holder.role, "explain_decisions")
        taken = await self.take(name, command)
        if taken.decision is None:
            return replied({"unit": command.unit, "left": True}, taken.repeated)
        entries = decision_seen(taken.decision)
        if explain:
            entries["decision"] = decision_explained(taken.decision)
        return replied(entries, taken.repeated)

    async def record(self, name: str, command: Any, what: str, **more: object) -> Response:
        """Reply that something is on record, and what else there is to say."""
        taken = await self.take(name, command)
        unit = {"unit": command.unit} if hasattr(command, "unit") else {"trial": name}
        return replied({**unit, "recorded": what, **more}, taken.repeated)

    def idempotency_key(self) -> str | None:
        """Return the key under which the request may be repeated; None without one."""
        key = self.request.headers.get("idempotency-key")
        if key is not None and not (0 < len(key) <= LONGEST_KEY and key.isascii() and key.isprintable()):
            raise Refused("bad-request", f"Idempotency-Key must be 1 to {LONGEST_KEY} printable ASCII characters")
        return key

    def log(self) -> str | None:
        """Return the log that the request is meant for; None if it does not say."""
        said = self.request.headers.get(LOG_HEADER)
        if said is not None and said not in LOGS:
            raise Refused("bad-request", f"Dtrbandit-Log must be {' or '.join(LOGS)}, found {shown(said)}")
        return said


def must_stay_blind(request: Request) -> bool:
    """Say whether whoever asks must not hear what an error may tell."""
    holder: Holder | None = request.scope.get("holder")
    return holder is not None and holder.role is Role.SITE


def replied(entries: object, repeated: bool = False) -> Response:
    """Return a reply in JSON; a header says if it repeats one that is on record."""
    body = _ENCODER.encode(entries).encode()
    return Response(body, media_type="application/json", headers={"Repeated": "true"} if repeated else None)


def listed(name: str, entries: Iterable[object]) -> bytes:
    """Return a list in JSON, under its name. Entry by entry: all at once, nobody else could go on meanwhile.

    Examples
    --------
    >>> listed("units", [{"unit": "u1"}])
    b'{"units":[{"unit":"u1"}]}'
    """
    return b'{"%s":[%s]}' % (name.encode(), ",".join(map(_ENCODER.encode, entries)).encode())


def described(endpoint: str, *, body: type[Body] | None = None, reply: type[Reply] | None = None) -> dict[str, Any]:
    """Return what OpenAPI is to say of an endpoint whose body we read ourselves."""
    refusals = {"model": Problem, "content": {MEDIA_TYPE: {}}, "description": "A refusal (RFC 9457)"}
    said: dict[str, Any] = {"operation_id": endpoint, "responses": {"4XX": refusals, "503": refusals}}
    if reply is not None:
        said["responses"][200] = {"model": reply}
    said["openapi_extra"] = {"security": [{"key": []}]}
    if body is not None:
        schema = body.model_json_schema()
        said["openapi_extra"]["requestBody"] = {"required": True, "content": {"application/json": {"schema": schema}}}
    return said
