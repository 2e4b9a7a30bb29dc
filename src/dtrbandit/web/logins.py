"""Who is logged in to the pages: an API key is exchanged for the random id of a cookie.

Of an id only its SHA-256 is kept, and of a key only what the id can unlock. So whoever reads the server's memory
without the cookie has neither. A login is in the memory of one process, and ends with it.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
import time
from collections.abc import Callable
from typing import NamedTuple

HOURS = 12
MOST = 10_000  # logins at a time; the oldest end first
ID_BYTES = 32


class Login(NamedTuple):
    """A login: until when, and the key, locked by the id."""

    ends: float
    locked: bytes


class Logins:
    """The logins of this process. ``clock`` counts seconds."""

    def __init__(self, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._known: dict[str, Login] = {}

    def begin(self, key: str) -> str:
        """Return the id of a new login for whoever has shown this key."""
        now = self._clock()
        self._known = {name: login for name, login in self._known.items() if login.ends > now}
        while len(self._known) >= MOST:
            del self._known[next(iter(self._known))]
        login_id = secrets.token_urlsafe(ID_BYTES)
        self._known[_digest(login_id)] = Login(now + HOURS * 3600, _locked(login_id, key.encode()))
        return login_id

    def key(self, login_id: str | None) -> str | None:
        """Return the key behind an id; None if nobody is logged in by it."""
        login = self._known.get(_digest(login_id or ""))
        if login_id is None or login is None or login.ends <= self._clock():
            return None
        return _locked(login_id, login.locked).decode()

    def end(self, login_id: str | None) -> None:
        """Forget a login."""
        self._known.pop(_digest(login_id or ""), None)


def form_token(login_id: str) -> str:
    """Return what every form of a login must bring back: another site cannot know it.

    Examples
    --------
    >>> len(form_token("an id"))
    64
    """
    return hmac.new(login_id.encode(), b"form", hashlib.sha256).hexdigest()


def _digest(login_id: str) -> str:
    return hashlib.sha256(login_id.encode(errors="surrogatepass")).hexdigest()


def _locked(login_id: str, text: bytes) -> bytes:
    """Return a text locked by an id, or unlocked by the same: each id is used for one text alone."""
    pad = hashlib.shake_256(b"key" + login_id.encode()).digest(len(text))
    return bytes(one ^ other for one, other in zip(text, pad, strict=True))
