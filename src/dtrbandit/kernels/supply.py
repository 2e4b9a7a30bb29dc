"""Bring machine code to the entries: in the background for sessions, at once where a long piece of work waits for it.

``begin`` is called whenever a built-in policy's state is made, and returns at once. A thread looks into the cache,
lets one child process compile what is missing there, and loads what is there, one entry after another. ``require`` is
for work that is no verb of a session: studies, replays, long logs. ``provide`` is for such work in other processes,
and they load with ``ensure``. Nothing here ever fails a caller: without machine
code kernels stay plain, which is said once on standard error.

``DTRBANDIT_KERNELS`` is ``auto``, ``plain`` (never compile) or ``compiled`` (wait for machine code at once).
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Protocol

from dtrbandit.errors import DesignError
from dtrbandit.kernels.compile import ENTRIES, Entry, Name
from dtrbandit.kernels.fill import all_entries, own_entries
from dtrbandit.kernels.supplier import SECONDS_TO_LOAD, SUPPLIER

AUTO, PLAIN, COMPILED = "auto", "plain", "compiled"
_TRYING = ContextVar("_TRYING", default=False)


class Wait(Protocol):
    """A way to wait for machine code, which says whether it is there."""

    def __call__(self, what: str, names: Sequence[Name], *, seconds: float | None) -> bool:
        """Wait."""


def mode() -> str:
    """Return what ``DTRBANDIT_KERNELS`` says."""
    found = os.environ.get("DTRBANDIT_KERNELS") or AUTO
    if found not in (AUTO, PLAIN, COMPILED):
        raise DesignError(
            f"the environment variable DTRBANDIT_KERNELS is {found!r}; it may be {AUTO!r} (compile in the "
            f"background), {PLAIN!r} (never compile) or {COMPILED!r} (wait for machine code)"
        )
    return PLAIN if os.environ.get("NUMBA_DISABLE_JIT", "0") not in ("", "0") else found


def begin(first: Iterable[Entry] = ()) -> None:
    """See to it that machine code comes for all entries that are imported, and for ``first`` before the others.

    It waits only if ``compiled`` says so.
    """
    if SUPPLIER.asked == len(ENTRIES) or _TRYING.get():
        return
    found = mode()
    SUPPLIER.asked = len(ENTRIES)
    if found == COMPILED:
        require("this process", seconds=0.0)
    elif found == AUTO:
        SUPPLIER.begin(_names(first))


def require(what: str, *, seconds: float, entries: Iterable[Entry] = ()) -> bool:
    """Wait for machine code if that is faster than ``seconds`` of plain Python; say whether it is there.

    Parameters
    ----------
    what
        The work that is waiting, for the progress bar: ``"the study"``.
    entries
        What the work calls; all entries by default.
    """
    return _compiled(SUPPLIER.wait, what, seconds, entries)


def provide(what: str, *, seconds: float, entries: Iterable[Entry] = ()) -> bool:
    """Wait for machine code as ``require`` does, but for other processes: this one loads only what it waits for."""
    return _compiled(SUPPLIER.provide, what, seconds, entries)


def _compiled(wait: Wait, what: str, seconds: float, entries: Iterable[Entry]) -> bool:
    found, wanted = mode(), list(entries) or [ENTRIES[name] for name in own_entries() or all_entries()]
    if found == PLAIN or all(entry.compiled for entry in wanted):
        return found != PLAIN
    if found == AUTO and seconds < SECONDS_TO_LOAD:
        return False
    return wait(what, _names(wanted), seconds=seconds if found == AUTO else None)


@contextmanager
def trying() -> Iterator[None]:
    """Begin nothing in this thread meanwhile: states are made only to see whether they can be."""
    token = _TRYING.set(True)
    try:
        yield
    finally:
        _TRYING.reset(token)


def ensure(entries: Iterable[Entry]) -> None:
    """Load machine code into a worker of a study that has waited for it; make it where this machine has none."""
    if mode() != PLAIN:
        SUPPLIER.ensure(_names(entries))


def become_worker() -> None:
    """Never start a child from this process: it is a worker of a study."""
    SUPPLIER.worker = True


def _names(entries: Iterable[Entry]) -> list[Name]:
    wanted = {id(entry) for entry in entries}
    return [name for name, entry in ENTRIES.items() if id(entry) in wanted]
