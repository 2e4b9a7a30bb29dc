"""What a form brings: fields by name, numbers among them, and whether it was one of our own forms."""

from __future__ import annotations

import hmac
import re
import secrets
from collections.abc import Iterable, Mapping
from urllib.parse import parse_qsl

from starlette.types import Receive

from dtrbandit.design.values import shown
from dtrbandit.service.call import NotStrict, strict_float
from dtrbandit.service.http import read_body
from dtrbandit.service.problems import Refused

MOST_FIELDS = 500
TOKEN, ONCE, LOG = "token", "once", "log"
COLUMN = "column."  # before the name of a column of a context
EXCLUDE = "exclude."  # before the numbers of a stage and an arm
_NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?", re.ASCII)

Fields = Mapping[str, str]


async def read_form(receive: Receive) -> Fields:
    """Return the fields of a form; each may be there once."""
    body = await read_body(receive)
    try:
        pairs = parse_qsl(body.decode("ascii"), keep_blank_values=True, errors="strict", max_num_fields=MOST_FIELDS)
    except ValueError as error:
        raise Refused("bad-request", f"the form cannot be read: {error}") from None
    fields = dict(pairs)
    if len(fields) < len(pairs):
        raise Refused("bad-request", "the form has a field twice")
    return fields


def require_own(fields: Fields, token: str) -> None:
    """Refuse a form that was not made for this login: another page may have sent it."""
    if not hmac.compare_digest(fields.get(TOKEN, "").encode(), token.encode()):
        raise Refused("form", "the form does not come from this login")


def new_once() -> str:
    """Return a key under which a form may act once, however often it is sent."""
    return f"form-{secrets.token_urlsafe(18)}"


class Typed:
    """Values as they were typed, and what is wrong with them, by field."""

    def __init__(self, fields: Fields) -> None:
        self._fields = fields
        self.wrong: dict[str, str] = {}

    def text(self, name: str, what: str) -> str:
        """Return a text that must be there."""
        found = self._fields.get(name, "").strip()
        if not found:
            self.wrong[name] = f"{what} is missing"
        return found

    def number(self, name: str) -> float:
        """Return a number that must be there; NaN, and a note of what is wrong, if it is not."""
        text = self._fields.get(name, "").strip()
        try:
            if _NUMBER.fullmatch(text):
                return strict_float(text)
            message = "a number is missing" if not text else f"found {shown(text)}; a number is written as 12.5"
        except NotStrict as error:
            message = str(error)
        self.wrong[name] = message
        return float("nan")

    def context(self, columns: Iterable[str], *, some: bool = False) -> dict[str, float]:
        """Return a context. With ``some``, fields may be left empty: who leaves early has not all columns."""
        names = [name for name in columns if not some or self._fields.get(COLUMN + name, "").strip()]
        return {name: self.number(COLUMN + name) for name in names}
