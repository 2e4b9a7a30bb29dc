"""Which rows replay offers a policy, and in which order: weights and draws (Algorithm 2, line 6)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dtrbandit.design.values import shown
from dtrbandit.errors import DesignError
from dtrbandit.evaluation.cohort.cohort import Cohort
from dtrbandit.evaluation.weights import effective_sample_size, largest_weight
from dtrbandit.kernels.arrays import Vector

Rows = NDArray[np.int64]

DRAWS = 4096  # made at a time
RARELY = 0.0001  # P below which plans were plainly not equally frequent


@dataclass(frozen=True, eq=False)
class SamplingWeights:
    """The weights by which rows are drawn, (n,), and where they come from."""

    weights: Vector
    words: str
    usable: NDArray[np.bool_]  # neither dropped out nor without weight
    expected_acceptance: float | None = None  # of any policy, if the propensities are right and the units many
    caution: str | None = None  # why a value by these weights is biased, where that shows in the data

    @property
    def effective_sample_size(self) -> float:
        """(Σ w)² / Σ w² over the usable rows: so many equal weights would vary as much."""
        return effective_sample_size(self.weights[self.usable])

    @property
    def largest_weight(self) -> float:
        """The share of the heaviest among the usable rows."""
        return largest_weight(self.weights[self.usable])

    @property
    def relative(self) -> Vector:
        """The weights over the largest of a usable row, (n,)."""
        relative: Vector = self.weights / self.weights[self.usable].max()
        return relative


def sampling_weights(cohort: Cohort, weights: Any) -> SamplingWeights:
    """Return the weights to draw by: those given, or 1/p where the cohort has propensities, times its case weights."""
    expected = caution = None
    if weights is not None:
        own, words = _checked(weights, len(cohort), "weights"), "the weights given"
    else:
        own, words = _checked(cohort.weights, len(cohort), "the cohort's weights"), _even(cohort)
        case = "" if (own == own[0]).all() else ", times the cohort's case weights"
        if cohort.propensities is not None:
            case_weights, own = own, own * _checked(cohort.propensities.weights, len(cohort), "1/p")
            expected = float(case_weights.sum() / own.sum())
            words = "1/p of the cohort's propensities"
        else:
            caution = unequal(cohort)
        words += case
    usable = ~cohort.dropped_out & (own > 0)
    if not usable.any():
        raise DesignError("every unit of this cohort has dropped out or has weight 0: there is nothing to replay")
    return SamplingWeights(own, words, usable, expected, caution)


def unequal(cohort: Cohort) -> str | None:
    """Say why units were not equally likely to have the arms they had, if that shows in the data; else None.

    It shows where units left early: they had fewer choices than others. It also shows where plans were not equally
    frequent among the units that have all their arms, by a χ² test whose P is below ``RARELY``. It cannot show that
    arms depended on covariates.
    """
    from scipy.special import chdtri

    remedy = "the value is biased; estimate propensities (cohort.with_propensities(PropensityModel()), or no --equal)"
    if left := int(cohort.left_early.sum()):
        return (
            f"rows are drawn with equal weights, but {left:,} of {len(cohort):,} units left early: they had fewer "
            f"choices to agree on, and are accepted too often; {remedy}"
        )
    treated = cohort.arms[(cohort.arms >= 0).all(axis=1)]
    plans = np.array(cohort.design.arm_plans)
    counts = (treated[:, None, :] == plans).all(axis=2).sum(axis=0)
    expected = len(treated) / len(plans)
    most = float(chdtri(len(plans) - 1, RARELY)) if len(plans) > 1 else np.inf
    if expected and ((counts - expected) ** 2).sum() / expected > most:
        return (
            "rows are drawn with equal weights, but plans were not equally frequent: units had them "
            f"{counts.min():,} to {counts.max():,} times, where {expected:,.0f} are to be expected; {remedy}"
        )
    return None


def _even(cohort: Cohort) -> str:
    if not cohort.left_early.any() and cohort.design.every_combination:
        return "equal weights, right where every plan was equally probable"
    return (
        "equal weights, right only where all units had the same probability of their arms: with early leavers or "
        "infeasible plans even fair coins need propensities"
    )


def _checked(weights: Any, n: int, what: str) -> Vector:
    try:
        numbers = np.array(weights, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise DesignError(f"{what} must be numbers, one for each of {n} units, found {shown(weights)}") from error
    if numbers.shape != (n,):
        raise DesignError(f"{what} must be one number for each of {n} units, found an array of shape {numbers.shape}")
    if wrong := np.flatnonzero(~(np.isfinite(numbers) & (numbers >= 0))).tolist():
        raise DesignError(f"{what} must be finite and not negative, found {numbers[wrong[0]]} for row {wrong[0] + 1}")
    if not numbers.any():
        raise DesignError(f"{what} are all 0: some must be positive")
    return numbers


def drawn_rows(weighting: SamplingWeights, rng: np.random.Generator) -> Iterator[Rows]:
    """Give rows drawn by their weights with replacement, from all units, without end; many at a time.

    They depend on nothing but the generator, so that all policies are offered the same rows in the same order.
    """
    below = np.cumsum(weighting.weights / weighting.weights.max())
    below /= below[-1]
    while True:
        yield np.searchsorted(below, rng.random(DRAWS), side="right")


def shuffled_rows(weighting: SamplingWeights, rng: np.random.Generator) -> Iterator[Rows]:
    """Give each row at most once, in random order: the paper's first procedure, where all weights are equal.

    Otherwise a row is kept with a probability proportional to its weight: what is kept is a sample of the weighted
    units without repetition.
    """
    keep = rng.random(len(weighting.weights)) < weighting.relative
    yield rng.permutation(np.flatnonzero(keep))
