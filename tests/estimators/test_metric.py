"""The whitened metric: a Cholesky factor of the pooled Gram matrix, and lengths in it."""

from __future__ import annotations

import numpy as np
import pytest

from dtrbandit.estimators.exact_layout import Beliefs, create
from dtrbandit.estimators.metric import RIDGE, factorise, measure, whiten, whitened_length
from dtrbandit.estimators.observed import Observed
from dtrbandit.kernels.triangular import BETA, WHITE
from estimators.few_units import observed_units, small_design

DESIGN = small_design()


def measured(seen: Observed) -> Beliefs:
    beliefs = create(DESIGN)
    measure(seen, beliefs, 0)
    return beliefs


def test_the_factor_is_that_of_the_mean_product_of_features() -> None:
    seen = observed_units(DESIGN, 30, leave=4)

    factor = np.triu(measured(seen).whitener[0])

    came = seen.nodes[:30, 1] >= 0
    gram = seen.features[:30][came, 1].T @ seen.features[:30][came, 1] / came.sum()
    assert 0 < came.sum() < 30
    assert factor.T @ factor == pytest.approx(gram + RIDGE * np.diag(np.diag(gram)))


def test_a_feature_that_is_always_zero_has_length_one() -> None:
    seen = observed_units(DESIGN, 10)
    seen.features[:, 1, 2] = 0.0

    assert measured(seen).whitener[0, 2, 2] == 1.0


def test_factorise_is_cholesky() -> None:
    gram = np.array([[[4.0, 2.0, 2.0], [2.0, 5.0, 3.0], [2.0, 3.0, 6.0]]])
    lower = np.linalg.cholesky(gram[0])

    factorise(gram, 0, 3)

    assert np.triu(gram[0]) == pytest.approx(lower.T)


def test_a_difference_of_values_is_bounded_by_the_two_lengths() -> None:
    """|Δ·ψ| ≤ ‖CΔ‖ ‖C⁻ᵀψ‖, with equality where Δ is parallel to (CᵀC)⁻¹ψ."""
    rng, beliefs = np.random.default_rng(1), measured(observed_units(DESIGN, 30))
    for _ in range(50):
        delta, psi = rng.normal(size=3), rng.normal(size=3)
        beliefs.pages[1, 0, BETA] = delta
        whiten(beliefs.pages, beliefs.whitener, 1, 0, 3)

        bound = np.linalg.norm(beliefs.pages[1, 0, WHITE]) * whitened_length(beliefs.pages, beliefs.whitener, psi, 0, 3)
        assert abs(delta @ psi) <= bound * (1 + 1e-12)

    factor = np.triu(beliefs.whitener[0])
    tight = np.linalg.solve(factor.T @ factor, psi)
    beliefs.pages[1, 0, BETA] = tight
    whiten(beliefs.pages, beliefs.whitener, 1, 0, 3)
    length = whitened_length(beliefs.pages, beliefs.whitener, psi, 0, 3)
    assert np.linalg.norm(beliefs.pages[1, 0, WHITE]) * length == pytest.approx(tight @ psi)
