"""Fill a cache with the machine code of all entries of the package."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from importlib import import_module

from dtrbandit.kernels.cache import Cache
from dtrbandit.kernels.compile import ENTRIES, Name
from dtrbandit.kernels.digest import key_of
from dtrbandit.kernels.lock import Lock
from dtrbandit.kernels.sources import kernel_modules

Report = Callable[[int, int], None]  # done, of how many
OBJECTS_BETWEEN_COLLECTIONS = 100_000


def own_entries() -> list[Name]:
    """Return the names of the entries of the package that are imported; others may register entries too."""
    package = __name__.split(".")[0]
    return [name for name in ENTRIES if name[0].split(".")[0] == package]


def all_entries() -> list[Name]:
    """Return the names of all entries of the package, after importing them."""
    for module in kernel_modules():
        import_module(module)
    return own_entries()


def in_order(first: Iterable[Name] = ()) -> list[Name]:
    """Return the names of all entries of the package, those in ``first`` before the others and in this order."""
    known = all_entries()
    return list(dict.fromkeys([*(name for name in first if name in known), *known]))


def lacking(cache: Cache, names: Iterable[Name]) -> list[Name]:
    """Return the entries whose machine code a cache does not have."""
    return [name for name in names if cache.load(key_of(name)) is None]


def fill(cache: Cache, names: Iterable[Name], *, report: Report | None = None) -> None:
    """Compile what a cache lacks of some entries; the caller holds the lock.

    ``report`` is told before each how many are done, and of how many. What is there by then is passed over.

    Raises OSError if something cannot be written.
    """
    from dtrbandit.kernels.machine import Workshop, pack

    missing, workshop = lacking(cache, names), Workshop()
    with _rare_collections():
        for done, name in enumerate(missing):
            if report is not None:
                report(done, len(missing))
            if lacking(cache, [name]):
                cache.store(key_of(name), pack(workshop.compile(ENTRIES[name])))


@contextmanager
def _rare_collections() -> Iterator[None]:
    """Let the garbage collector look less often: a compiler makes much that lasts, and it looks at all of that."""
    before = gc.get_threshold()
    gc.set_threshold(OBJECTS_BETWEEN_COLLECTIONS)
    try:
        yield
    finally:
        gc.set_threshold(*before)


def fill_alone(cache: Cache, *, report: Report | None = None) -> None:
    """Fill a cache from this process, once nobody else does. Raises NoCache or OSError."""
    cache.open()
    lock = Lock(cache.lock)
    lock.wait()
    try:
        fill(cache, in_order(), report=report)
    finally:
        lock.free()
