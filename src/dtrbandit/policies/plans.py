"""What policies share that force plans and estimate Q̂: which arm of a plan comes next, if any.

What is left of a plan for a unit may depend on arms that were overridden, contraindicated or closed.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dtrbandit.design.spec import Design
from dtrbandit.estimators.estimates import Estimates
from dtrbandit.estimators.exact import ExactLearner
from dtrbandit.kernels import constants as c
from dtrbandit.policies.state import PolicyState

BUILT_FROM = c.BUILT_FROM


class PlanState(PolicyState):
    """A policy in play that forces plans and learns Q̂ exactly; ``plans`` (P, M) are the feasible ones."""

    def __init__(self, policy: Any, design: Design) -> None:
        super().__init__(policy, design)
        self.knows_units = True
        self.plans, self.plan_count = np.array(design.arm_plans, dtype=np.int64), len(design.arm_plans)
        self.learner = ExactLearner(self.observed)

    def learn(self, fact: int, unit: int, m: int) -> None:
        """Learn from a fact that is written down."""
        self.learner.learn(fact, unit, m)

    def relearn(self) -> None:
        """Learn everything again from what is written down."""
        self.learner.relearn()

    def make_room(self, capacity: int, nodes: int) -> None:  # one signature for all
        """Make room for so many units."""
        self.learner.reserve(capacity)

    def parts(self) -> dict[str, Any]:
        """Return by name what has arrays of its own."""
        return {"observed": self.observed, "learner": self.learner}

    def estimates(self) -> Estimates:
        """Return the coefficients of Q̂."""
        return self.learner.estimates(self.design)

    def write_hat(self, m: int) -> None:
        """Write down Q̂ of each arm."""
        for a in range(self.observed.arm_count[m]):
            self.sheet[c.Q_HAT, a] = self.learner.q_hat(m, a)

    def leads_on(self, plan: int, node: int, m: int) -> bool:
        """Say whether all arms of a plan from stage ``m`` on are feasible for units that stand at ``node``."""
        for k in range(m, self.observed.stages):
            node = self.observed.child[node, self.plans[plan, k]]
            if node < 0:
                return False
        return True

    def next_of_plan(self, plan: int, unit: int, m: int) -> int:
        """Return the arm that a plan prescribes at stage ``m``, or −1 once overrides have made it infeasible.

        An override that leaves the rest of the plan feasible changes nothing; after one that does not, all later
        stages are free (docs/readings.md, 6).
        """
        for given in range(m + 1):
            node = 0
            for k in range(self.observed.stages):
                arm = self.observed.arms[unit, k] if k < given else self.plans[plan, k]
                node = self.observed.following[node, arm]
                if node < 0:
                    return -1
        prescribed: int = self.plans[plan, m]
        return prescribed
