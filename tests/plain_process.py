"""A process in which the modules that were compiled run as plain Python."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from contextlib import contextmanager
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import spec_from_file_location
from multiprocessing import get_context
from pathlib import Path
from types import ModuleType
from typing import Any, ParamSpec, TypeVar

Given = ParamSpec("Given")
Found = TypeVar("Found")


class PlainFinder(MetaPathFinder):
    """Finds the Python source of every module that has a ``.pxd`` beside it."""

    def find_spec(
        self,
        fullname: str,
        path: Sequence[str] | None,
        target: ModuleType | None = None,  # noqa: ARG002  # as a finder is called
    ) -> ModuleSpec | None:
        """Return the source of a module; nothing for others, which are found as usual."""
        for folder in path or ():
            file = Path(folder, fullname.rpartition(".")[2]).with_suffix(".py")
            if file.is_file() and file.with_suffix(".pxd").is_file():
                return spec_from_file_location(fullname, file)
        return None


def begin() -> None:
    """Let this process have plain modules alone, and make sure of it."""
    if any(name.startswith("dtrbandit") for name in sys.modules):
        raise RuntimeError("the package is loaded already, so that modules may be compiled ones")
    sys.meta_path.insert(0, PlainFinder())
    from dtrbandit.build import PLAIN, states

    if wrong := [f"{name} is {state}" for name, state in states().items() if state != PLAIN]:
        raise RuntimeError(f"modules must be plain here: {wrong}")


class PlainProcess:
    """One child process, which does one thing after the other."""

    def __init__(self, pool: ProcessPoolExecutor) -> None:
        self._pool = pool

    def ask(self, function: Callable[Given, Found], *given: Given.args, **more: Given.kwargs) -> Future[Found]:
        """Call a function there, by the name of its module; its answer comes while this process goes on."""
        return self._pool.submit(function, *given, **more)


@contextmanager
def plain_process() -> Iterator[PlainProcess]:
    """Start the process; it ends afterwards."""
    context: Any = get_context("spawn")
    with ProcessPoolExecutor(1, mp_context=context, initializer=begin) as pool:
        yield PlainProcess(pool)
