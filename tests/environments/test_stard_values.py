"""The Q-functions of the simulated STAR*D are sums over every course that follows."""

from __future__ import annotations

import numpy as np

from dtrbandit.environments import STARD, stard_law
from dtrbandit.kernels.arrays import Array
from environments import stard_exact as exact


def test_first_q_functions_are_sums_over_every_course_that_follows() -> None:
    few = STARD().draw(20, np.random.default_rng(3))
    assert few.q is not None

    for unit in range(20):
        start, slope, preference = (float(few.contexts[0][name][unit]) for name in few.design.columns[0])
        for arm, sign in enumerate((1.0, -1.0)):
            ends = exact.score_law(np.asarray(stard_law.end_mean(start, slope, preference, sign)), 6.0)
            expected = ends @ exact.after(start, preference, sign, best_second)[:, 4]
            np.testing.assert_allclose(few.q[0][unit, arm], expected, rtol=1e-12)


def best_second(_start: Array, slope: Array, preference: Array) -> Array:
    """Return the better arm for each of the 27 scores of start₂, by the exact means of end₂."""
    ssri, other = (exact.mean_end2(float(slope[0]), float(preference[0]), arm) for arm in (1.0, -1.0))
    return np.where(ssri <= other, 1.0, 0.0)


def test_second_q_functions_are_sums_over_scores() -> None:
    few = STARD().draw(200, np.random.default_rng(4))
    assert few.q is not None
    second = {name: few.contexts[1][name][:, 0] for name in few.design.columns[1]}

    for unit in np.flatnonzero(second["qids_end1"] > 5):
        start, slope, preference, end = (float(values[unit]) for values in second.values())
        for arm, sign in enumerate((1.0, -1.0)):
            expected = -(end + exact.mean_end2(slope, preference, sign)[int(start)]) / 2
            np.testing.assert_allclose(few.q[1][unit, 0, arm], expected, rtol=1e-12)
