"""The tail of least squares on the synthetic problem: simulated, beside the bound of "prop: ols"."""

from __future__ import annotations

from math import exp

import numpy as np
import pytest

from dtrbandit import theory
from dtrbandit.environments import Synthetic
from theory.cases import CASE

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
