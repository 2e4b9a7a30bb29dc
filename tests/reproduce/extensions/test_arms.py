"""Four arms: every claim can fail, and dominated arms are those that are never best."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import dtrbandit as dtr
from dtrbandit.design.schedule import forced_plan
from dtrbandit.environments import Linear
from dtrbandit.reproduce.extensions import arms
from dtrbandit.reproduce.extensions.extension import DTRB
from reproduce.curves import PATHS, Curve, logarithmic, power, study_of
from reproduce.extension_studies import HORIZON, failures


def four_arms(paths: int, curve: Curve, *, round_: int = HORIZON) -> dict[str, dtr.Study]:
    """Return a study that follows the schedule, and on so many paths gives arms that are never best in a free round."""
    given = np.zeros((PATHS, HORIZON, 2), dtype=np.int8)
    for m, coefficients in enumerate(arms.PROBLEM.coefficients):
        given[:, :, m] = np.argmin(arms.dominated(coefficients))
        given[:paths, round_ - 1, m] = np.argmax(arms.dominated(coefficients))
    plans = arms.PROBLEM.design.arm_plans
    for t in range(1, HORIZON + 1):
        plan = forced_plan(t, plans, q=arms.SETTING.policy.q)
        if plan is not None:
            given[:, t - 1] = plan
    return {arms.FOUR_ARMS: replace(study_of({DTRB: curve}, HORIZON), arms={DTRB: given})}


@pytest.mark.parametrize(
    ("paths", "curve", "failing"),
    [
        (0, logarithmic(20.0), []),
        (1, logarithmic(20.0), [1]),  # one path late, none early: they do not die out
        (5, logarithmic(20.0), [0, 1]),  # more than a tenth of the paths
        (0, power(2.0, 0.55), [2, 3]),
    ],
)
def test_arms_that_are_never_best_are_pulled_only_when_forced(paths: int, curve: Curve, failing: list[int]) -> None:
    assert failures("arms", four_arms(paths, curve)) == failing


def test_the_first_blocks_end_where_a_forced_block_begins() -> None:
    """16 plans of 10 rounds: blocks begin after 0, 160, 480, 1,120, 2,400 and 4,960 rounds."""
    assert [arms.first_blocks(horizon) for horizon in (10_000, 11_200, 11_210, 1_600, 100)] == [
        1_120,
        1_120,
        2_400,
        480,
        10,
    ]


def test_free_pulls_die_out_when_fewer_paths_have_them_after_the_first_blocks() -> None:
    """Rounds 321 to 480 are free, as is the last."""
    early, late = (four_arms(3, logarithmic(20.0), round_=t)[arms.FOUR_ARMS].arms[DTRB] for t in (400, HORIZON))
    study = study_of({DTRB: logarithmic(20.0)}, HORIZON)

    def failing(paths: int) -> list[int]:
        """Let the first three paths give such an arm early, and so many of them late as well."""
        given = np.where(np.arange(PATHS)[:, None, None] < paths, late, early)
        given[:, :1_000] = early[:, :1_000]
        return failures("arms", {arms.FOUR_ARMS: replace(study, arms={DTRB: given})})

    assert [failing(paths) for paths in (0, 2, 3)] == [[], [], [1]]


@pytest.mark.parametrize(("k", "suboptimal"), [(2, 0), (3, 1), (4, 2), (5, 4)])
def test_dominated_arms_are_those_that_are_never_best(k: int, suboptimal: int) -> None:
    problem = Linear(arms=k, suboptimal=suboptimal, dimension=3)
    q = problem.draw(2_000, np.random.default_rng(0)).q
    assert q is not None

    for m, coefficients in enumerate(problem.coefficients):
        best = set(q[m].reshape(-1, k).argmax(axis=1)) if m else set(q[0].argmax(axis=1))
        assert set(np.flatnonzero(~arms.dominated(coefficients))) == best
        assert arms.dominated(coefficients).sum() == suboptimal
