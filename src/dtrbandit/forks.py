"""Turns that threads take, and forks: what a child must not go on with is refused there, in words.

A child has one thread of its parent's.
"""

from __future__ import annotations

import ctypes
import os
import sys
import threading
from collections.abc import Callable
from contextlib import AbstractContextManager
from types import FrameType
from typing import NoReturn, TypeVar, cast
from weakref import WeakKeyDictionary

from dtrbandit.errors import DTRError

Owner = TypeVar("Owner")
Given = TypeVar("Given")
Done = TypeVar("Done")
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


class Turns:
    """Lets the calls of an object act one at a time. Other threads wait; a call inside a call is refused.

    ``nested`` is the refusal of a call inside a call, of a policy or a signal. ``cut_off`` is that of a child which was
    forked while another thread acted.
    """

    def __init__(self, nested: Refusal, cut_off: Refusal) -> None:
        self._nested, self._cut_off = nested, cut_off
        self.lock = new_turn()
        self._acting: FrameType | None = None  # the call that acts now; after an interruption one that has ended
        at_fork(self, Turns._begin_in_child)

    def _begin_in_child(self) -> None:
        self.lock = turn_in_child(self.lock, self._cut_off)

    def alone(self, act: Callable[[Given], Done], given: Given) -> Done:
        """Let one call act at a time."""
        with self.lock:
            if self._acting is not None and self.is_nested():
                raise self._nested()
            try:
                self._acting = sys._getframe()
                return act(given)
            finally:
                self._acting = None

    def is_nested(self) -> bool:
        """Say whether a call of the object is among the callers."""
        caller = None if self._acting is None else sys._getframe(1)
        while caller is not None and caller is not self._acting:
            caller = caller.f_back
        return caller is not None


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
