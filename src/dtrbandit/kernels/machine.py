"""Machine code of kernels, by numba: made, packed into bytes, and unpacked again.

Only a child process, a thread of its own or a deliberate wait import this module; it takes numba with it. The plain
functions stay as they are: numba is given copies of them, whose globals hold what numba understands in the place of
kernels, entries, openers and modules.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from types import FunctionType, ModuleType
from typing import Any

import numba
from numba.core.compiler import CompileResult
from numba.core.registry import cpu_target
from numba.core.serialize import dumps
from numba.core.sigutils import normalize_signature

from dtrbandit.kernels.borrowed import Opener
from dtrbandit.kernels.compile import KERNELS, LOOPS, Entry
from dtrbandit.kernels.opened import compiled_opener
from dtrbandit.kernels.parts import PartCompiler

Space = dict[str, Any]


class Workshop:
    """Compiles entries; what several entries are made of is prepared once.

    It knows the kernels that were registered when it was made.
    """

    def __init__(self) -> None:
        self._replaced: dict[int, Any] = {}  # what stands for a kernel, an entry, an opener or a module, by identity
        functions = list(KERNELS.values())
        homes = {id(function.__globals__): function.__globals__ for function in functions}
        self._spaces: dict[int, Space] = {place: {} for place in homes}  # copies of globals, by identity
        for function in functions:
            copy = _copied(function, self._spaces[id(function.__globals__)])
            self._replaced[id(function)] = _dispatcher(copy, entry=False)
        for place, home in homes.items():
            self._spaces[place].update({name: self._stand_in(value) for name, value in home.items()})

    def compile(self, entry: Entry) -> CompileResult:
        """Return the machine code of an entry."""
        plain = entry.plain
        space = self._spaces[id(plain.__globals__)]
        dispatcher = _dispatcher(_copied(plain, space), entry=True)
        arguments, _ = normalize_signature(f"({entry.types},)")
        dispatcher.compile(arguments)
        result: CompileResult
        (result,) = dispatcher.overloads.values()
        return result

    def _stand_in(self, value: Any) -> Any:
        """Return what numba is to find in the place of a global."""
        if isinstance(value, Entry):
            return self._replaced[id(value.plain)]
        if isinstance(value, Opener):
            return self._once(value, compiled_opener)
        if isinstance(value, ModuleType) and id(value.__dict__) in self._spaces:
            return self._once(value, self._shadow)
        if isinstance(value, FunctionType):
            return self._replaced.get(id(LOOPS.get(value, value)), value)
        return value

    def _once(self, value: Any, make: Callable[[Any], Any]) -> Any:
        if id(value) not in self._replaced:
            self._replaced[id(value)] = make(value)
        return self._replaced[id(value)]

    def _shadow(self, module: ModuleType) -> ModuleType:
        """Return a module of the same name with the replaced globals."""
        shadow = ModuleType(module.__name__)
        self._replaced[id(module)] = shadow  # before its globals: modules may hold each other
        shadow.__dict__.update({name: self._stand_in(value) for name, value in module.__dict__.items()})
        return shadow


def _copied(function: Any, space: Space) -> FunctionType:
    """Return the function with other globals, which may be filled later."""
    copy = FunctionType(function.__code__, space, function.__name__, function.__defaults__, function.__closure__)
    copy.__module__, copy.__qualname__ = function.__module__, function.__qualname__
    return copy


def _dispatcher(function: Callable[..., Any], *, entry: bool) -> Any:
    """Return numba's view of a kernel: fixed order of operations, no fastmath."""
    options: dict[str, Any] = {
        "nogil": True,
        "fastmath": False,
        "error_model": "numpy",  # divide without a branch for zero
        "no_cpython_wrapper": not entry,
        "no_cfunc_wrapper": True,
        **({} if entry else {"pipeline_class": PartCompiler}),
    }
    return numba.njit(**options)(function)


def pack(result: CompileResult) -> bytes:
    """Return machine code as bytes."""
    packed: bytes = dumps(result._reduce())
    return packed


def unpack(packed: bytes) -> CompileResult:
    """Return the machine code that ``pack`` has packed, ready to run."""
    import pickle

    context = cpu_target.target_context
    result: CompileResult = CompileResult._rebuild(context, *pickle.loads(packed))
    return result


def install(entry: Entry, result: CompileResult) -> None:
    """Let an entry run its machine code from the next call on.

    numba's dispatcher looks at the type of each argument first, since machine code trusts arrays to have the right one.
    Where there is none but the table, which ``lend`` made, this is left out: it is a third of a short call.
    """
    if not entry.takes_arrays:
        entry.call = result.entry_point  # type: ignore[attr-defined]  # numba sets it by name
        return
    dispatcher = _dispatcher(entry.plain, entry=True)
    dispatcher.add_overload(result)
    dispatcher.disable_compile()
    entry.call = dispatcher


def prepare() -> None:
    """Load what numba loads before it first compiles or unpacks."""
    cpu_target.target_context.refresh()


def compile_here(entries: Iterable[Entry]) -> None:
    """Compile entries in this process and let them run their machine code; nothing is kept."""
    workshop = Workshop()
    for entry in entries:
        install(entry, workshop.compile(entry))
