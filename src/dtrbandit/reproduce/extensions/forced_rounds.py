"""Which rounds of a study were forced, and what the free ones cost."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from dtrbandit.design.schedule import place
from dtrbandit.kernels.arrays import Array
from dtrbandit.reproduce.extensions.extension import DTRB, Setting
from dtrbandit.simulation.study import Study


def forced_rounds(horizon: int, setting: Setting) -> NDArray[np.bool_]:
    """Say which rounds the schedule forces, (horizon,)."""
    return _forced(horizon, setting.block // setting.policy.q, setting.policy.q)


@lru_cache(maxsize=16)
def _forced(horizon: int, plans: int, q: int) -> NDArray[np.bool_]:
    forced = np.array([place(t, plans, q)[0] for t in range(1, horizon + 1)])
    forced.flags.writeable = False
    return forced


def free_regret(study: Study, setting: Setting) -> Array:
    """Return the regret of each round, (paths, horizon), 0 where it was forced."""
    assert study.stage_regret is not None
    return np.where(forced_rounds(study.horizon, setting), 0.0, study.stage_regret[DTRB].sum(axis=2))
