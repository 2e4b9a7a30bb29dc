"""The value of a regime that was learned from the same units.

A regime is chosen because it did well on these units, so they flatter it. Nor does the usual interval over
cross-fitted scores hold: the folds teach each other's regimes (measured: 89 to 92 %). So two things are found.

- The cross-fitted value. Each of five folds is scored by the regime, propensities and outcome models that the other
  four teach.
- The value in sequence, with its interval (Luedtke & van der Laan 2016). Units are put in random order. The first 30 %
  teach a regime that scores the next block; those and that block teach the regime for the block after it, through ten
  blocks:

      V̂ = Σ_k Σ_{i∈k} w_i Γ_i / σ̂_k  /  Σ_k Σ_{i∈k} w_i / σ̂_k,    se = √(Σ w_i²)  /  Σ_k Σ_{i∈k} w_i / σ̂_k

  σ̂_k is the standard deviation of the scores of the units before block k, none of them by what the unit itself has
  taught: for the first 30 % they are cross-fitted among these. Scores of teachers vary too little, and the interval
  would be too short. It holds for the mean value of these regimes.

They are values of different regimes, so each is an estimator of its own, and only the second has an interval.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dtrbandit.errors import NotEstimable
from dtrbandit.evaluation.cohort.cohort import Cohort
from dtrbandit.evaluation.induction.induction import Dropouts, LearnedRegime, backward_induction
from dtrbandit.evaluation.induction.regression import LEAST_SQUARES, StageRegression
from dtrbandit.evaluation.values.adherence import decisions_by, inverse_weights, known_propensities, regime_risk_sets
from dtrbandit.evaluation.values.augmented import OutcomeModel, augmented_scores
from dtrbandit.evaluation.values.estimate import (
    Estimate,
    Problem,
    Support,
    ValueEstimator,
    support_of,
    without_interval,
)
from dtrbandit.evaluation.values.regression import teachable
from dtrbandit.evaluation.weights import ExtremeWeights
from dtrbandit.intervals import REACH
from dtrbandit.kernels.arrays import Mask, Vector
from dtrbandit.plots import PALETTE

FOLDS, BLOCKS, FIRST = 5, 10, 0.3
SEED = 0  # of the order of units beside ``value_``
NOBODY = Support(0, np.nan, np.nan)
OF_FOLDS = (
    "It is the mean value of five regimes, each learned as this one was from four fifths of the units. It has no "
    "interval: these fifths teach each other's regimes."
)
OF_BLOCKS = (
    "It is the mean value of ten regimes, learned as this one was from 30 % to {most:.0f} % of the units, and the "
    "interval is for that. The regime learned from all units has no valid interval."
)
FEWER = "of regimes\nlearned from fewer units"
NO_PROPENSITIES = (
    "There is no cross-fitted value, which would not flatter: it needs the propensities of the units. Use "
    "fit(cohort.with_propensities(PropensityModel())), or evaluate."
)
NOT_INDEPENDENT = (
    "There is no cross-fitted value: {policy} chose the arms by what earlier units had taught it, and weights fitted "
    "to such units are wrong."
)
NO_VALUE = "There is no cross-fitted value: {why}"
NO_SEQUENCE = "There is no value in sequence, which needs regimes learned from 30 % of the units: {why}"


class InSequence(NamedTuple):
    """A value found in sequence.

    Attributes
    ----------
    shares
        The share that each block's regime has in the value.
    weights
        W of each unit of a block that followed its regime, as it counts in the value, 0 of all others, (n,).
    """

    value: float
    std_error: float
    shares: Vector
    weights: Vector


class LearnedValue(NamedTuple):
    """A value of regimes learned as this one was, its 95 % interval, and whose value it is; NaN with why otherwise."""

    value: float
    low: float
    high: float
    note: str


class BesideValue(NamedTuple):
    """What stands beside ``value_``: two values that do not flatter."""

    cross_fitted: LearnedValue
    in_sequence: LearnedValue


class Scored(NamedTuple):
    """Γ of each unit, and W of each by case weight, 0 where it did not follow, (n,), under a regime that some teach."""

    scores: Vector
    weights: Vector


@dataclass(frozen=True, eq=False)
class Learner:
    """How a regime is learned from some units of a cohort, and the others are scored by it."""

    cohort: Cohort
    dropouts: Dropouts
    outcome_model: OutcomeModel
    regression: StageRegression = LEAST_SQUARES

    def scored(self, teachers: Mask) -> Scored:
        """Return the scores of all units, with everything learned from the ``teachers`` alone.

        The others have weight 0 while the models are fitted.
        """
        weights = np.where(teachers, self.cohort.weights, 0.0)
        taught = replace(self.cohort, weights=weights, propensities=None)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ExtremeWeights)  # of a part; the whole cohort has given its own
            taught = taught.with_propensities(known_propensities(self.cohort).model)
        stages = backward_induction(teachable(taught, self.dropouts, self.regression))
        risk_sets = regime_risk_sets(taught, decisions_by(taught, [stage.coefficients for stage in stages]))
        whole = replace(taught, weights=self.cohort.weights)
        return Scored(augmented_scores(taught, risk_sets, self.outcome_model).gamma, inverse_weights(whole, risk_sets))


def cross_fitted_value(regime: str, learner: Learner, *, seed: int) -> Estimate:
    """Return the cross-fitted value, which has no interval; NaN with the reason where units are too few."""
    cohort, name = learner.cohort, CROSS_FITTED.name
    try:
        found = cross_fitted(learner, _order(cohort, seed))
    except NotEstimable as error:
        return without_interval(regime, name, np.nan, NOBODY, NO_VALUE.format(why=error), fixed=False)
    value = float(np.average(found.scores, weights=cohort.weights))
    return without_interval(regime, name, value, support_of(found.weights), OF_FOLDS, fixed=False)


def value_in_sequence(regime: str, learner: Learner, *, seed: int) -> Estimate:
    """Return the value in sequence with its interval; NaN with the reason where units are too few."""
    try:
        found = in_sequence(learner, _order(learner.cohort, seed))
    except NotEstimable as error:
        return without_interval(regime, IN_SEQUENCE.name, np.nan, NOBODY, NO_SEQUENCE.format(why=error), fixed=False)
    low, high = (found.value + sign * REACH * found.std_error for sign in (-1, 1))
    support, note = support_of(found.weights), OF_BLOCKS.format(most=100 * (1 - (1 - FIRST) / BLOCKS))
    numbers = found.value, found.std_error, low, high
    return Estimate(regime, IN_SEQUENCE.name, *numbers, support, note=note, fixed=False)


def _order(cohort: Cohort, seed: int) -> NDArray[np.int64]:
    return np.random.default_rng(seed).permutation(len(cohort))


def beside_value(cohort: Cohort, dropouts: Dropouts, regression: StageRegression = LEAST_SQUARES) -> BesideValue:
    """Return what stands beside ``value_`` of a cohort."""
    why = ""
    if cohort.collected_by is not None:
        why = NOT_INDEPENDENT.format(policy=cohort.collected_by)
    elif cohort.propensities is None:
        why = NO_PROPENSITIES
    if why:
        nothing = LearnedValue(np.nan, np.nan, np.nan, why)
        return BesideValue(nothing, nothing)
    learner = Learner(cohort, dropouts, OutcomeModel(), regression)
    both = cross_fitted_value("", learner, seed=SEED), value_in_sequence("", learner, seed=SEED)
    return BesideValue(*(LearnedValue(each.value, each.low, each.high, each.note) for each in both))


def cross_fitted(learner: Learner, order: NDArray[np.int64]) -> Scored:
    """Return the scores of the units in ``order``, each fold under what the other folds of these teach, (n,)."""
    n = len(learner.cohort)
    found = Scored(np.full(n, np.nan), np.zeros(n))
    for fold in np.array_split(order, FOLDS):
        teachers = np.zeros(n, dtype=np.bool_)
        teachers[order], teachers[fold] = True, False
        scored = learner.scored(teachers)
        found.scores[fold], found.weights[fold] = scored.scores[fold], scored.weights[fold]
    return found


def in_sequence(learner: Learner, order: NDArray[np.int64]) -> InSequence:
    """Return the value in sequence, and its standard error."""
    n, weights = len(order), learner.cohort.weights
    first = int(np.ceil(FIRST * n))
    scores = cross_fitted(learner, order[:first]).scores  # which tell how scores vary, before the first block
    total = squares = 0.0
    shares: list[float] = []
    followed = np.zeros(n)
    known = np.zeros(n, dtype=np.bool_)
    known[order[:first]] = True
    for block in np.array_split(order[first:], BLOCKS):
        spread = _spread(scores[known], weights[known])
        found = learner.scored(known)
        scores[block], followed[block] = found.scores[block], found.weights[block] / spread
        total += float(weights[block] @ scores[block]) / spread
        shares.append(float(weights[block].sum()) / spread)
        squares += float((weights[block] ** 2).sum())
        known[block] = True
    divisor = sum(shares)
    return InSequence(total / divisor, float(np.sqrt(squares)) / divisor, np.array(shares) / divisor, followed)


def _spread(scores: Vector, weights: Vector) -> float:
    mean = np.average(scores, weights=weights)
    spread = float(np.sqrt((weights**2 @ (scores - mean) ** 2) / (weights**2).sum()))
    if not spread > 0:
        raise NotEstimable("the scores of the first units do not vary; nothing tells how sure a value is")
    return spread


def _learner(problem: Problem) -> Learner:
    """Return how the regime of a problem is learned again."""
    assert isinstance(problem.regime, LearnedRegime)
    regime = problem.regime
    return Learner(problem.cohort, regime.dropouts, problem.sample.outcome_model, regime.regression)


CROSS_FITTED = ValueEstimator(
    name="cross-fitted",
    sentence="augmented scores; each fifth of the units is valued by the regime that the others suggest.",
    mark="^",
    colour=PALETTE[3],
    comparable=False,
    legend=FEWER,
    learned=lambda problem: cross_fitted_value(problem.name, _learner(problem), seed=problem.sample.seed),
)
IN_SEQUENCE = ValueEstimator(
    name="in sequence",
    sentence="augmented scores; units in random order, each block valued by the regime that those before it suggest.",
    mark=">",
    colour=PALETTE[5],
    comparable=False,
    legend=FEWER,
    learned=lambda problem: value_in_sequence(problem.name, _learner(problem), seed=problem.sample.seed),
)
