"""What is left of a plan for a unit whose arms may have been overridden, contraindicated or closed."""

from __future__ import annotations

import numpy as np

from dtrbandit.estimators.observed import Observed
from dtrbandit.kernels.arrays import Integers, Truth, Whole
from dtrbandit.kernels.compile import kernel


@kernel
def next_of_plan(following: Integers, arms: Integers, plans: Integers, plan: Whole, unit: Whole, m: Whole) -> np.int64:
    """Return the arm that a plan prescribes at stage ``m``, or −1 once overrides have made it infeasible.

    An override that leaves the rest of the plan feasible changes nothing; after one that does not, all later
    stages are free (docs/readings.md, 6).
    """
    for given in range(m + 1):
        node = np.int64(0)
        for k in range(plans.shape[1]):
            arm = np.int64(arms[unit, k]) if k < given else plans[plan, k]
            node = np.int64(following[node, arm])
            if node < 0:
                return np.int64(-1)
    prescribed: np.int64 = plans[plan, m]
    return prescribed


@kernel
def leads_on(observed: Observed, plans: Integers, plan: Whole, node: Whole, m: Whole) -> Truth:
    """Say whether all arms of a plan from stage ``m`` on are feasible for units that stand at ``node``."""
    for k in range(m, plans.shape[1]):
        node = np.int64(observed.child[node, plans[plan, k]])
        if node < 0:
            return False
    return True
