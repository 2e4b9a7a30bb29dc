"""The process that compiles: ``python -m dtrbandit.kernels.child FOLDER TASK [ENTRY …]``.

It ends at once if another process is compiling for the same cache. A starting process reads how it ended from its
exit code. Where somebody waits for several entries, it has a helper: the same program, which compiles some of them at
the same time, under the lock of the one that started it.

It ends with the process that started it, whose end of a pipe it watches: the lock of one that was killed must not stay
held. A process that ends in order lets it live on.
"""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path

from dtrbandit.kernels.cache import Cache, NoCache, find_cache
from dtrbandit.kernels.compile import Name
from dtrbandit.kernels.fill import all_entries, fill, in_order, lacking
from dtrbandit.kernels.lock import Lock
from dtrbandit.kernels.sources import PACKAGE

FILLED, BUSY, NOT_WRITABLE, OTHER_MAKERS, LEFT = 0, 3, 4, 5, 6  # exit codes
WHY = {
    NOT_WRITABLE: "the cache could not be written",
    OTHER_MAKERS: "the files of the package have changed since it was imported",
}
IN_BACKGROUND, FOR_SOMEBODY, AS_HELPER = "background", "waited-for", "helper"  # tasks
LOWEST = 19
LIVE_ON = b"."  # what a child reads from a process that ends in order
AUTOGROUP = Path("/proc/self/autogroup")


def start_child(cache: Cache, *, first: Iterable[Name] = (), background: bool) -> subprocess.Popen[bytes]:
    """Start a process that fills a cache; those who wait want ``first``. Raises OSError.

    What runs in the background, and what is left when ``first`` is done, has the lowest priority.
    """
    if getattr(sys, "frozen", False) or not sys.executable:
        raise NoCache("this program has no Python interpreter beside it that could compile")
    return _start(cache, IN_BACKGROUND if background else FOR_SOMEBODY, first, own_session=True)


def _start(cache: Cache, task: str, names: Iterable[Name], *, own_session: bool) -> subprocess.Popen[bytes]:
    path = [str(PACKAGE.parent), *filter(None, sys.path)]
    command = [sys.executable, "-P", "-m", "dtrbandit.kernels.child", str(cache.folder), task]
    return subprocess.Popen(
        [*command, *("/".join(name) for name in names)],
        # plain: a program that runs under the name of Python must not start another, and so on
        env={**os.environ, "PYTHONPATH": os.pathsep.join(path), "DTRBANDIT_KERNELS": "plain"},
        bufsize=0,
        stdin=subprocess.PIPE,  # it ends when this does
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=own_session,  # Ctrl-C is not meant for it
    )


def let_live_on(child: subprocess.Popen[bytes]) -> None:
    """Let a child live on when this process ends, without a warning that nobody waited for it."""
    with suppress(OSError):  # it has ended
        assert child.stdin is not None
        child.stdin.write(LIVE_ON)
    forget(child)


def forget(child: subprocess.Popen[bytes]) -> None:
    """Let go of a child that has ended, or that is another process's."""
    assert child.stdin is not None
    child.stdin.close()
    if child.poll() is None:
        child.returncode = 0


def end_with_starter() -> None:
    """End when the process that started this one has ended, unless it has said that this one lives on."""
    if os.read(sys.stdin.fileno(), 1) != LIVE_ON:
        os._exit(LEFT)


def main(arguments: Sequence[str]) -> int:
    """Fill the cache; return how it went."""
    folder, task, *entries = arguments
    if task == IN_BACKGROUND:
        lower_priority()
    cache = find_cache()
    if str(cache.folder) != folder:
        return OTHER_MAKERS
    known, asked = all_entries(), [tuple(each.split("/")) for each in entries]
    names = [name for name in asked if name in known]
    lock = Lock(cache.lock)
    try:
        cache.open()
        if task == AS_HELPER:
            fill(cache, names)
        elif not lock.take():
            return BUSY
        else:
            _fill_all(cache, names, hurry=task == FOR_SOMEBODY)
    except (NoCache, OSError):
        return NOT_WRITABLE
    return FILLED


def _fill_all(cache: Cache, first: Sequence[Name], *, hurry: bool) -> None:
    """Fill the cache, ``first`` before the others; if somebody waits for these, a helper compiles every second one."""
    waited_for, alone = lacking(cache, first), not hurry or os.cpu_count() == 1
    own, beside = (waited_for, []) if alone else (waited_for[::2], waited_for[1::2])
    helper = _start_helper(cache, beside)

    def step_back(done: int, _total: int) -> None:
        if done == len(own) and helper is not None:
            helper.wait()  # what it could not do is done here
        if hurry and not lacking(cache, waited_for):
            lower_priority()

    try:
        fill(cache, in_order([*own, *beside]), report=step_back)
    finally:
        if helper is not None:
            helper.wait()


def _start_helper(cache: Cache, names: Sequence[Name]) -> subprocess.Popen[bytes] | None:
    if not names:
        return None
    try:
        return _start(cache, AS_HELPER, names, own_session=False)
    except OSError:
        return None  # there is no room for a second process: one does it all


def lower_priority() -> None:
    """Leave the processor to everybody else.

    Linux weighs sessions against each other, and a process that compiles has one of its own: ``nice`` counts only
    within it.
    """
    if hasattr(os, "nice"):
        os.nice(LOWEST)
    with suppress(OSError):
        AUTOGROUP.write_text(str(LOWEST))


if __name__ == "__main__":
    threading.Thread(target=end_with_starter, daemon=True).start()
    sys.exit(main(sys.argv[1:]))
