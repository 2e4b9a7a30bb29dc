"""Limits by address: how many connections a process takes, and how many wrong keys.

A valid key always opens, whatever else came from its address: a forgotten device with an old key must not lock a ward
out. What protects from guessing is the length of a key, 256 random bits. The limit keeps noise down and shows it.
"""

from __future__ import annotations

import ipaddress
import math
import time
from collections import Counter, OrderedDict, deque
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from dtrbandit.service.problems import Refused

FILES_BESIDE = 500  # that a process may open beside its connections: databases, and those who are turned away
MOST_WRONG = 10  # keys from one address
SECONDS = 60.0  # within which they count
MOST_ADDRESSES = 10_000  # that are remembered; the one that was longest silent goes first


# -- connections -------------------------------------------------------------------------------------------------


class Limits(NamedTuple):
    """What a process grants to connections.

    Attributes
    ----------
    connections
        How many are open at a time.
    per_address
        How many of them come from one address. Behind a proxy all come from its address, and this does not count.
    seconds_for_head
        How long the address and the headers of a request may take to come.
    turned_away
        How many others get a refusal at a time; further ones are only hung up on, so that files are left for trials.
    seconds_to_linger
        How long the rest of a refused request is read and thrown away, so that the refusal arrives.
    seconds_to_finish
        How long requests under way may take after SIGTERM.
    """

    connections: int = 1000
    per_address: int = 200
    turned_away: int = 100
    seconds_for_head: float = 10.0
    seconds_to_linger: float = 1.0
    seconds_to_finish: float = 30.0


class ConnectionLimiter:
    """The connections of a process, counted by address. ``leaving``: the process is about to stop."""

    def __init__(self, limits: Limits | None = None, *, behind_proxy: bool = False) -> None:
        self.limits, self._behind_proxy = limits or Limits(), behind_proxy
        self._open: Counter[str] = Counter()
        self._all = self._turned_away = 0
        self.leaving = False

    def enter(self, address: str) -> Refused | None:
        """Take in a connection; return the refusal if there is no room for it.

        Examples
        --------
        >>> limiter = ConnectionLimiter(Limits(per_address=1))
        >>> limiter.enter("192.0.2.7"), limiter.enter("192.0.2.8"), limiter.enter("192.0.2.7").status
        (None, None, 503)
        """
        if self.leaving:
            return self.closed()
        if self._all >= self.limits.connections:
            return Refused("connections", f"{self._all:,} connections are open already")
        if self._open[address] >= self.limits.per_address and not self._behind_proxy:
            return Refused("connections", f"{self._open[address]:,} connections from your address are open already")
        self._open[address] += 1
        self._all += 1
        return None

    def leave(self, address: str) -> None:
        """Note that a connection has ended which had been taken in."""
        self._all -= 1
        self._open[address] -= 1
        if not self._open[address]:
            del self._open[address]

    def turn_away(self) -> bool:
        """Say whether a connection that cannot be taken in may get a refusal; it then counts until its end."""
        answered = self._turned_away < self.limits.turned_away
        self._turned_away += answered
        return answered

    def forget(self) -> None:
        """Note that a connection has ended which was turned away."""
        self._turned_away -= 1

    def closed(self) -> Refused | None:
        """Return the refusal of new requests while the process stops; None while it does not."""
        return Refused("stopping", "the service is stopping, and takes no more requests") if self.leaving else None


def allow_open_files(connections: int) -> None:
    """Let this process open enough files for so many connections, as far as the system allows."""
    try:
        import resource
    except ImportError:  # Windows has no such limit
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = connections + FILES_BESIDE
    if hard != resource.RLIM_INFINITY:
        wanted = min(wanted, hard)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


# -- wrong keys --------------------------------------------------------------------------------------------------


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
        given = forwarded[-1].rpartition(b",")[2].strip().decode("latin-1") if forwarded else ""
        return _known(given) or _known(peer) or "unknown"
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
