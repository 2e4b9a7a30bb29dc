"""Forced-pull counts against the schedule itself, round by round, and against the lemma."""

from __future__ import annotations

from math import exp

import numpy as np
import pytest

import dtrbandit as dtr
from dtrbandit import theory
from dtrbandit.design.schedule import forced_plan
from dtrbandit.environments import Synthetic
from paper.worlds import THREE_PLANS, THREE_STAGES_WITH_GAPS, TWO_BY_TWO, every_plan
from theory.cases import CASE

PLANS = [TWO_BY_TWO, THREE_PLANS, THREE_STAGES_WITH_GAPS, every_plan(3, 2), every_plan(4)]


@pytest.mark.parametrize("q", [1, 2, 5])
@pytest.mark.parametrize("plans", PLANS)
def test_the_closed_form_counts_what_the_schedule_forces(plans: tuple[tuple[int, ...], ...], q: int) -> None:
    arms = {(m, plan[m]) for plan in plans for m in range(len(plan))}
    counted = dict.fromkeys(arms, 0)

    for t in range(1, 600):
        plan = forced_plan(t, plans, q=q)
        for stage, arm in enumerate(plan or ()):
            counted[stage, arm] += 1

        for stage, arm in arms:
            pulls = theory.forced_pulls(t, plans, q=q, stage=stage, arm=arm)
            low, high = theory.forced_pull_bounds(t, plans, q=q, stage=stage, arm=arm)
            assert pulls == counted[stage, arm]
            assert low <= pulls <= high


def test_the_lemmas_own_step_fails_within_a_block_but_its_bound_holds() -> None:
    """The proof has |𝒯(t)| ≤ 2(n_t + 1)q. Round 30 with q = 1 lies in block 3: n_t = 2 (16 ≤ 30 < 32), and 8 > 6."""
    q, plans = 1, TWO_BY_TWO

    assert theory.forced_pulls(30, plans, q=q, stage=0, arm=0) == 8
    assert all(
        theory.forced_pulls(t, plans, q=q, stage=stage, arm=arm) <= theory.forced_pull_lemma(t, q=q).high
        for t in range(64, 2000)
        for stage in (0, 1)
        for arm in (0, 1)
    )


def test_the_table_shows_the_lemma_only_where_it_speaks() -> None:
    stages = [dtr.Stage("first", ("a", "b"), "1 + x"), dtr.Stage("second", ("a", "b"), "1 + z")]
    every, some = dtr.Design(stages), dtr.Design(stages, plans=[("a", "a"), ("a", "b"), ("b", "b")])

    early, late = theory.forced_pull_table(63, every, q=1), theory.forced_pull_table(64, every, q=1)
    gaps = theory.forced_pull_table(10_000, some, q=1)

    assert [row.lemma is None for row in (*early, *late, *gaps)] == [True] * 4 + [False] * 4 + [True] * 4
    assert [(row.stage, row.arm) for row in late] == [
        ("first", "a"), ("first", "b"), ("second", "a"), ("second", "b"),
    ]  # fmt: skip
    assert gaps[0].pulls == 2 * gaps[1].pulls  # two plans begin with a, one with b


def test_before_the_first_round_nothing_is_forced() -> None:
    assert theory.forced_pulls(0, TWO_BY_TWO, q=3, stage=0, arm=0) == 0
    assert theory.forced_pull_bounds(0, TWO_BY_TWO, q=3, stage=0, arm=0) == (0.0, 0.0)


@pytest.mark.parametrize(("t", "q"), [(-1, 1), (1, 0), (1.5, 1)])
def test_impossible_rounds_are_refused(t: int, q: int) -> None:
    with pytest.raises(dtr.DesignError, match="must be a whole number"):
        theory.forced_pulls(t, TWO_BY_TWO, q=q, stage=0, arm=0)


N, DRAWS = 4000, 400


@pytest.fixture(scope="module")
def fits() -> tuple[np.ndarray, np.ndarray]:
    """Return ‖β̂ − β‖ and λ_min(Σ̂) of many regressions of Y on (1, x₂) under arms (1, 2), whose β is (0, 3)."""
    errors, eigenvalues, rng = [], [], np.random.default_rng(0)
    for _ in range(DRAWS):
        units = Synthetic().draw(N, rng)
        psi = np.column_stack([np.ones(N), units.contexts[1]["x2"][:, 0]])
        gram = psi.T @ psi
        beta = np.linalg.solve(gram, psi.T @ units.outcome[:, 0, 1])
        errors.append(np.linalg.norm(beta - [0.0, 3.0]))
        eigenvalues.append(np.linalg.eigvalsh(gram)[0])
    return np.array(errors), np.array(eigenvalues)


@pytest.mark.parametrize("chi", [0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 1.5])
@pytest.mark.parametrize("phi", [0.03 * N, 0.06 * N])
def test_the_tail_of_least_squares_is_below_its_bound(
    fits: tuple[np.ndarray, np.ndarray], chi: float, phi: float
) -> None:
    errors, eigenvalues = fits

    share = np.mean((errors >= chi) & (eigenvalues >= phi))

    assert share <= theory.ols_tail(chi, phi=phi, n=N, d=2, x_inf=1.0, sigma=1.0)


def test_the_bound_is_not_empty_talk_there(fits: tuple[np.ndarray, np.ndarray]) -> None:
    """λ_min / N is near 0.07 (variance 0.1 of x₂, mean about ½): at χ = 1.5 the bound is well below 1."""
    _, eigenvalues = fits

    assert np.all(eigenvalues > 0.06 * N)
    assert theory.ols_tail(1.5, phi=0.06 * N, n=N, d=2, x_inf=1.0, sigma=1.0) < 0.6
    assert theory.ols_tail(0.5, phi=0.06 * N, n=N, d=2, x_inf=1.0, sigma=1.0) > 1


LOG3 = 1.0986122886681098


def test_concentration_by_hand() -> None:
    # 2·2·exp(−¼·400 / (8·100·2·¼)) = 4·exp(−100 / 400)
    assert theory.ols_tail(0.5, phi=20.0, n=100, d=2, x_inf=1.0, sigma=0.5, error=0.1) == pytest.approx(
        4 * exp(-0.25) + 0.1
    )
    assert [theory.tilde_fails(m, 10) for m in (0, 1)] == [0.08, 0.06]
    assert [theory.tilde_fails_as_proved(m, 10) for m in (0, 1)] == [0.12, 0.06]
    # 6·exp(−0.1·1920 / 192) + 6·exp(−0.2·1920 / 192) + 280 / 1920²
    singular = 6 * exp(-1) + 6 * exp(-2)
    assert theory.design_fails(CASE, 1920) == pytest.approx(singular + 280 / 1920**2)
    assert theory.design_fails_as_proved(CASE, 1920) == pytest.approx(singular + 360 / 1920**2)
    # 12·exp(−(0.04/96)·(1/64)·1920) = 12·exp(−0.0125)
    assert theory.hat_fails(CASE, 1920) == pytest.approx(12 * exp(-0.0125) + singular + 280 / 1920**2)
