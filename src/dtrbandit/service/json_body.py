"""The body of a request: no more bytes than allowed, no longer than allowed, and strict JSON.

Strict is what two readers cannot read differently, and what every record can hold.
"""

from __future__ import annotations

import asyncio
import json
import math
import re
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any, TypeVar

from pydantic import ValidationError

from dtrbandit.design.values import shown
from dtrbandit.service.models import Body
from dtrbandit.service.problems import Refused

MOST_BYTES = 64 * 1024
SECONDS_TO_READ = 10.0
MEDIA_TYPE = "application/json"
DEEPEST = 16  # a design is four deep
LARGEST_INTEGER = 2**53  # above, a float cannot tell an integer from its neighbour
_TEXTS = re.compile(rb'"(?:[^"\\]|\\.)*"', re.DOTALL)

Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Wanted = TypeVar("Wanted", bound=Body)


class ClientDisconnected(Exception):  # noqa: N818  # what happened
    """The client closed the connection before its request was whole: there is nobody to answer."""


# -- bytes -------------------------------------------------------------------------------------------------------


async def read_body(receive: Receive, *, most: int = MOST_BYTES, seconds: float = SECONDS_TO_READ) -> bytes:
    """Return the body, however it is sent; what it claims about its own length counts for nothing."""
    try:
        async with asyncio.timeout(seconds):
            return await _whole(receive, most)
    except TimeoutError:
        raise Refused("slow", f"the body was not there after {seconds:g} seconds") from None


async def _whole(receive: Receive, most: int) -> bytes:
    body: bytes = b""
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise ClientDisconnected
        body += message.get("body", b"")
        if len(body) > most:
            raise Refused("too-large", f"the body has more than {most:,} bytes")
        if not message.get("more_body"):
            return body


# -- content -----------------------------------------------------------------------------------------------------


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


def body_as(kind: type[Wanted], body: bytes) -> Wanted:
    """Return a body as what it should be, or refuse it with everything that is wrong.

    Examples
    --------
    >>> from dtrbandit.service.models import Outcome
    >>> body_as(Outcome, b'{"outcome": -8.5}')
    Outcome(outcome=-8.5)
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
    if isinstance(value, str):
        if any("\ud800" <= letter <= "\udfff" for letter in value):
            raise NotStrict("a text has half of a surrogate pair (\\ud800 to \\udfff), which is no character")
    elif isinstance(value, dict):
        for name, entry in value.items():
            _check_texts(name)
            _check_texts(entry)
    elif isinstance(value, list):
        for entry in value:
            _check_texts(entry)
