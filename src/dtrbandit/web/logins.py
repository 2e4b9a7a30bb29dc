"""Who is logged in to the pages: an API key is exchanged for a cookie that says whose login it is, and until when.

The cookie is signed by a secret that the service draws when it starts and shares with its workers. So every worker
knows every login, nobody can make one, no key is kept anywhere, and all logins end when the service does.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
import time
from collections.abc import Callable

HOURS = 12
SECRET_BYTES = 32
MOST_ENDED = 100_000  # logouts that are remembered; the oldest are forgotten first


def new_secret() -> bytes:
    """Return a secret for the logins of a service, from the operating system."""
    return secrets.token_bytes(SECRET_BYTES)


class Logins:
    """The logins of a service. ``clock`` counts seconds, for all of its processes alike."""

    def __init__(self, secret: bytes, *, clock: Callable[[], float] = time.time) -> None:
        self._secret, self._clock = secret, clock
        self._ended: dict[str, float] = {}  # logouts in this process, and when their logins would have ended

    def begin(self, key_id: str) -> str:
        """Return the cookie of a new login for whoever has shown the key of this id."""
        content = f"{key_id}.{int(self._clock()) + HOURS * 3600}.{secrets.token_hex(8)}"
        return f"{content}.{self._signature(content)}"

    def key_id(self, login: str) -> str | None:
        """Return the id of the key behind a cookie; None if nobody is logged in by it."""
        content, _, signature = login.rpartition(".")
        if not hmac.compare_digest(self._signature(content).encode(), signature.encode(errors="replace")):
            return None
        key_id, ends, _ = content.split(".")
        return key_id if self._clock() < int(ends) and login not in self._ended else None

    def end(self, login: str) -> None:
        """Let a login end before its time."""
        if self.key_id(login) is None:
            return
        now = self._clock()
        self._ended = {each: ends for each, ends in self._ended.items() if ends > now}
        while len(self._ended) >= MOST_ENDED:
            del self._ended[next(iter(self._ended))]
        self._ended[login] = now + HOURS * 3600

    def _signature(self, content: str) -> str:
        return hmac.new(self._secret, content.encode(errors="replace"), hashlib.sha256).hexdigest()


def form_token(login: str) -> str:
    """Return what every form of a login must bring back: another site cannot know it.

    Examples
    --------
    >>> len(form_token("a cookie"))
    64
    """
    return hmac.new(login.encode(errors="replace"), b"form", hashlib.sha256).hexdigest()
