"""Values of regimes as weighted means of the outcomes that units had (paper, section 5.3)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dtrbandit.errors import NotEstimable
from dtrbandit.evaluation.cohort.cohort import Cohort
from dtrbandit.evaluation.values.forks import known_propensities
from dtrbandit.evaluation.weights import effective_sample_size, largest_weight
from dtrbandit.kernels.arrays import Mask, Vector
from dtrbandit.policies.fixed_regime import FixedRegime
from dtrbandit.record.histories import History
from dtrbandit.words import counted


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


def agrees(cohort: Cohort, regime: FixedRegime) -> Mask:
    """Say which units were given, at every stage they entered, what the regime gives after their own history."""
    tree, state = cohort.design.tree, regime.init(cohort.design)
    same = np.ones(len(cohort), dtype=np.bool_)
    for i, arms in enumerate(cohort.arms.tolist()):
        given = tuple(arm for arm in arms if arm >= 0)
        for m, arm in enumerate(given):
            node = tree.after(given[:m])
            features = tuple(stage[i] for stage in cohort.features[: m + 1])
            feasible, barred = tuple(cohort.feasible[m][i].tolist()), cohort.barred[i]
            excluded = (barred,) * (m + 1) if barred else ()
            history = History(cohort.units[i], i + 1, node, features, given[:m], feasible, None, excluded)
            if regime.decide(state, history, 0.0).arm != arm:
                same[i] = False
                break
    return same
