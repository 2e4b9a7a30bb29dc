"""What is left of a plan for a unit whose arms may have been overridden."""

from __future__ import annotations

import numpy as np

from dtrbandit.kernels.arrays import Integers, Whole
from dtrbandit.kernels.compile import kernel


@kernel
def next_of_plan(child: Integers, arms: Integers, plans: Integers, plan: Whole, unit: Whole, m: Whole) -> np.int64:
    """Return the arm that a plan prescribes at stage ``m``, or −1 once overrides have made it infeasible.

    An override that leaves the rest of the plan feasible changes nothing; after one that does not, all later
    stages are free (docs/readings.md, 6).
    """
    for given in range(m + 1):
        node = np.int64(0)
        for k in range(plans.shape[1]):
            arm = np.int64(arms[unit, k]) if k < given else plans[plan, k]
            node = np.int64(child[node, arm])
            if node < 0:
                return np.int64(-1)
    prescribed: np.int64 = plans[plan, m]
    return prescribed
