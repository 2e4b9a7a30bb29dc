"""Uniform randomisation: the benchmark that learns nothing, and the design of a plain SMART."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from dtrbandit.design.spec import Design
from dtrbandit.kernels import constants as c
from dtrbandit.policies.builtin_policy import BuiltinPolicy
from dtrbandit.policies.policy import Policy
from dtrbandit.policies.state import PolicyState

BUILT_FROM = c.BUILT_FROM


@dataclass(frozen=True, kw_only=True)
class UniformRandom(BuiltinPolicy):
    """Give every feasible arm of a stage the same probability.

    Examples
    --------
    >>> UniformRandom()
    UniformRandom()
    """

    learns: ClassVar[bool] = False
    randomises: ClassVar[bool] = True

    @classmethod
    def examples(cls) -> tuple[Policy[Any], ...]:
        """Return the only one."""
        return (cls(),)

    def state(self, design: Design) -> UniformRandomState:
        """Return its state before the first unit."""
        return UniformRandomState(self, design)


class UniformRandomState(PolicyState):
    """UniformRandom in play."""

    def decide(self, unit: int, m: int, node: int, u: float) -> int:
        """Draw one of the feasible arms; leave the reason."""
        feasible = self.clear_sheet(node)
        arm, pick, passed = -1, 0, 0
        while pick + 1 <= u * feasible:
            pick += 1
        for a in range(self.width):
            if self.sheet[c.CONTENDER, a] > 0.0:
                self.sheet[c.PROPENSITY, a] = 1.0 / feasible
                if passed == pick:
                    arm = a
                passed += 1
        self.reason = c.ONLY_FEASIBLE if feasible == 1 else c.UNIFORM
        return arm
