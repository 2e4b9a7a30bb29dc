"""Random linear problems of several shapes."""

import pytest

from dtrbandit.environments import Linear

PROBLEMS = {
    "2 stages, 2 arms": Linear(seed=3),
    "2 stages, 4 arms": Linear(arms=4, dimension=3, seed=4),
    "3 stages, 2 arms": Linear(stages=3, dimension=(3, 2, 4), margin=(2.0, 1.0, 0.5), seed=5),
    "3 stages, 4 arms": Linear(stages=3, arms=(4, 2, 4), margin=0.5, suboptimal=(1, 0, 2), seed=6),
}
every_problem = pytest.mark.parametrize("problem", PROBLEMS.values(), ids=PROBLEMS.keys())
