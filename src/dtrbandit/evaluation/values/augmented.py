"""The value of a regime by weighting and regression together: augmented, or doubly robust.

=============  =============================================================================================
notation       meaning
=============  =============================================================================================
L_f            what is known of a unit at risk set f, its earlier arms included
μ_f(L_f)       the mean outcome from there on, if the regime is followed
Γ_f            the score of a unit at risk set f
=============  =============================================================================================

Regressions go backwards. The target at f is μ of the unit's next risk set, or its outcome if there is none. The rows
are those units that did at f what the regime wants; what they had before is in L_f and may be anything. Then

    Γ_f = μ_f + (D_f / π_f)(Γ_next − μ_f),    Γ = Y after the last,    V̂ = Σ w_i Γ_i / Σ w_i

with Γ_i the score at the unit's first risk set. V̂ is right if all π are right or all μ are. Dropping out has risk sets
of its own, with μ given what was seen until then. Merged into the choice before, they would not be doubly robust.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from dtrbandit.design.values import shown
from dtrbandit.errors import DesignError, NotEstimable
from dtrbandit.evaluation.cohort.cohort import Cohort
from dtrbandit.evaluation.induction.regression import regress
from dtrbandit.evaluation.propensities.risk_sets import (
    RiskSet,
    feature_matrix,
    formula_at,
    full_formula,
    require_places,
)
from dtrbandit.evaluation.values.adherence import RegimeRiskSet, RegimeRiskSets
from dtrbandit.evaluation.values.estimate import Estimate, Problem, ValueEstimator, of_influence, unless_few
from dtrbandit.kernels.arrays import Matrix, Vector
from dtrbandit.plots import PALETTE

FEWEST = 3  # units for each coefficient: fewer fit their own outcomes, and say nothing of others


@dataclass(frozen=True, kw_only=True)
class OutcomeModel:
    """The terms of μ at each risk set, by stage, as in ``PropensityModel``.

    Parameters
    ----------
    choice
        By stage: a formula. A stage that is not named has its own features, those of the design.
    staying
        By the stage that was to be reached, ``"outcome"`` after the last. One that is not named has an intercept, the
        columns observed for everybody at risk, the arms given before, and the products of each of these arms with the
        columns observed before it.

    Examples
    --------
    >>> OutcomeModel(choice={"second": "1 + age"}).choice
    {'second': '1 + age'}
    """

    choice: Mapping[str, str] | None = None
    staying: Mapping[str, str] | None = None

    def __post_init__(self) -> None:
        for name in ("choice", "staying"):
            entries = getattr(self, name) or {}
            if not isinstance(entries, Mapping) or not all(isinstance(each, str) for each in entries.values()):
                raise DesignError(f"OutcomeModel: {name} must map stages to formulas, found {shown(entries)}")

    def require_places(self, cohort: Cohort) -> None:
        """Refuse formulas for places that the design of a cohort does not have."""
        require_places("choice", self.choice, cohort.design)
        require_places("staying", self.staying, cohort.design)

    def features(self, cohort: Cohort, risk_set: RiskSet) -> Matrix:
        """Return the terms of μ for the units at risk, (r, d)."""
        text = (getattr(self, risk_set.kind) or {}).get(risk_set.stage)
        if text is not None:
            return feature_matrix(cohort, risk_set, formula_at(text, cohort, risk_set))
        if risk_set.kind == "choice":
            return cohort.features[risk_set.m][risk_set.rows]
        return feature_matrix(cohort, risk_set, full_formula(cohort, risk_set))


class Scores(NamedTuple):
    """Γ of each unit, (n,), and the same for its variance alone: with residuals e / (1 − h), h being their leverage.

    A regression follows the rows that it was fitted to. In few of them its residuals are too small, by 1 − h.
    """

    gamma: Vector
    for_variance: Vector


class FittedMeans(NamedTuple):
    """μ of the units at risk, (r,), and the leverage of each in its regression, 0 for those that taught none."""

    mu: Vector
    leverage: Vector


def augmented_scores(
    cohort: Cohort,
    risk_sets: RegimeRiskSets,
    model: OutcomeModel,
    weights: Vector | None = None,
    *,
    spare: int = 0,
    bounded: bool = False,
) -> Scores:
    """Return the scores of all units. Units of weight 0 have scores too, but teach no μ.

    The weights are the cohort's, unless others are given. Each regression has ``spare`` units more than terms.
    ``bounded`` keeps what it predicts within the targets that it was fitted to.
    """
    weights = cohort.weights if weights is None else weights
    scores, wider, targets = cohort.outcome.copy(), cohort.outcome.copy(), cohort.outcome.copy()
    for at in reversed(risk_sets):
        rows = at.risk_set.rows
        own = targets[rows]
        mu, leverage = fitted_means(
            at, model.features(cohort, at.risk_set), own, weights[rows], spare=spare, bounded=bounded
        )
        beyond = np.where(at.taken, scores[rows] - mu, 0.0)  # what follows another option is never read
        scores[rows] = mu + beyond / at.probability
        with np.errstate(divide="ignore", invalid="ignore"):  # leverage 1: nothing tells how the outcome varies
            residual = np.where(at.taken, (own - mu) / (1.0 - leverage) + (wider[rows] - own), 0.0)
        wider[rows] = mu + residual / at.probability
        targets[rows] = mu
    return Scores(scores, wider)


def augmented(cohort: Cohort, scores: Scores) -> tuple[float, Vector]:
    """Return Σ w Γ / Σ w, and φ, (n,); a unit's leverage in the mean is its share."""
    share = cohort.weights / cohort.weights.sum()
    value = float(share @ scores.gamma)
    return value, share * (scores.for_variance - value) / (1.0 - share)


