"""How an arm is solved: by the cheapest way that is exact enough."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from dtrbandit.estimators.coefficients import collect, refresh, target_of
from dtrbandit.estimators.exact_layout import FULL, ILL, MODE, ROWS, SHORT, create
from dtrbandit.kernels.triangular import BETA, FACTOR, MOMENT, WORK
from estimators.few_units import observed_units, small_design
from estimators.oracle import Both, RandomTrial, bare_design
from plain.least_squares import least_squares

Array = NDArray[np.float64]


@pytest.mark.parametrize("seed", range(6))
def test_an_ill_conditioned_arm_is_fitted_from_its_rows(seed: int) -> None:
    """Columns at 3e4 ± 2 beside a constant: scaled condition 1e5, where normal equations would be good to 1e-6 at best.

    Compared once all arms have full rank: before, the shortest solution itself is that sensitive to the last bit.
    """
    trial = RandomTrial([2, 2], [2, 3], seed, far=3e4, decades=1)
    compared, ill = 0, 0
    for _ in range(250):
        trial.step()

        error = trial.both.error_of_determined()
        assert error is None or error < 1e-7
        compared += error is not None
        ill += bool((trial.both.beliefs.tallies[0, :, MODE] == ILL).any())

    assert min(compared, ill) > 100


def solved(rows: Array, targets: Array, stages: int) -> Both:
    """Return a learner of the first stage's only arm, whose targets are outcomes."""
    both = Both(bare_design([(0,) * stages], [1] * stages, [rows.shape[1]] + [1] * (stages - 1)))
    for unit, (row, target) in enumerate(zip(rows, targets, strict=True)):
        both.arrive(unit, 0, 0, row)
        both.give(unit, 0, 0)
        both.complete(unit, 0, target)
    return both


ROUND = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
FLAT = np.array([[1.0, 2.0], [2.0, 4.0], [3.0, 6.0]])
STEEP = np.array([[1.0, 3e4], [1.0, 3e4 + 1], [1.0, 3e4 - 1]])


@pytest.mark.parametrize(
    ("rows", "stages", "mode"),
    [(ROUND, 1, FULL), (ROUND, 2, FULL), (FLAT, 1, SHORT), (FLAT, 2, SHORT), (STEEP, 1, FULL), (STEEP, 2, ILL)],
    ids=["last", "earlier", "last, lacking rank", "lacking rank", "last, ill-conditioned", "ill-conditioned"],
)
def test_an_arm_is_solved_as_its_rows_allow(rows: Array, stages: int, mode: int) -> None:
    targets = np.array([1.0, 2.0, 4.0])

    both = solved(rows, targets, stages)

    assert both.beliefs.tallies[0, 0, MODE] == mode
    assert both.coefficients()[0][0] == pytest.approx(least_squares(rows, targets).coefficients, rel=1e-6)


def test_the_right_hand_side_is_gathered_from_the_cross_moments() -> None:
    """Σ_k X[a, k] β_k + Σ_fixed ψ y, (d₀,)."""
    design, rng = small_design(), np.random.default_rng(0)
    beliefs, shape = create(design), np.array([[2, 2], [2, 3]])
    beliefs.pages[:] = rng.normal(size=beliefs.pages.shape)
    tops = [FACTOR + (2 + label) * 3 for label in range(2)]
    crosses = [beliefs.pages[0, 1, top : top + 3, :2].copy() for top in tops]

    collect(beliefs.pages, shape, 0, 1)

    expected = beliefs.pages[0, 1, MOMENT, :2] + sum(
        cross.T @ beliefs.pages[1, label, BETA] for label, cross in enumerate(crosses)
    )
    assert beliefs.pages[0, 1, WORK, :2] == pytest.approx(expected)


def test_an_arm_without_rows_is_left_alone() -> None:
    seen, beliefs = observed_units(small_design(), 2), create(small_design())
    beliefs.pages[:] = 5.0

    refresh(seen, beliefs, 1, 0, 2, True)

    assert (beliefs.pages == 5.0).all()


def test_the_target_of_a_row_is_its_outcome_or_the_best_that_may_follow() -> None:
    seen, beliefs = observed_units(small_design(), 6), create(small_design())
    beliefs.tallies[1, :, ROWS] = 1
    beliefs.pages[1, 0, BETA], beliefs.pages[1, 1, BETA] = 1.0, -1.0

    for unit in range(6):
        value = seen.features[unit, 1].sum()
        both_feasible = seen.arms[unit, 0] == 0  # after arm 1 only arm 1 may follow
        assert target_of(seen, beliefs, unit, 1) == seen.outcome[unit]
        assert target_of(seen, beliefs, unit, 0) == pytest.approx(max(value, -value) if both_feasible else -value)
