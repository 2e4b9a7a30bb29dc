"""The value of a regime by weighting those who followed it (Hájek, 1971).

V̂ = ΣWY / ΣW with W = w Π_f D_f / π_f. The influence of unit i is φ_i = W_i (Y_i − V̂) / ΣW, and the standard error is
√Σφ². With known π that is right. With π by maximum likelihood it is too large. Then ∂φ_i/∂α = −φ_i s_i for the
coefficients α of the models and the score s_i of the unit. So what the scores explain of φ is taken away, by least
squares of φ_i/w_i on s_i with weights w_i, and the rest is multiplied by √(n / (n − q)) for q coefficients.
"""

from __future__ import annotations

import numpy as np

from dtrbandit.evaluation.cohort.cohort import Cohort
from dtrbandit.evaluation.propensities.fitted import FittedPropensities
from dtrbandit.kernels.arrays import Matrix, Vector


def hajek(cohort: Cohort, weights: Vector) -> tuple[float, Vector]:
    """Return ΣWY / ΣW for weights W (n,), and φ for known probabilities, (n,)."""
    followed = weights > 0
    own = np.where(followed, weights, 0.0) / weights[followed].sum()
    outcome = np.where(followed, cohort.outcome, 0.0)
    value = float(own @ outcome)
    return value, own * (outcome - value)


def projected(influence: Vector, propensities: FittedPropensities, weights: Vector) -> Vector:
    """Return φ for probabilities that were fitted, given φ for known ones and case weights, (n,) each.

    Where a penalty or bounds were used, φ for known probabilities is returned, which is the larger one.
    """
    scores = propensities.scores
    counted = weights > 0
    spare = int(counted.sum()) - scores.shape[1]
    if not propensities.by_likelihood or scores.shape[1] == 0 or spare <= 0:
        return influence
    rest = np.zeros_like(influence)
    rest[counted] = _unexplained(influence[counted], scores[counted], weights[counted])
    return rest * float(np.sqrt(counted.sum() / spare))


def _unexplained(influence: Vector, scores: Matrix, weights: Vector) -> Vector:
    root = np.sqrt(weights)
    rows = scores * root[:, None]
    size = np.linalg.norm(rows, axis=0)
    rows /= np.where(size > 0, size, 1.0)
    coefficients = np.linalg.lstsq(rows, influence / root, rcond=None)[0]
    return np.asarray(influence - root * (rows @ coefficients))
