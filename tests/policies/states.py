"""The states of built-in policies, compared bit for bit; and one policy of every kind for a design."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

import dtrbandit as dtr
from dtrbandit.policies.builtin_policy import BuiltinPolicy
from dtrbandit.policies.registry import examples
from dtrbandit.policies.state import PolicyState


def every_policy(design: dtr.Design) -> list[BuiltinPolicy]:
    """Return examples of all built-in policies. A fixed regime names the stages and arms of its design."""
    rule: dict[str, Any] = {
        stage.name: {arm: np.linspace(-1, k, d).tolist() for k, arm in enumerate(stage.arms)}
        for stage, d in zip(design.stages, design.dimensions, strict=True)
    }
    policies: list[Any] = [*examples(), dtr.FixedRegime(rule=rule)]
    return policies


def bits(state: PolicyState) -> dict[str, tuple[str, tuple[int, ...], bytes]]:
    """Return all that a state knows, bit for bit."""
    return {name: (array.dtype.str, array.shape, array.tobytes()) for name, array in state.arrays().items()}


def differences(found: PolicyState, expected: PolicyState) -> list[str]:
    """Return the names of arrays in which two states differ, but for room."""
    mine, theirs = found.arrays(), expected.arrays()
    assert list(mine) == list(theirs)
    return [name for name in mine if not _same(mine[name], theirs[name])]


def _same(one: NDArray[Any], other: NDArray[Any]) -> bool:
    both = tuple(slice(min(lengths)) for lengths in zip(one.shape, other.shape, strict=True))
    return one.dtype == other.dtype and one[both].tobytes() == other[both].tobytes()
