"""What the machine code of an entry depends on, as a hash: its own code, and everything that it reaches.

That is the code of all kernels that it calls, the constants that they read, and the layout of the tables that they
open, as this process has imported them. An edit anywhere among these gives another hash, and nothing else does: neither
a comment, nor a file that is changed on disk while the process runs.
"""

from __future__ import annotations

import hashlib
from functools import cache
from types import CodeType, FunctionType, ModuleType
from typing import Any

import numpy as np

from dtrbandit.kernels.borrowed import Opener
from dtrbandit.kernels.compile import ENTRIES, LOOPS, Entry, Name


def key_of(name: Name) -> str:
    """Return the name of an entry with the hash of what it is made of."""
    return f"{'.'.join(name)}-{digest_of(ENTRIES[name])}"


@cache
def digest_of(entry: Entry) -> str:
    """Return a hash of everything that the machine code of an entry depends on."""
    parts = _Parts()
    parts.add(entry.types)
    parts.reach(entry)
    return parts.hash.hexdigest()[:16]


class _Parts:
    """Walks from value to value, and hashes what it meets for the first time."""

    def __init__(self) -> None:
        self.hash = hashlib.sha256()
        self._met: set[int] = set()

    def add(self, *values: object) -> None:
        self.hash.update(repr(values).encode() + b"\n")

    def reach(self, value: Any, names: tuple[str, ...] = ()) -> None:
        """Hash a value that a kernel names; of a module what ``names`` may find there."""
        if isinstance(value, Entry):
            value = value.plain
        if isinstance(value, FunctionType):
            self._reach_function(LOOPS.get(value, value))
        elif isinstance(value, ModuleType):
            for name in names:
                member = vars(value).get(name)  # not getattr: a module may warn of names that it has no longer
                if member is not None and not isinstance(member, ModuleType):
                    self.add(value.__name__, name)
                    self.reach(member)
        elif isinstance(value, Opener):
            for group, arrays in value.example._asdict().items():
                self.add(group, [(name, array.dtype.str, array.ndim) for name, array in arrays._asdict().items()])
        elif isinstance(value, np.ndarray):
            self.add(value.dtype.str, value.shape, value.tobytes())
        elif isinstance(value, bool | int | float | str | tuple | np.generic | None):
            self.add(type(value).__name__, value)
        else:  # numpy's and Python's own functions and types
            self.add(getattr(value, "__module__", ""), getattr(value, "__qualname__", type(value).__name__))

    def _reach_function(self, function: Any) -> None:
        if id(function) not in self._met:
            self._met.add(id(function))
            self.add(function.__module__, function.__qualname__, function.__defaults__)
            self._reach_code(function.__code__, function.__globals__)

    def _reach_code(self, code: CodeType, space: dict[str, Any]) -> None:
        self.add(code.co_code, code.co_varnames, code.co_names)
        for constant in code.co_consts:
            if isinstance(constant, CodeType):
                self._reach_code(constant, space)
            else:
                self.add(constant)
        for name in code.co_names:
            if name in space:
                self.add(name)
                self.reach(space[name], code.co_names)
