"""Running the service: one process or several, on this machine unless a proxy stands in front."""

from __future__ import annotations

import asyncio
import ipaddress
import math
import signal
import socket
import sys
import time
from collections.abc import Callable
from functools import partial
from typing import cast

import uvicorn
from starlette.types import ASGIApp

from dtrbandit.errors import DesignError
from dtrbandit.service.app import Application, PagesFor
from dtrbandit.service.http import CappedHttp
from dtrbandit.service.limits import ConnectionLimiter, allow_open_files
from dtrbandit.service.service import Service
from dtrbandit.trial.batch import Clock
from dtrbandit.trial.trial import utc_now

SECONDS_IDLE = 75  # that a connection stays open between requests
SECONDS_OF_GRACE = 0.2  # after SIGTERM, in which requests that were sent already are read and refused
SWITCH_INTERVAL = 0.001  # seconds that a thread runs while others wait: a long read must not hold up decisions


def serve(  # noqa: PLR0913  # options of a command
    url: str,
    *,
    host: str = "127.0.0.1",
    port: int = 8000,
    behind_proxy: bool = False,
    workers: int = 1,
    clock: Clock = utc_now,
    pages: PagesFor | None = None,
    prepare: Callable[[], None] | None = None,
    listening: Callable[[str], None] = print,
) -> None:
    """Serve the trials of a database until SIGTERM or Ctrl-C, and finish what was asked before.

    Parameters
    ----------
    port
        0 takes any that is free.
    behind_proxy
        A proxy that speaks TLS stands in front: another address than this machine's own may be used, and what the
        proxy says in ``X-Forwarded-For`` is believed.
    workers
        How many processes serve; more than one needs PostgreSQL.
    clock
        What gives the times on record.
    pages
        Pages for a browser, beside the endpoints.
    prepare
        Called once the options are in order and the port is this service's: it makes what is served.
    listening
        Called with the address, once connections are accepted.
    """
    from dtrbandit.service.workers import require_shareable, run_worker, serve_by

    require_safe(host, behind_proxy=behind_proxy)
    require_shareable(url, workers)
    with reserved(host, port, shared=workers > 1) as listener:
        if prepare is not None:
            prepare()
        name = f"[{host}]" if ":" in host else host
        listening(f"http://{name}:{listener.getsockname()[1]}")
        if workers > 1:
            address, number = listener.getsockname()[:2]
            serve_by(workers, partial(run_worker, url, address, number, behind_proxy, pages))
        else:
            run(Service(url, clock=clock, behind_proxy=behind_proxy), listener, pages)


class Server(uvicorn.Server):
    """A server that finishes requests under way before it stops; new ones are refused, and may come again later."""

    def __init__(self, application: ASGIApp, limiter: ConnectionLimiter) -> None:
        config = uvicorn.Config(
            application,
            http=cast(type[asyncio.Protocol], partial(CappedHttp, limiter=limiter)),
            interface="asgi3",
            loop="auto",  # uvloop, which there is not for Windows
            ws="none",
            access_log=False,
            log_level="warning",
            server_header=False,
            date_header=False,
            proxy_headers=False,
            timeout_keep_alive=SECONDS_IDLE,
        )
        super().__init__(config)
        self._limiter = limiter

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Refuse what is new until all else is answered; then close connections, and end."""
        self._limiter.leaving = True
        ends = time.monotonic() + self._limiter.limits.seconds_to_finish
        await asyncio.sleep(SECONDS_OF_GRACE)
        while self.server_state.tasks and time.monotonic() < ends and not self.force_exit:
            await asyncio.sleep(0.02)
        self.config.timeout_graceful_shutdown = max(1, math.ceil(ends - time.monotonic()))
        await super().shutdown(sockets)


def run(service: Service, listener: socket.socket, pages: PagesFor | None) -> None:
    """Serve in this process, by a socket that was bound."""
    limiter = ConnectionLimiter(behind_proxy=service.behind_proxy)
    allow_open_files(limiter.limits.connections)
    sys.setswitchinterval(SWITCH_INTERVAL)
    server = Server(Application(service, pages), limiter)
    signal.signal(signal.SIGTERM, server.handle_exit)  # raises nothing: that could be lost in a callback
    service.leaving = lambda: server.should_exit
    server.run(sockets=[listener])


def require_safe(host: str, *, behind_proxy: bool) -> None:
    """Refuse an address that others can reach, unless a proxy speaks TLS for it."""
    try:
        own = host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        own = False
    if not own and not behind_proxy:
        raise DesignError(
            f"{host!r} can be reached from other machines, and keys would travel in the clear; "
            "use 127.0.0.1, or a proxy that speaks TLS and --behind-proxy (docs/live-trial.md)"
        )


def reserved(host: str, port: int, *, shared: bool = False) -> socket.socket:
    """Return a socket that has its address. Refuse a port that somebody else has, or that another service shares."""
    try:
        if shared and port:
            bound(host, port).close()
        return bound(host, port, shared=shared)
    except OSError as error:
        raise DesignError(
            f"cannot listen at port {port} of {host}: {error.strerror or error}; stop what listens there, "
            "or say --port and another number"
        ) from error


def bound(host: str, port: int, *, shared: bool = False) -> socket.socket:
    """Return a socket that has its address; raises OSError if it is taken. Others of this user may share it."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # with its protocol named, asyncio sends small parts at once; otherwise each answer waits 40 ms for the client
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    if shared:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
    try:
        listener.bind((host, port))
    except OSError:
        listener.close()
        raise
    return listener
