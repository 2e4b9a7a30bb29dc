"""Kernels: numerics that run as plain Python at once, and as machine code as soon as that is there.

``@kernel`` marks a plain Python function and leaves it as it is; numba is not imported here. A kernel that Python
calls is an *entry*: ``entry.call`` is the plain function until machine code is there, and the machine code from then
on. Both give the same bits, so that the switch may come between any two calls.

A loop over all units is slow in plain Python. Such a kernel may name a function that runs in its place until machine
code is there, and gives the same bits.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Container, Mapping, Sequence
from types import FunctionType
from typing import Any, TypeVar, overload

import numpy as np

Function = TypeVar("Function", bound=Callable[..., Any])

Name = tuple[str, str]  # module and name
Case = tuple[Callable[..., Any], str]  # of a switch: a kernel, and what it takes of the state
KERNELS: dict[Name, Callable[..., Any]] = {}
LOOPS: dict[Callable[..., Any], Callable[..., Any]] = {}  # the kernel that a function runs in the place of
ENTRIES: dict[Name, Entry] = {}


class Entry:
    """A kernel that Python calls, with the types of its arguments as numba writes them, or ``table`` (``borrowed.py``).

    Attributes
    ----------
    call
        What to call: the plain function, without numpy's warnings, or machine code.
    plain
        The function as it is written.
    takes_arrays
        Whether it takes arrays beside the table.
    """

    __slots__ = ("call", "plain", "takes_arrays", "types")

    def __init__(self, plain: Callable[..., Any], types: str) -> None:
        self.plain = plain
        self.takes_arrays = "[" in types
        self.types = types.replace("table", "int64[::1]")
        self.call: Callable[..., Any] = self.run_plain

    def run_plain(self, *arguments: Any) -> Any:
        """Run the kernel as plain Python: dividing by zero and overflowing are as silent as in machine code."""
        with np.errstate(all="ignore"):
            return self.plain(*arguments)

    @property
    def compiled(self) -> bool:
        """Whether machine code has taken over."""
        return getattr(self.call, "__func__", None) is not Entry.run_plain

    def __call__(self, *arguments: Any) -> Any:
        """Run as a part of a plain kernel."""
        return self.plain(*arguments)


@overload
def kernel(function: Function, /) -> Function: ...
@overload
def kernel(*, entry: str) -> Callable[[Callable[..., Any]], Entry]: ...
@overload
def kernel(*, meanwhile: Function) -> Callable[[Function], Function]: ...
def kernel(function: Any = None, /, *, entry: str | None = None, meanwhile: Any = None) -> Any:
    """Mark a kernel; ``entry`` gives the types of its arguments and makes it one that Python calls.

    ``meanwhile`` runs in its place until machine code is there.
    """
    if function is None:
        return lambda inner: _register(inner, entry, meanwhile)
    return _register(function, None, None)


def _register(function: Callable[..., Any], types: str | None, meanwhile: Callable[..., Any] | None) -> Any:
    name = function.__module__, function.__qualname__
    KERNELS[name] = function
    if meanwhile is not None:
        LOOPS[meanwhile] = function
        return meanwhile
    if types is None:
        return function
    ENTRIES[name] = Entry(function, types)
    return ENTRIES[name]


def variant(plain: Any, name: str, calling: Mapping[str, Callable[..., Any]]) -> Callable[..., Any]:
    """Return a function that is written as another one, and calls other kernels by the names that stand there."""
    copy = FunctionType(plain.__code__, {**plain.__globals__, **calling}, name)
    copy.__module__, copy.__qualname__ = plain.__module__, name
    copy.__doc__, copy.__annotations__ = plain.__doc__, plain.__annotations__
    return copy


def switch(
    name: str, cases: Sequence[Case], arguments: str, *, only: Container[int] | None = None
) -> Callable[..., Any]:
    """Return the kernel ``name(kind, state, …arguments)`` that calls the case with the number ``kind``.

    A case is a kernel and what it takes of the state, before the arguments. numba caches no loop that takes a function
    as its argument; a chain of comparisons it does. ``only`` are the kinds that will come: others are not compiled.
    """
    module = sys._getframe(1).f_globals["__name__"]
    scope: dict[str, Any] = {"__name__": module}
    lines = []
    coming = {kind: case for kind, case in enumerate(cases) if only is None or kind in only}
    for case, own in dict.fromkeys(coming.values()):
        kinds = [kind for kind, other in coming.items() if other == (case, own)]
        scope[f"case_{kinds[0]}"] = case
        taken = f"{own}, {arguments}" if arguments else own
        lines.append(f"    if {' or '.join(f'kind == {kind}' for kind in kinds)}:")
        lines.append(f"        return case_{kinds[0]}({taken})")
    lines[-2:] = [lines[-1].replace("        return", "    return")]  # the last case takes what is left
    source = "\n".join([f"def {name}(kind, state{', ' if arguments else ''}{arguments}):", *lines, ""])
    exec(compile(source, f"<switch {name}>", "exec"), scope)
    return kernel(scope[name])  # type: ignore[no-any-return]  # what exec defines is Any
