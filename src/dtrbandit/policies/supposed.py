"""Suppose that a unit was given an arm, and ask for its next: what replay does with a unit it may not accept.

A decision at a later stage looks at the estimates of that stage, and at what the unit itself was given. Its own
earlier rows cannot have changed those estimates: a row of stage m teaches stage m and the stages before it, and it
counts only on arrival at stage m + 1. So it is enough to write down the unit's own entries, and to clear them
afterwards. (LSVI-UCB with rare switching is the exception from three stages on: see ``looks_only_back``.)
"""

from __future__ import annotations

from typing import Any

from dtrbandit.kernels.compile import kernel
from dtrbandit.policies.epsilon_greedy import next_pull
from dtrbandit.policies.lsvi_ucb import LSVIUCB
from dtrbandit.policies.memory import DTR_BANDIT, EPSILON_GREEDY
from dtrbandit.policies.policy import Policy


@kernel
def suppose(kind, unit, m, arm, forced, learner, memory):
    """Note the arm of a unit at stage ``m`` where its later stages look for it, and nowhere else."""
    if kind in (DTR_BANDIT, EPSILON_GREEDY):
        learner.marks[unit, learner.shape.shape[0] + m] = arm
    if kind == DTR_BANDIT and forced:
        memory.scheduled[unit, m] = arm
    elif kind == EPSILON_GREEDY and m == 0:
        memory.pulled[unit] = next_pull(memory.pulls, memory.tally)


@kernel
def retract(kind, unit, stages, learner, memory):
    """Clear what was supposed of a unit at its first ``stages``: the entries are as before it came."""
    for m in range(stages):
        if kind in (DTR_BANDIT, EPSILON_GREEDY):
            learner.marks[unit, learner.shape.shape[0] + m] = -1
        if kind == DTR_BANDIT:
            memory.scheduled[unit, m] = -1
        elif kind == EPSILON_GREEDY:
            memory.pulled[unit] = -1


def looks_only_back(policy: Policy[Any], stages: int) -> bool:
    """Say whether a unit's earlier rows cannot change its later decisions.

    Rare switching refits all stages at once, when the Gram matrix of any has doubled: the row of stage 1, counted on
    arrival at stage 2, may put into use what other units taught of stage 3.
    """
    return not (isinstance(policy, LSVIUCB) and policy.switching == "rare" and stages > 2)
