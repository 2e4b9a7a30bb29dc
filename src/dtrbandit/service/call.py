"""One call of an endpoint: who makes it, what its address, headers and body say, and what a trial replies."""

from __future__ import annotations

from typing import Any, TypeVar

from pydantic import ValidationError
from starlette.datastructures import QueryParams
from starlette.responses import Response
from starlette.types import Receive, Scope

from dtrbandit.design.values import shown
from dtrbandit.record import Command, Unblind
from dtrbandit.service.json_body import Wanted, body_as, read_body, require_json
from dtrbandit.service.keys import EXPLAIN, Holder, Permission, Role
from dtrbandit.service.limits import address_of, names_a_key
from dtrbandit.service.models import Query, may_be_left_out
from dtrbandit.service.problems import Refused
from dtrbandit.service.service import Service
from dtrbandit.service.views import decision_explained, decision_seen, replied
from dtrbandit.trial import Ask, Taken, Trial
from dtrbandit.trial.state import LOGS

LOG_HEADER = b"dtrbandit-log"  # the log that a request is meant for
LONGEST_KEY = 200
Asked = TypeVar("Asked", bound=Query)


class Call:
    """A request by somebody who may make it; Refused if they may not. Without a permission, everybody may."""

    def __init__(self, scope: Scope, receive: Receive, permission: Permission | None) -> None:
        self.scope, self._receive = scope, receive
        self.service: Service = scope["service"]
        self.path: dict[str, str] = scope["path_params"]
        self._headers: dict[bytes, bytes] = dict(scope["headers"])  # those that count come once (service/http.py)
        if permission is not None:
            self.holder: Holder = self._holder(permission)
            scope["holder"] = self.holder

    def _holder(self, permission: Permission) -> Holder:
        trial, scope = self.path.get("trial"), self.scope
        if "key_id" in scope:  # a page of this process asks, for whoever is logged in
            return self.service.visitor(scope["key_id"], permission, trial)
        authorization = self.header(b"authorization")
        try:
            return self.service.holder(authorization, permission, trial)
        except Refused as refused:
            if refused.kind == "no-key" and names_a_key(authorization):
                self.service.wrong_keys.note(address_of(scope, behind_proxy=self.service.behind_proxy))
            raise

    # -- what it says ----------------------------------------------------------------------------------------

    def header(self, name: bytes) -> str | None:
        """Return a header; None if it is not there."""
        value = self._headers.get(name)
        return None if value is None else value.decode("latin-1")

    def parameters(self, kind: type[Asked] | None) -> Asked | None:
        """Return the parameters after the question mark; refuse others, and two of one name."""
        asked = QueryParams(self.scope["query_string"]).multi_items()
        known = () if kind is None else tuple(kind.model_fields)
        names = [name for name, _ in asked]
        for name in names:
            if name not in known:
                raise Refused("parameters", f"the address has the parameter {shown(name)}; {_allowed(known)}")
            if names.count(name) > 1:
                raise Refused("parameters", f"the address has the parameter {shown(name)} {names.count(name)} times")
        try:
            return None if kind is None else kind.model_validate(dict(asked))
        except ValidationError as error:
            wrong = [f"query.{each['loc'][0]}: {each['msg']}, found {shown(each['input'])}" for each in error.errors()]
            raise Refused("parameters", "; ".join(wrong)) from None

    async def body(self, kind: type[Wanted]) -> Wanted:
        """Return what the body says. It may be left out where all its entries may."""
        content = await read_body(self._receive)
        if not content and may_be_left_out(kind):
            return kind()
        require_json(self.header(b"content-type"))
        return body_as(kind, content)

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
            told = "the request has Dtrbandit-Log, and it writes to no log of a trial"
            remedy = "Leave the header out; it is for requests about a trial that is there. Nothing was changed."
            raise Refused("bad-request", told, remedy=remedy)

    def idempotency_key(self) -> str | None:
        """Return the key under which the request may be repeated; None without one."""
        key = self.header(b"idempotency-key")
        if key is not None and not (0 < len(key) <= LONGEST_KEY and key.isascii() and key.isprintable()):
            raise Refused("bad-request", f"Idempotency-Key must be 1 to {LONGEST_KEY} printable ASCII characters")
        return key

    def log(self) -> str | None:
        """Return the log that the request is meant for; None if it does not say."""
        said = self.header(LOG_HEADER)
        if said is not None and said not in LOGS:
            raise Refused("bad-request", f"Dtrbandit-Log must be {' or '.join(LOGS)}, found {shown(said)}")
        return said

    # -- what a trial replies --------------------------------------------------------------------------------

    async def trial(self) -> Trial:
        """Return the trial of the address."""
        return await self.service.trial(self.path["trial"])

    async def take(self, command: Command) -> Taken:
        """Let the trial take a command, and return what it replied once that is committed."""
        trial = await self.trial()
        holder, key = self.holder, self.idempotency_key()
        if isinstance(command, Unblind):
            key = None  # each look is a record of its own: a repetition may show what has happened since
        ask = Ask(command, holder.actor, key, holder.id, holder.site, self.log())
        taken: Taken = await self.service.writer.ask(trial, ask)
        return taken

    async def arm(self, command: Any, *, explain: bool) -> Response:
        """Reply with the arm that a command led to, or that the unit left."""
        if explain:
            EXPLAIN.require(self.holder.role)
        taken = await self.take(command)
        if taken.decision is None:
            return replied({"unit": command.unit, "left": True}, taken.repeated)
        entries = decision_seen(taken.decision)
        if explain:
            entries["decision"] = decision_explained(taken.decision)
        return replied(entries, taken.repeated)

    async def record(self, command: Any, what: str, **more: object) -> Response:
        """Reply that something is on record, and what else there is to say."""
        taken = await self.take(command)
        about = {"unit": command.unit} if hasattr(command, "unit") else {"trial": self.path["trial"]}
        return replied({**about, "recorded": what, **more}, taken.repeated)


def _allowed(known: tuple[str, ...]) -> str:
    return f"it may have {', '.join(known)}" if known else "it may have none"


def must_stay_blind(scope: Scope) -> bool:
    """Say whether whoever asks must not hear what an error may tell."""
    holder: Holder | None = scope.get("holder")
    return holder is not None and holder.role is Role.SITE
