"""The thread that brings machine code to a process, and those who wait for it."""

from __future__ import annotations

import atexit
import concurrent.futures.thread  # noqa: F401  # its hooks for forks, and those of logging, must come before ours
import logging  # noqa: F401  # numba imports both, in a thread that our hook waits for
import os
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from types import ModuleType

from dtrbandit.kernels.cache import Cache, NoCache, find_cache
from dtrbandit.kernels.child import BUSY, FILLED, OTHER_MAKERS, WHY, forget, let_live_on, start_child
from dtrbandit.kernels.compile import ENTRIES, Name
from dtrbandit.kernels.digest import key_of
from dtrbandit.kernels.fill import fill_alone, own_entries
from dtrbandit.kernels.lock import Lock
from dtrbandit.kernels.waiting import Waiting

SECONDS_TO_COMPILE = 20.0  # on an ordinary machine of two cores
SECONDS_TO_LOAD = 1.0
SECONDS_OF_SILENCE = 2.0  # while another process compiles
SECONDS_TO_FORK = 5.0  # that a fork waits for a step to be done
SECONDS_BETWEEN_LOOKS = 0.2  # into the cache, while somebody compiles
SECONDS_BETWEEN_LOADS = 0.01  # for verbs to come through
SECONDS_BEFORE = 0.5  # for the first verbs to come through, and for work that cannot wait to say so


