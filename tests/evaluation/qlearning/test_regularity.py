"""Who is near a boundary between two arms."""

from __future__ import annotations

import numpy as np
import pytest

from dtrbandit.evaluation.qlearning.induction import backward_induction
from dtrbandit.evaluation.qlearning.influence import influences
from dtrbandit.evaluation.qlearning.regularity import NEAR, near_boundary, regularity
from evaluation.qlearning.samples import everything, smart


def test_the_threshold_is_the_quantile_of_chi_squared() -> None:
    assert pytest.approx(10.8276, abs=1e-4) == NEAR


@pytest.mark.parametrize("m", [1, 2])
def test_a_unit_is_near_if_an_arm_cannot_be_told_from_its_best(m: int) -> None:
    sample = everything(300, np.random.default_rng(1))
    stage = backward_induction(sample)[m]
    phi = influences(backward_induction(sample))[m]

    found = near_boundary(stage, sample.feasible[m], phi)

    for unit in range(300):
        near = False
        if stage.best[unit] >= 0:
            psi, best = stage.features[unit], stage.best[unit]
            for arm in np.flatnonzero(sample.feasible[m][unit]):
                gap = psi @ (stage.coefficients[best] - stage.coefficients[arm])
                variance = sum((psi @ (phi[i, best] - phi[i, arm])) ** 2 for i in range(300))
                near |= bool(arm != best and gap**2 <= NEAR * variance)
        assert found[unit] == near
    assert 0 < found.sum() < 300


def test_without_an_effect_everybody_is_near_and_with_a_large_one_nobody() -> None:
    none, large = (smart(300, psi, np.random.default_rng(2)) for psi in (0.0, 5.0))

    assert regularity(none, backward_induction(none), 0).share > 0.95
    assert regularity(large, backward_induction(large), 0) == (300, 0, 0.0)


def test_the_last_stage_is_always_regular() -> None:
    sample = smart(300, 0.0, np.random.default_rng(2))

    assert regularity(sample, backward_induction(sample), 1) == (300, 0, 0.0)


def test_the_share_is_by_weight() -> None:
    sample = everything(300, np.random.default_rng(1))

    found = regularity(sample, backward_induction(sample), 1)

    counted = sample.rows[1].any(axis=1)
    assert found.units == counted.sum()
    assert found.near / found.units != pytest.approx(found.share, abs=1e-3)
    assert 0 < found.share < 1
