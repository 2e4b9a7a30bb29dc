"""The only place that compiles: the decorator ``kernel`` and its cache.

numba keeps compiled code in a cache but looks only at the file of the function itself: a cached kernel that calls
an edited one in another file would go on with the old code. Here the cache folder is named after a hash of all
files that hold kernels, so that an edit anywhere starts a new one. ``NUMBA_CACHE_DIR`` or ``XDG_CACHE_HOME`` say
where it lies.
"""

from __future__ import annotations

import hashlib
import os
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar, overload

import numba
from numba.core.event import Event, Listener, register

from dtrbandit.kernels.parts import PartCompiler

Function = TypeVar("Function", bound=Callable[..., Any])
PACKAGE = Path(__file__).parents[1]


def fingerprint(package: Path = PACKAGE) -> str:
    """Return a hash of all files of the package that hold kernels or what kernels are made of."""
    digest = hashlib.sha256(f"{numba.__version__} {sys.version}".encode())
    for path in sorted(package.rglob("*.py")):
        source = path.read_bytes()
        if path.parent.name == "kernels" or b"import kernel" in source:
            digest.update(path.relative_to(package).as_posix().encode() + b"\0" + source)
    return digest.hexdigest()[:16]


def cache_folder() -> Path:
    """Return the folder for this version of the kernels; one for this process alone if there is no place to write."""
    base = os.environ.get("NUMBA_CACHE_DIR") or os.environ.get("XDG_CACHE_HOME") or Path("~/.cache").expanduser()
    folder = Path(base) / "dtrbandit" / fingerprint()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=folder).close()
    except OSError:
        return Path(tempfile.mkdtemp(prefix="dtrbandit-"))
    return folder


CACHE = str(cache_folder())


@overload
def kernel(function: Function, /) -> Function: ...
@overload
def kernel(*, entry: bool = ...) -> Callable[[Function], Function]: ...
def kernel(function: Any = None, /, *, entry: bool = False) -> Any:
    """Compile a kernel: fixed order of operations, no fastmath.

    A kernel is a part of the kernels that call it; ``entry=True`` makes it callable from Python.
    """
    if function is None:
        return lambda inner: kernel(inner, entry=entry)  # type: ignore[call-overload]  # both at once
    options: dict[str, Any] = {
        "cache": entry,
        "nogil": True,
        "fastmath": False,
        "error_model": "numpy",  # divide without a branch for zero
        "no_cpython_wrapper": not entry,
        "no_cfunc_wrapper": True,
        **({} if entry else {"pipeline_class": PartCompiler}),
    }
    elsewhere, numba.config.CACHE_DIR = numba.config.CACHE_DIR, CACHE
    try:
        return numba.njit(**options)(function)
    finally:
        numba.config.CACHE_DIR = elsewhere


MESSAGE = "dtrbandit: compiling its kernels for this task, half a minute or so, once for this release …"


class Announcer(Listener):
    """Says once, on standard error, that kernels are being compiled."""

    def __init__(self) -> None:
        self.said = False

    def on_start(self, event: Event) -> None:
        """Speak when the first kernel of ours is compiled rather than loaded."""
        dispatcher = (event.data or {}).get("dispatcher")
        if not self.said and getattr(dispatcher, "__module__", "").startswith("dtrbandit"):
            self.said = True
            print(MESSAGE, file=sys.stderr, flush=True)

    def on_end(self, event: Event) -> None:
        """Stay silent."""


register("numba:compile", Announcer())