def fitted_means(
    at: RegimeRiskSet, features: Matrix, targets: Vector, weights: Vector, *, spare: int = 0, bounded: bool = False
) -> FittedMeans:
    """Return μ of the units at risk, with coefficients of their own for each option that the regime wants."""
    mu, leverage = np.empty(len(targets)), np.zeros(len(targets))
    needed = features.shape[1] + spare if spare else 1
    for option in np.unique(at.wanted).tolist():
        here = at.wanted == option
        counted = (at.risk_set.happened == option) & (weights > 0)  # who had it, wanted or not
        if counted.sum() < needed:
            few = f"{counted.sum()} of {len(targets)} units" if counted.any() else f"none of {len(targets)} units"
            raise NotEstimable(
                f"{at.risk_set}: {few} took {at.risk_set.options[option]!r}, which the regime wants there; "
                f"{'too little' if counted.any() else 'nothing'} tells what follows it"
            )
        taught = counted & here
        enough = taught.sum() >= max(needed, FEWEST * features.shape[1])
        fit = regress(features[taught], targets[taught], weights[taught]) if enough else None
        if fit is None or fit.rank < features.shape[1]:  # too few to tell: all who had the option teach
            taught = counted
            fit = regress(features[taught], targets[taught], weights[taught])
        mu[here] = features[here] @ fit.coefficients
        if bounded:  # a line through few outcomes may lead anywhere beyond them
            mu[here] = np.clip(mu[here], targets[taught].min(), targets[taught].max())
        of_all = np.zeros(len(targets))
        of_all[taught] = np.where(fit.alone, 1.0, fit.leverage)
        leverage[here] = of_all[here]
    return FittedMeans(mu, leverage)


def _valued(problem: Problem) -> Estimate:
    scores, support = augmented_scores(problem.cohort, problem.risk_sets, problem.sample.outcome_model), problem.support
    found = augmented(problem.cohort, scores)
    return unless_few(of_influence(problem.name, AUGMENTED.name, found, support, freedom=support.freedom), support)


AUGMENTED = ValueEstimator(
    name="augmented",
    sentence="weighting and regression together; right if the propensities or the outcome models are.",
    mark="s",
    colour=PALETTE[0],
    foremost=True,
    fixed=_valued,
)
