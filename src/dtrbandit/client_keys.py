"""The keys of a service over HTTP: list, create, rotate, revoke, and what happened to them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Protocol
from urllib.parse import quote

from dtrbandit.errors import ObservationError

OVERLAP = 24.0  # hours for which a key works beside its successor, as the service has it


class Calls(Protocol):
    """Whatever asks a service, and asks again until it answers."""

    def call(self, method: str, path: str, body: object = None) -> dict[str, Any]:
        """Return what the service answers to one request."""

    def lines(self, path: str, since: int) -> Iterator[dict[str, Any]]:
        """Yield the records of a log after a sequence number."""


class RemoteKeys:
    """The keys of a service. Each call has an idempotency key: an answer that was lost is asked for again."""

    def __init__(self, client: Calls) -> None:
        self._client = client

    def list(self) -> list[dict[str, Any]]:
        """Return the keys that were given out, without the keys themselves."""
        keys: list[dict[str, Any]] = self._client.call("GET", "/keys")["keys"]
        return keys

    def create(
        self, role: str, label: str, *, days: float | None = None, trial: str | None = None, site: str | None = None
    ) -> dict[str, Any]:
        """Create a key; ``["key"]`` is the key itself."""
        body = {"role": role, "label": label, "days": days, "trial": trial, "site": site}
        return self._client.call("POST", "/keys", body)

    def rotate(self, key_id: str, *, overlap: float = OVERLAP) -> dict[str, Any]:
        """Give the holder of a key a new one; ``["key"]`` is the key itself.

        ``overlap`` is for how many hours the old key still works. One's own needs an hour at least.
        """
        return self._client.call("POST", f"/keys/{segment(key_id)}/rotation", {"overlap": overlap})

    def revoke(self, key_id: str) -> dict[str, Any]:
        """Let a key end at once, for good."""
        return self._client.call("POST", f"/keys/{segment(key_id)}/revocation")

    def events(self, since: int = 0) -> Iterator[dict[str, Any]]:
        """Yield what happened to keys after a sequence number, for administrators and auditors."""
        return self._client.lines("/keys/events", since)


def segment(name: str) -> str:
    """Return a name as one segment of an address.

    Examples
    --------
    >>> segment("u/1")
    'u%2F1'
    """
    if not isinstance(name, str) or not name.strip("."):
        raise ObservationError(f"found {name!r}, which an address cannot hold: a name is a text and not only dots")
    try:
        return quote(name, safe="")
    except UnicodeEncodeError:
        raise ObservationError(f"found {name!r}, which is no text in UTF-8") from None
