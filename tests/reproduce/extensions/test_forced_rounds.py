"""Forced rounds are those of the schedule."""

from __future__ import annotations

import numpy as np

from dtrbandit.design.schedule import forced_plan
from dtrbandit.environments import Synthetic
from dtrbandit.reproduce.extensions import features
from dtrbandit.reproduce.extensions.extension import DTRB
from dtrbandit.reproduce.extensions.forced_rounds import forced_rounds, free_regret
from reproduce.curves import power, study_of
from reproduce.extension_studies import HORIZON


def test_forced_rounds_are_those_of_the_schedule_and_free_regret_leaves_them_out() -> None:
    setting, study = features.SETTINGS[features.RIGHT], study_of({DTRB: power(1.0, 1.0)}, HORIZON)

    forced = forced_rounds(HORIZON, setting)

    plans = Synthetic().design.arm_plans
    assert list(forced) == [forced_plan(t, plans, q=setting.policy.q) is not None for t in range(1, HORIZON + 1)]
    assert not free_regret(study, setting)[:, forced].any()
    assert np.allclose(free_regret(study, setting)[0, ~forced], 1.0)