class Supplier:
    """What this process does for its machine code."""

    def __init__(self) -> None:
        self.asked = 0  # number of entries when machine code was last asked for
        self.worker = False
        self._said = False
        self._gave_up = False
        self._first: Sequence[Name] = ()  # what to compile before the rest
        self._child: subprocess.Popen[bytes] | None = None
        self._filled = False  # by a child of ours
        self._urgent = threading.Event()  # somebody waits
        self._thread: threading.Thread | None = None
        self._left = False  # the end of Python has come
        self._held: list[threading.Lock] = []  # during a fork
        self._starting, self._importing, self._loading = threading.Lock(), threading.Lock(), threading.Lock()

    def begin(self, first: Sequence[Name] = ()) -> None:
        """Start the thread, unless it runs or there is nothing to do. Unless somebody waits, ``first`` comes first."""
        with self._starting:
            running = self._thread is not None and self._thread.is_alive()
            if not running and not self._gave_up and _missing(own_entries()):
                self._first = self._first or first
                self._thread = threading.Thread(target=self._serve, name="dtrbandit-kernels", daemon=True)
                self._thread.start()

    def wait(self, what: str, names: Sequence[Name], *, seconds: float | None) -> bool:
        """Wait for the machine code of entries, unless it would take longer than so many seconds; say if it is there.

        With a cache that cannot be used it is compiled here, for this process alone.
        """
        try:
            cache = self._find_cache()
        except ImportError as error:
            self._give_up(f"numba cannot be imported ({error})")
            return False
        except NoCache:
            if seconds is None or seconds >= SECONDS_TO_COMPILE:
                with Waiting(what, seconds=SECONDS_TO_COMPILE) as waiting:
                    waiting.show(0, len(names))
                    self._compile_here(names)
            return not _missing(names)
        filled = all(cache.has(key_of(name)) for name in names)
        if not filled and seconds is not None and seconds < SECONDS_TO_COMPILE:
            self.begin()
            return False
        if self._is_worker():
            self.ensure(names)
        else:
            self._watch(what, names, only_load=filled)
        return not _missing(names)

    def provide(self, what: str, names: Sequence[Name], *, seconds: float | None) -> bool:
        """Leave machine code in the cache for other processes to load; wait for what the cache does not have."""
        try:
            cache = self._find_cache()
            filled = all(cache.has(key_of(name)) for name in names)
        except (ImportError, NoCache):
            filled = False
        return filled or self.wait(what, names, seconds=seconds)

    def ensure(self, names: Sequence[Name]) -> None:
        """Load machine code now; if the cache lacks some, fill it from this process, one process at a time."""
        if not _missing(names):
            return
        try:
            cache = self._find_cache()
            self._load(cache, names)
            if _missing(names):
                fill_alone(cache)
                self._load(cache, names)
        except (NoCache, OSError):
            self._compile_here(names)
        except ImportError as error:
            self._give_up(f"numba cannot be imported ({error})")

    def _watch(self, what: str, names: Sequence[Name], *, only_load: bool) -> None:
        """Show what the thread does until it has ended, unless it only loads; then compile what it could not bring."""
        self._first = names
        self._urgent.set()
        self.begin()
        begun = time.monotonic()
        with Waiting(what, seconds=SECONDS_TO_COMPILE) as waiting:
            while self._thread is not None and self._thread.is_alive() and (missing := _missing(names)):
                long = time.monotonic() - begun > SECONDS_OF_SILENCE
                if not only_load and (self._child is not None or long):
                    waiting.show(len(names) - len(missing), len(names))
                self._thread.join(SECONDS_BETWEEN_LOADS)
            if _missing(names):
                waiting.show(0, len(names))
                self._compile_here(names)

    # -- the thread ----------------------------------------------------------------------------------------------

    def _serve(self) -> None:
        self._urgent.wait(SECONDS_BEFORE)
        try:
            self._bring()
        except NoCache as error:
            self._give_up(str(error))
        except Exception as error:  # noqa: BLE001  # whatever fails here, sessions go on with plain kernels
            self._give_up(f"{type(error).__name__}: {error}")

    def _bring(self) -> None:
        """Load what the cache has, and let a child make the rest."""
        cache = self._find_cache()
        while True:
            self._load(cache, list(dict.fromkeys([*self._first, *own_entries()])))
            if self._is_worker() or not _missing(own_entries()):
                return
            self._see_to_child(cache)
            time.sleep(SECONDS_BETWEEN_LOOKS)

    def _see_to_child(self, cache: Cache) -> None:
        """Start a child if nobody compiles; raise NoCache if ours has failed."""
        if self._child is None:
            if self._filled:
                raise NoCache(WHY[OTHER_MAKERS])  # it has compiled others than these
            cache.open()
            if Lock(cache.lock).is_free():
                self._child = start_child(cache, first=self._first, background=not self._urgent.is_set())
            return
        code = self._child.poll()
        if code is not None:
            forget(self._child)
            self._child, self._filled = None, code == FILLED
            if code not in (FILLED, BUSY):
                raise NoCache(WHY.get(code, f"the process that compiles ended with exit code {code}"))

    def _load(self, cache: Cache, names: Sequence[Name]) -> None:
        """Let entries run the machine code that the cache has."""
        for name in _missing(names):
            packed = cache.load(key_of(name))
            if packed is None and cache.has(key_of(name)):
                self._say(f"a damaged file of machine code in {cache.folder} is made anew")
            if packed is not None:
                machine = self._machine()
                with self._loading:
                    if not ENTRIES[name].compiled:
                        machine.install(ENTRIES[name], machine.unpack(packed))
                time.sleep(SECONDS_BETWEEN_LOADS)

    # -- small steps ---------------------------------------------------------------------------------------------

    def _find_cache(self) -> Cache:
        with self._importing:
            return find_cache()

    def _machine(self) -> ModuleType:
        """Import numba, and what it imports before it first does something."""
        with self._importing:
            from dtrbandit.kernels import machine

            machine.prepare()
        return machine

    def _compile_here(self, names: Sequence[Name]) -> None:
        try:
            machine = self._machine()
        except ImportError as error:
            self._give_up(f"numba cannot be imported ({error})")
            return
        machine.compile_here([ENTRIES[name] for name in _missing(names)])

    def _is_worker(self) -> bool:
        """Say whether this process works for another one that has its own means to compile."""
        process = sys.modules.get("multiprocessing.process")
        return self.worker or (process is not None and process.parent_process() is not None)

    def _give_up(self, reason: str) -> None:
        """Leave kernels as they are, and say why, once."""
        self._gave_up = True
        self._say(f"kernels run as plain Python, which is slower, because {reason}")

    def _say(self, text: str) -> None:
        """Say something on standard error, once in the life of the process."""
        if not self._said and not sys.is_finalizing() and sys.stderr is not None:
            self._said = True
            print(f"dtrbandit: {text}", file=sys.stderr, flush=True)

    # -- forks and the end ---------------------------------------------------------------------------------------

    def hold(self) -> None:
        """Let no step be half done: what a fork copies must be whole. It waits for some seconds at most."""
        steps = () if self._left else (self._importing, self._loading)
        self._held = [step for step in steps if step.acquire(timeout=SECONDS_TO_FORK)]

    def go_on(self) -> None:
        """Go on after ``hold``."""
        for step in self._held:
            step.release()
        self._held = []

    def begin_again(self) -> None:
        """Forget the thread and the child, which a fork has left behind."""
        self._gave_up = self._gave_up or (not self._left and len(self._held) < 2)  # a step was half done
        self.go_on()
        self._importing, self._loading = threading.Lock(), threading.Lock()
        self.asked, self._thread, self._starting, self._urgent = 0, None, threading.Lock(), threading.Event()
        if self._child is not None:
            forget(self._child)
        self._child = None

    def leave(self) -> None:
        """Load nothing more: a thread that the end of Python meets within LLVM would abort the process."""
        self._loading.acquire()
        self._left = True
        if self._child is not None:
            let_live_on(self._child)
        self._child = None


def _missing(names: Sequence[Name]) -> list[Name]:
    return [name for name in names if not ENTRIES[name].compiled]


SUPPLIER = Supplier()
atexit.register(SUPPLIER.leave)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=SUPPLIER.hold, after_in_parent=SUPPLIER.go_on, after_in_child=SUPPLIER.begin_again)
