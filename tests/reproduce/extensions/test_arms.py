"""Four arms: every claim can fail, and dominated arms are those that are never best."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import dtrbandit as dtr
from dtrbandit.design.schedule import forced_plan
from dtrbandit.environments import Linear
from dtrbandit.reproduce.extensions import arms
from dtrbandit.reproduce.reproduction import DTRB
from reproduce.curves import PATHS, RegretCurve, logarithmic, power, study_of, study_with
from reproduce.extension_studies import HORIZON, held, verdicts_on
from reproduce.impostors import AT_MOST, POWER_03, ROOT, Law, noisy


def four_arms(paths: int, curve: RegretCurve, *, round_: int = HORIZON) -> dict[str, dtr.Study]:
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


def both(early: int, late: int, curve: RegretCurve) -> dict[str, dtr.Study]:
    """Let the first paths give such an arm in round 400, and the last ones in the last round; both are free."""
    first, last = (four_arms(paths, curve, round_=t)[arms.FOUR_ARMS] for paths, t in ((early, 400), (late, HORIZON)))
    given = last.arms[DTRB][::-1].copy()
    given[:, :1_000] = first.arms[DTRB][:, :1_000]
    return {arms.FOUR_ARMS: replace(first, arms={DTRB: given})}


@pytest.mark.parametrize(
    ("early", "late", "curve", "verdicts"),
    [
        (10, 0, logarithmic(20.0), "✓✓✓✓?✓"),
        (0, 0, logarithmic(20.0), "✓?✓✓?✓"),  # that free pulls die out needs some
        (10, 1, logarithmic(20.0), "?✓✓✓?✓"),  # one path of 40 may be more than a tenth
        (0, 12, logarithmic(20.0), "✗✗✓✓?✓"),
        (10, 0, power(2.0, 0.55), "✓✓✗✗?✗"),
        (10, 0, power(5.0, 0.35), "✓✓✓✗?✓"),
    ],
)
def test_arms_that_are_never_best_are_pulled_only_when_forced(
    early: int, late: int, curve: RegretCurve, verdicts: str
) -> None:
    assert verdicts_on("arms", both(early, late, curve)) == verdicts


@pytest.mark.full
@pytest.mark.parametrize(
    ("law", "early", "late", "places"), [(ROOT, 0.3, 0.3, [1, 2, 3, 4, 5]), (POWER_03, 0.3, 0.1, [0, 3, 4])]
)
def test_no_claim_about_arms_holds_of_an_impostor(law: Law, early: float, late: float, places: list[int]) -> None:
    """Shares of the paths give such an arm in a free round early and late."""
    given = np.asarray([four_arms(PATHS, logarithmic(1.0), round_=t)[arms.FOUR_ARMS].arms[DTRB] for t in (400, 4_000)])
    schedule = four_arms(0, logarithmic(1.0))[arms.FOUR_ARMS].arms[DTRB]

    def studies(rng: np.random.Generator) -> dict[str, dtr.Study]:
        found = schedule.copy()
        for t, share, pulls in zip((400, 4_000), (early, late), given, strict=True):
            some = rng.random(PATHS) < share
            found[some, t - 1] = pulls[some, t - 1]
        study = study_with({DTRB: noisy(law, rng, horizon=5_120)})
        return {arms.FOUR_ARMS: replace(study, arms={DTRB: found[:, :5_120]})}

    assert max(held("arms", studies)[places]) <= AT_MOST


def test_the_first_blocks_end_where_a_forced_block_begins() -> None:
    """16 plans of 10 rounds: blocks begin after 0, 160, 480, 1,120, 2,400 and 4,960 rounds."""
    assert [arms.first_blocks(horizon) for horizon in (10_000, 11_200, 11_210, 1_600, 100)] == [
        1_120,
        1_120,
        2_400,
        480,
        10,
    ]


@pytest.mark.parametrize(("k", "suboptimal"), [(2, 0), (3, 1), (4, 2), (5, 4)])
def test_dominated_arms_are_those_that_are_never_best(k: int, suboptimal: int) -> None:
    problem = Linear(arms=k, suboptimal=suboptimal, dimension=3)
    q = problem.draw(2_000, np.random.default_rng(0)).q
    assert q is not None

    for m, coefficients in enumerate(problem.coefficients):
        best = set(q[m].reshape(-1, k).argmax(axis=1)) if m else set(q[0].argmax(axis=1))
        assert set(np.flatnonzero(~arms.dominated(coefficients))) == best
        assert arms.dominated(coefficients).sum() == suboptimal
