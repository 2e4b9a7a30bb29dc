"""How many connections a process takes, from everybody and from one address, and what the others are told."""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

from dtrbandit.service.problems import Refused

FILES_BESIDE = 500  # that a process may open beside its connections: databases, and those who are turned away


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
        How many others are told so at a time; further ones are only hung up on, so that files are left for trials.
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


class Gate:
    """The connections of a process, counted by address. ``leaving``: the process is about to stop."""

    def __init__(self, limits: Limits | None = None, *, behind_proxy: bool = False) -> None:
        self.limits, self._behind_proxy = limits or Limits(), behind_proxy
        self._open: Counter[str] = Counter()
        self._all = self._turned_away = 0
        self.leaving = False

    def enter(self, address: str) -> Refused | None:
        """Take in a connection; return what it is told if there is no room for it.

        Examples
        --------
        >>> gate = Gate(Limits(per_address=1))
        >>> gate.enter("192.0.2.7"), gate.enter("192.0.2.8"), gate.enter("192.0.2.7").status
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
        """Say whether a connection that cannot be taken in may be told so; whoever may is forgotten at its end."""
        told = self._turned_away < self.limits.turned_away
        self._turned_away += told
        return told

    def forget(self) -> None:
        """Note that a connection has ended which was turned away."""
        self._turned_away -= 1

    def closed(self) -> Refused | None:
        """Return what a new request is told while the process stops; None while it does not."""
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
