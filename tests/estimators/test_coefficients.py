"""How an arm is solved: by the cheapest way that is exact enough."""

from __future__ import annotations

import pytest

from dtrbandit.estimators.exact_layout import ILL, MODE
from estimators.oracle import RandomTrial


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
