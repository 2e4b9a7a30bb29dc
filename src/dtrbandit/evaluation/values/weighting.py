"""Values of regimes as weighted means of the outcomes that units had (paper, section 5.3; Hájek, 1971).

V̂ = ΣWY / ΣW with W = w Π_f D_f / π_f. The influence of unit i is φ_i = W_i (Y_i − V̂) / ΣW, and the standard error is
√Σφ². With known π that is right. With π by maximum likelihood it is too large. Then ∂φ_i/∂α = −φ_i s_i for the
coefficients α of the models and the score s_i of the unit. So what the scores explain of φ is taken away, by least
squares of φ_i/w_i on s_i with weights w_i, and the rest is multiplied by √(n / (n − q)) for q coefficients. A unit
pulls V̂ towards its own outcome by its share W_i / ΣW of the weight, so that φ_i is divided by one less that share.

Where a unit like these could carry more than a tenth of the weight, there is no interval: trials in which such a unit
does not come look precise, and miss the truth.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dtrbandit.errors import NotEstimable
from dtrbandit.evaluation.cohort.cohort import Cohort
from dtrbandit.evaluation.propensities.fitted import FittedPropensities
from dtrbandit.evaluation.values.adherence import agrees, known_propensities, largest_possible_weight
from dtrbandit.evaluation.values.estimate import (
    Estimate,
    Problem,
    ValueEstimator,
    of_influence,
    unless_few,
    without_interval,
)
from dtrbandit.evaluation.weights import effective_sample_size, largest_weight
from dtrbandit.kernels.arrays import Mask, Matrix, Vector
from dtrbandit.plots import PALETTE
from dtrbandit.policies.fixed_regime import FixedRegime
from dtrbandit.words import counted

LARGEST, ROUNDING = 0.1, 1e-9  # of the weight, that a single unit may carry at most, had it followed the regime
HEAVY = (
    "There is no interval: a unit like these could carry {share:.0f} % of the weight, had it followed the regime; at "
    "10 % or less there would be one. The augmented value hangs less on single units."
)


class WeightedMean(NamedTuple):
    """A weighted mean over ``units`` of a cohort, and how much it hangs on single ones."""

    value: float
    units: int
    effective_sample_size: float
    largest_weight: float

    def __str__(self) -> str:
        return (
            f"{self.value:.4g} from {counted(self.units, 'unit')} (effective sample size "
            f"{self.effective_sample_size:,.1f}, largest weight {100 * self.largest_weight:.1f} %)"
        )


def weighted_mean(cohort: Cohort, weights: Vector, chosen: Mask) -> WeightedMean:
    """Return Σ wᵢ Yᵢ / Σ wᵢ over the ``chosen`` units that have an outcome (Hájek, 1971)."""
    chosen = chosen & ~cohort.dropped_out & (weights > 0)
    if not chosen.any():
        raise NotEstimable(
            f"none of the {len(cohort)} units is among those to be averaged and has an outcome; use more data"
        )
    own = weights[chosen]
    value = float(own @ cohort.outcome[chosen] / own.sum())
    return WeightedMean(value, int(chosen.sum()), effective_sample_size(own), largest_weight(own))


def logging_value(cohort: Cohort) -> WeightedMean:
    """Return the mean outcome under the arms as they were given, adjusted for drop-out.

    Σ (Yᵢ / sᵢ) / Σ (1 / sᵢ) over those with an outcome, sᵢ the probability that unit i stayed: "Logging" in the
    paper's Table 1.
    """
    everybody = np.ones(len(cohort), dtype=np.bool_)
    if not cohort.dropped_out.any():
        return weighted_mean(cohort, cohort.weights, everybody)
    return weighted_mean(cohort, cohort.weights / known_propensities(cohort).staying, everybody)


def regime_value(cohort: Cohort, regime: FixedRegime) -> WeightedMean:
    """Return Σ (Yᵢ / pᵢ) / Σ (1 / pᵢ) over the units whose arms were those of a fixed regime.

    That is what replay of the regime converges to ("Offline" in the paper's Table 1).
    """
    return weighted_mean(cohort, cohort.weights / known_propensities(cohort).probability, agrees(cohort, regime))


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


def _valued(problem: Problem) -> Estimate:
    cohort, weights, support = problem.cohort, problem.weights, problem.support
    value, influence = hajek(cohort, weights)
    influence = projected(influence, known_propensities(cohort), cohort.weights) / (1.0 - weights / weights.sum())
    found = of_influence(problem.name, WEIGHTED.name, (value, influence), support, freedom=support.freedom)
    largest = largest_possible_weight(cohort, problem.risk_sets)
    if largest > LARGEST + ROUNDING:
        why = HEAVY.format(share=min(100 * largest, 100.0))
        return without_interval(problem.name, WEIGHTED.name, value, support, why)
    return unless_few(found, support)


WEIGHTED = ValueEstimator(
    name="weighted",
    sentence="the outcomes of those who followed the regime, by 1/p; right if the propensities are.",
    mark="o",
    colour=PALETTE[1],
    fixed=_valued,
)
