"""The process that compiles: ``python -m dtrbandit.kernels.child FOLDER PRIORITY [ENTRY …]``.

It ends at once if another process is compiling for the same cache. A starting process reads how it ended from its
exit code.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterable, Sequence

from dtrbandit.kernels.cache import Cache, NoCache, find_cache
from dtrbandit.kernels.compile import Name
from dtrbandit.kernels.digest import key_of
from dtrbandit.kernels.fill import fill
from dtrbandit.kernels.lock import Lock
from dtrbandit.kernels.sources import PACKAGE

FILLED, BUSY, NOT_WRITABLE, OTHER_MAKERS = 0, 3, 4, 5  # exit codes
WHY = {
    NOT_WRITABLE: "the cache could not be written",
    OTHER_MAKERS: "the files of the package have changed since it was imported",
}


def start_child(cache: Cache, *, first: Iterable[Name] = (), background: bool) -> subprocess.Popen[bytes]:
    """Start a process that fills a cache; those who wait want ``first``. Raises OSError.

    What runs in the background, and what is left when ``first`` is done, has the lowest priority.
    """
    if getattr(sys, "frozen", False) or not sys.executable:
        raise NoCache("this program has no Python interpreter beside it that could compile")
    path = [str(PACKAGE.parent), *filter(None, sys.path)]
    command = [sys.executable, "-P", "-m", __name__, str(cache.folder), "low" if background else "usual"]
    return subprocess.Popen(
        [*command, *("/".join(name) for name in first)],
        # plain: a program that runs under the name of Python must not start another, and so on
        env={**os.environ, "PYTHONPATH": os.pathsep.join(path), "DTRBANDIT_KERNELS": "plain"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,  # Ctrl-C is not meant for it
    )


def main(arguments: Sequence[str]) -> int:
    """Fill the cache; return how it went."""
    folder, priority, *first = arguments
    if priority == "low":
        _lower_priority()
    cache = find_cache()
    if str(cache.folder) != folder:
        return OTHER_MAKERS
    urgent = [(module, name) for module, _, name in (each.partition("/") for each in first)]

    def step_back(_done: int, _total: int) -> None:
        if priority == "usual" and all(cache.has(key_of(name)) for name in urgent):
            _lower_priority()

    lock = Lock(cache.lock)
    try:
        cache.open()
        if not lock.take():
            return BUSY
        fill(cache, first=urgent, report=step_back)
    except (NoCache, OSError):
        return NOT_WRITABLE
    return FILLED


def _lower_priority() -> None:
    if hasattr(os, "nice"):
        os.nice(19)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
