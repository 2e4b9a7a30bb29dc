"""Fill a cache with the machine code of all entries of the package."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from importlib import import_module

from dtrbandit.kernels.cache import Cache
from dtrbandit.kernels.compile import ENTRIES, Name
from dtrbandit.kernels.digest import key_of
from dtrbandit.kernels.lock import Lock
from dtrbandit.kernels.sources import kernel_modules

Report = Callable[[int, int], None]  # done, of how many


def own_entries() -> list[Name]:
    """Return the names of the entries of the package that are imported; others may register entries too."""
    package = __name__.split(".")[0]
    return [name for name in ENTRIES if name[0].split(".")[0] == package]


def all_entries() -> list[Name]:
    """Return the names of all entries of the package, after importing them."""
    for module in kernel_modules():
        import_module(module)
    return own_entries()


def fill(cache: Cache, *, first: Iterable[Name] = (), report: Report | None = None) -> None:
    """Compile what a cache lacks, those in ``first`` before the others and in this order; the caller holds the lock.

    ``report`` is told before each how many are done, and of how many.

    Raises OSError if something cannot be written.
    """
    from dtrbandit.kernels.machine import Workshop, pack

    known = all_entries()
    names = dict.fromkeys([*(name for name in first if name in known), *known])
    missing = [name for name in names if cache.load(key_of(name)) is None]
    workshop = Workshop()
    for done, name in enumerate(missing):
        if report is not None:
            report(done, len(missing))
        cache.store(key_of(name), pack(workshop.compile(ENTRIES[name])))


def fill_alone(cache: Cache, *, report: Report | None = None) -> None:
    """Fill a cache from this process, once nobody else does. Raises NoCache or OSError."""
    cache.open()
    lock = Lock(cache.lock)
    lock.wait()
    try:
        fill(cache, report=report)
    finally:
        lock.free()
