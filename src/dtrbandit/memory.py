"""Memory: refuse work that cannot fit before it begins; the system would end the whole process otherwise."""

from __future__ import annotations

import math
import os
from contextlib import suppress
from pathlib import Path
from typing import Any

from dtrbandit.design.spec import Design
from dtrbandit.errors import DesignError
from dtrbandit.policies.policy import Policy
from dtrbandit.policies.registry import is_builtin
from dtrbandit.policies.state import PolicyState

LIMIT = Path("/sys/fs/cgroup/memory.max")  # of a container, where there is one
IN_PYTHON = 1_000  # bytes of a unit that a Session keeps, at the least
GIGABYTE = 1e9


def memory() -> float:
    """Return the bytes that this process could ever have; infinity where the system does not say."""
    known = [math.inf]
    with suppress(AttributeError, OSError, ValueError):  # not every system says it
        known.append(float(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")))
    with suppress(OSError, ValueError):  # no container, or one without a limit: "max"
        known.append(float(LIMIT.read_text()))
    return min(known)


def require_memory(needed: int, what: str, *, remedy: str) -> None:
    """Refuse what needs more bytes than there are.

    Examples
    --------
    >>> require_memory(10**30, "a study of 10 paths", remedy="take fewer")
    Traceback (most recent call last):
    dtrbandit.errors.DesignError: a study of 10 paths needs at least 1e+21 GB of memory...
    """
    most = memory()
    if needed > most:
        asked = min(needed, 10**300) / GIGABYTE  # a whole number may be larger than any float
        raise DesignError(
            f"{what} needs at least {asked:,.4g} GB of memory, and there are {most / GIGABYTE:,.3g}; {remedy}"
        )


def state_bytes(policy: Policy[Any], design: Design) -> int:
    """Return how many bytes a policy's state keeps of each unit."""
    if not is_builtin(policy):
        return IN_PYTHON
    return bytes_per_unit(policy.init(design))


def bytes_per_unit(state: PolicyState) -> int:
    """Return how many bytes a state keeps of each unit; it makes more room to find out."""
    capacity, before = state.capacity, _bytes(state)
    state.reserve(2 * capacity)
    return (_bytes(state) - before) // capacity


def _bytes(state: PolicyState) -> int:
    return sum(array.nbytes for array in state.arrays().values())
