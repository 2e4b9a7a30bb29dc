"""Headers that a request must have, may have once, or may not have: whatever two readers could read differently."""

from __future__ import annotations

from collections.abc import Iterable

from dtrbandit.design.values import shown
from dtrbandit.service.problems import Refused

ONCE = frozenset(
    {b"host", b"authorization", b"idempotency-key", b"dtrbandit-log", b"content-type", b"content-encoding"}
)
VERSIONS = ("1.0", "1.1")
BODIES = frozenset({b"content-encoding", b"transfer-encoding"})

Headers = Iterable[tuple[bytes, bytes]]


def wrong_headers(headers: Headers, version: str = "1.1") -> Refused | None:
    """Return what is wrong with the headers of a request; their names are in small letters. None if nothing is.

    Examples
    --------
    >>> wrong_headers([(b"host", b"trials.example.org")])
    >>> wrong_headers([(b"host", b"a"), (b"host", b"b")]).detail
    'the request has the header host twice'
    """
    if version not in VERSIONS:
        return Refused("bad-request", f"the request is in HTTP/{version}, and this service speaks HTTP/1.1")
    found = set()
    for name, value in headers:
        if name in ONCE:
            if name in found:
                remedy = f"Send {_written(name)} once; nothing was changed."
                return Refused("bad-request", f"the request has the header {name.decode()} twice", remedy=remedy)
            found.add(name)
        if name in BODIES and (refused := _wrong_encoding(name, value.strip().lower(), version)):
            return refused
    if b"host" not in found and version != "1.0":
        remedy = "Send Host with the name in the address; HTTP/1.1 needs it. Nothing was changed."
        return Refused("bad-request", "the request has no header host", remedy=remedy)
    return None


def _wrong_encoding(name: bytes, value: bytes, version: str) -> Refused | None:
    if name == b"transfer-encoding" and version == "1.0":
        return Refused("bad-request", "the request is in HTTP/1.0, which has no Transfer-Encoding")
    if value == (b"chunked" if name == b"transfer-encoding" else b"identity"):
        return None
    told = f"{_written(name)} is {shown(value.decode('latin-1'))}"
    return Refused("media-type", f"{told}; a body is read as it is", remedy="Send the body as it is, not compressed.")


def _written(name: bytes) -> str:
    return name.decode().title()
