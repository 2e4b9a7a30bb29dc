"""A limit on wrong keys: so many from one address within a minute, and the next ones get 429.

A valid key always opens, whatever else came from its address: a forgotten device with an old key must not lock a ward
out. What protects from guessing is the length of a key, 256 random bits. The limit keeps noise down and shows it.
"""

from __future__ import annotations

import ipaddress
import math
import time
from collections import OrderedDict, deque
from collections.abc import Callable, Mapping
from typing import Any

from dtrbandit.service.problems import Refused

MOST_WRONG = 10
SECONDS = 60.0
MOST_ADDRESSES = 10_000  # that are remembered; the one that was longest silent goes first


class WrongKeys:
    """When wrong keys came, by address. For one thread; it forgets after a minute, and with the process."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._times: OrderedDict[str, deque[float]] = OrderedDict()

    def __len__(self) -> int:
        return len(self._times)

    def note(self, address: str) -> None:
        """Take in a wrong key, or refuse it, and not count it, if there were too many before."""
        now, times = self._clock(), self._times.pop(address, None) or deque()
        while times and times[0] <= now - SECONDS:
            times.popleft()
        self._times[address] = times
        if len(times) >= MOST_WRONG:
            wait = max(1, math.ceil(times[0] + SECONDS - now))
            raise Refused("wrong-keys", f"{MOST_WRONG} wrong keys came from your address within a minute", wait=wait)
        times.append(now)
        if len(self._times) > MOST_ADDRESSES:
            self._times.popitem(last=False)


def names_a_key(authorization: str | None) -> bool:
    """Say whether a header ``Authorization`` has more than its scheme: nothing is no wrong key."""
    return bool((authorization or "").partition(" ")[2].strip())


def address_of(scope: Mapping[str, Any], *, behind_proxy: bool) -> str:
    """Return the address that a request came from: that of the connection, or what a trusted proxy says.

    A proxy adds the address that it sees at the end of ``X-Forwarded-For``; what stands before is the client's word.
    Of an IPv6 address the first 64 bits count: whoever has one of them has them all.

    Examples
    --------
    >>> scope = {"client": ("10.0.0.2", 4711), "headers": [(b"x-forwarded-for", b"1.2.3.4, 192.0.2.7")]}
    >>> address_of(scope, behind_proxy=True), address_of(scope, behind_proxy=False)
    ('192.0.2.7', '10.0.0.2')
    """
    peer = scope["client"][0] if scope.get("client") else ""
    if behind_proxy:
        forwarded = [value for name, value in scope["headers"] if name == b"x-forwarded-for"]
        said = forwarded[-1].rpartition(b",")[2].strip().decode("latin-1") if forwarded else ""
        return _known(said) or _known(peer) or "unknown"
    return _known(peer) or "unknown"


def _known(text: str) -> str | None:
    """Return an address as it counts, None if it is none."""
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        return None
    if isinstance(address, ipaddress.IPv6Address) and address.ipv4_mapped is not None:
        address = address.ipv4_mapped  # as a socket for both writes it
    if address.version == 4:
        return str(address)
    return str(ipaddress.ip_network((int(address), 64), strict=False).network_address)
