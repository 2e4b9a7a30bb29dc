"""Forks: what a child must not go on with is refused there, in words. A child has one thread of its parent's."""

from __future__ import annotations

import ctypes
import os
import threading
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import NoReturn, TypeVar, cast
from weakref import WeakKeyDictionary

from dtrbandit.errors import DTRError

Owner = TypeVar("Owner")
Refusal = Callable[[], DTRError]
Turn = AbstractContextManager[object]  # a lock that threads take turns by, or what stands for it in a child
_ACTS: WeakKeyDictionary[object, Callable[[object], None]] = WeakKeyDictionary()


def at_fork(owner: Owner, act: Callable[[Owner], None]) -> None:
    """Let every child of this process call ``act(owner)`` before anything else, as long as the owner is alive."""
    _ACTS[owner] = cast("Callable[[object], None]", act)


def new_turn() -> Turn:
    """Return a lock that a thread may take again while it has it."""
    return threading.RLock()


def turn_in_child(turn: Turn, refusal: Refusal) -> Turn:
    """Return what a child takes turns by: the same lock, or a refusal if a thread that is gone held it at the fork."""
    return NotInChild(refusal) if is_held(turn) else turn


def is_held(turn: Turn) -> bool:
    """Say whether another thread has the turn."""
    if isinstance(turn, NotInChild):
        return False
    lock = cast("threading.Lock", turn)
    free = lock.acquire(blocking=False)  # also for the thread that has it
    if free:
        lock.release()
    return not free


class NotInChild:
    """Stands in a child for a lock or a connection: whoever uses it gets an error in words. Closing it does nothing."""

    def __init__(self, refusal: Refusal) -> None:
        self._refusal = refusal

    def __enter__(self) -> NoReturn:
        raise self._refusal()

    def __exit__(self, *_: object) -> None: ...

    def __getattr__(self, name: str) -> NoReturn:
        raise self._refusal()

    def close(self) -> None:
        """Do nothing: the parent still uses what this stands for."""


def keep_for_good(connection: object) -> None:
    """Let Python never free a connection of the parent: that would close it, and end the parent's turn with it."""
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(connection))


def _tell_child() -> None:
    for owner, act in list(_ACTS.items()):
        act(owner)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_tell_child)
