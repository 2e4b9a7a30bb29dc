"""Uniform randomisation: the benchmark that learns nothing, and the design of a plain SMART."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dtrbandit.design.formula import Vector
from dtrbandit.design.spec import Design
from dtrbandit.kernels.compile import kernel
from dtrbandit.policies.compiled_policy import CompiledPolicy
from dtrbandit.policies.memory import CONTENDER, ONLY_FEASIBLE, PROPENSITY, UNIFORM, UNIFORM_RANDOM
from dtrbandit.policies.rules import show_nothing


@dataclass(frozen=True, kw_only=True)
class UniformRandom(CompiledPolicy):
    """Give every feasible arm of a stage the same probability.

    Examples
    --------
    >>> UniformRandom()
    UniformRandom()
    """

    @property
    def kind(self) -> int:
        """Its number in the switch."""
        return UNIFORM_RANDOM

    def numbers(self, design: Design) -> Vector:  # noqa: ARG002  # fits every design
        """Return none: it has no parameters."""
        return np.zeros(0)


@kernel
def decide(child, node, u, shown):
    """Draw one of the feasible arms; return it and the reason."""
    feasible = show_nothing(child, node, shown)
    pick = int(u * feasible)
    arm, passed = np.int64(-1), 0
    for a in range(shown.shape[1]):
        if shown[CONTENDER, a] > 0.0:
            shown[PROPENSITY, a] = 1.0 / feasible
            if passed == pick:
                arm = np.int64(a)
            passed += 1
    return arm, ONLY_FEASIBLE if feasible == 1 else UNIFORM
