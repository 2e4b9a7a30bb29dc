"""How long kernels take as plain Python: whether a piece of work should wait for machine code."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from dtrbandit.design.spec import Design
from dtrbandit.kernels import supply
from dtrbandit.kernels.compile import Entry
from dtrbandit.policies.compiled_policy import CompiledPolicy
from dtrbandit.policies.lsvi_ucb import LSVIUCB
from dtrbandit.policies.policy import Policy

SECONDS_PER_UNIT = 1.25e-5  # times arms × (features × stages)²
SECONDS_PER_PAIR = 7.5e-7  # of units, times arms × (features + 1): what a sweep over all units costs


def compile_for(
    what: str,
    policies: Iterable[Policy[Any]],
    design: Design,
    *,
    units: int,
    times: float = 1.0,
    entries: Sequence[Entry] = (),
) -> bool:
    """Wait for machine code if so many units, so many times, take longer without it; say whether it is there.

    For work that is no verb of a session. ``what`` is waiting, and calls ``entries``, by default any.
    """
    seconds = times * interpreted_seconds(policies, design, units=units)
    return supply.require(what, seconds=seconds, entries=entries)


def compile_elsewhere_for(
    what: str, policies: Iterable[Policy[Any]], design: Design, *, units: int, times: float, entries: Sequence[Entry]
) -> bool:
    """Wait as ``compile_for`` does, but leave machine code in the cache: other processes do the work."""
    seconds = times * interpreted_seconds(policies, design, units=units)
    return supply.provide(what, seconds=seconds, entries=entries)


def interpreted_seconds(policies: Iterable[Policy[Any]], design: Design, *, units: int) -> float:
    """Return about how long built-in policies take for so many units, from the beginning, as plain Python.

    Examples
    --------
    >>> from dtrbandit.environments import Synthetic
    >>> from dtrbandit.policies import Greedy
    >>> interpreted_seconds([Greedy()], Synthetic().design, units=1_000)
    0.4
    """
    return sum(_seconds(policy, design, units) for policy in policies if isinstance(policy, CompiledPolicy))


def _seconds(policy: CompiledPolicy, design: Design, units: int) -> float:
    stages, arms, features = len(design.stages), max(design.arm_counts), max(design.dimensions)
    seconds = units * SECONDS_PER_UNIT * arms * (features * stages) ** 2
    if isinstance(policy, LSVIUCB) and policy.switching == "every":
        seconds += units**2 * SECONDS_PER_PAIR * arms * (features + 1) * (stages - 1)
    return seconds
