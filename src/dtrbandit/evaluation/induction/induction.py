"""Backward induction: the regressions of all stages, the last stage first (paper, section 3.1).

========================  =================  ==============================================================
paper                     here               meaning
========================  =================  ==============================================================
β̂_{a,m}                   ``coefficients``   least-squares coefficients of arm a at stage m
Ŷ_j                       ``targets``        max over the arms feasible for unit j of the next stage's estimate;
                                             its outcome, if the unit left early or this is the last stage
========================  =================  ==============================================================

With ``dropouts="weighted"`` units stand for those who dropped out by 1/P(staying). A resample fits these probabilities
anew, or its spread would miss part of how the estimates vary.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dtrbandit.design.spec import Design
from dtrbandit.errors import DesignError
from dtrbandit.evaluation.cohort import Cohort
from dtrbandit.evaluation.induction.regression import LEAST_SQUARES, Regression, StageRegression
from dtrbandit.evaluation.propensities.fitted import FittedModel, FittedPropensities, least
from dtrbandit.evaluation.propensities.logistic import Standardised, logistic, refit_logistic
from dtrbandit.kernels.arrays import Array, Mask, Matrix, Vector

Dropouts = Literal["imputed", "complete", "weighted"]
DROPOUTS: tuple[Dropouts, ...] = ("imputed", "complete", "weighted")


class Sample(NamedTuple):
    """A cohort as Q-learning sees it.

    Attributes
    ----------
    features, feasible, rows
        For each stage ψ_m (n, d_m), 0 where it is not known; the feasible arms (n, K_m); and whose row
        counts for which arm (n, K_m).
    entered
        (n, M): whose target at the stage before is the largest Q of this one, rather than the outcome.
    outcome, weights
        (n,).
    staying
        The models of staying that the weights rest on, None if they rest on none.
    regression
        How each stage and arm is fitted.
    """

    features: tuple[Matrix, ...]
    feasible: tuple[Mask, ...]
    rows: tuple[Mask, ...]
    entered: Mask
    outcome: Vector
    weights: Vector
    staying: Staying | None = None
    regression: StageRegression = LEAST_SQUARES

    def of(self, units: NDArray[np.int64]) -> Sample:
        """Return the sample of some units, which may repeat, with the weights that they had."""
        return self._replace(
            features=tuple(stage[units] for stage in self.features),
            feasible=tuple(stage[units] for stage in self.feasible),
            rows=tuple(stage[units] for stage in self.rows),
            entered=self.entered[units],
            outcome=self.outcome[units],
            weights=self.weights[units],
            staying=None if self.staying is None else self.staying.of(units),
        )

    def q_values(self, m: int, coefficients: Matrix) -> Matrix:
        """Return Q̂_m of each unit and arm, (n, K_m), −∞ where the arm is infeasible or the stage was not entered."""
        q = self.features[m] @ coefficients.T
        return np.where(self.feasible[m] & self.entered[:, m, None], q, -np.inf)


class LearnedRegime(ABC):
    """A regime that units suggested, as ``evaluate`` values it; ``QLearning`` is one.

    ``design``, ``dropouts`` and ``regression`` say how it was learned.
    """

    design: Design
    dropouts: Dropouts
    regression: StageRegression

    @property
    @abstractmethod
    def coefficients_(self) -> tuple[Matrix, ...]:
        """The estimates, (K_m, d_m) for each stage."""

    @property
    @abstractmethod
    def value_(self) -> float:
        """The value that the units themselves give to the regime."""


class StageFit(NamedTuple):
    """The regressions of one stage.

    Attributes
    ----------
    regressions
        One for each arm, over the units of ``rows``.
    rows
        For each arm the units whose row counts, as numbers.
    features
        (n, d_m).
    best
        (n,): the feasible arm with the largest Q̂, −1 for units that did not enter the stage.
    """

    regressions: tuple[Regression, ...]
    rows: tuple[NDArray[np.int64], ...]
    features: Matrix
    best: NDArray[np.int64]

    @property
    def coefficients(self) -> Matrix:
        """β̂ of each arm, (K_m, d_m)."""
        return np.array([fit.coefficients for fit in self.regressions])


def sample_of(cohort: Cohort, dropouts: Dropouts, regression: StageRegression = LEAST_SQUARES) -> Sample:
    """Return the rows that count, under a way to deal with units that dropped out.

    ``imputed``: a unit keeps each row whose next context was seen, as in a session (docs/readings.md, 5).
    ``complete``: a unit without an outcome has no rows. ``weighted``: neither, and the others stand for it
    by the inverse of their probability of staying.
    """
    weights, staying = cohort.weights, None
    if dropouts == "weighted":
        if cohort.propensities is None:
            raise DesignError(
                "dropouts='weighted' needs the probabilities of staying; "
                "use cohort.with_propensities(PropensityModel())"
            )
        weights = weights / cohort.propensities.staying
        staying = staying_of(cohort.propensities, cohort.weights)
    counted = [_counted(cohort, m, dropouts) for m in range(len(cohort.design.stages))]
    return Sample(
        features=tuple(np.where(np.isfinite(features), features, 0.0) for features in cohort.features),
        feasible=cohort.feasible,
        rows=tuple(
            count[:, None] & (cohort.arms[:, m, None] == np.arange(arms))
            for m, (count, arms) in enumerate(zip(counted, cohort.design.arm_counts, strict=True))
        ),
        entered=cohort.entered,
        outcome=cohort.outcome,
        weights=weights,
        staying=staying,
        regression=regression,
    )


def _counted(cohort: Cohort, m: int, dropouts: Dropouts) -> Mask:
    """Return whose row counts at stage ``m``: who had an arm there and has a known target."""
    known = ~cohort.dropped_out
    if dropouts == "imputed" and m + 1 < cohort.arms.shape[1]:
        known = known | cohort.entered[:, m + 1]
    return (cohort.arms[:, m] >= 0) & known


def backward_induction(sample: Sample, decided: NDArray[np.int64] | None = None) -> tuple[StageFit, ...]:
    """Fit every stage and arm; each arm must have a row.

    ``decided`` (n, M) are the arms of a fixed regime, in place of those with the largest Q̂.
    """
    stages: list[StageFit] = []
    targets = sample.outcome
    for m in reversed(range(len(sample.features))):
        rows = tuple(np.flatnonzero(own) for own in sample.rows[m].T)
        features, weights = sample.features[m], sample.weights
        regressions = tuple(sample.regression.fit(features[own], targets[own], weights[own]) for own in rows)
        q = sample.q_values(m, np.array([fit.coefficients for fit in regressions]))
        best = np.where(sample.entered[:, m], q.argmax(axis=1) if decided is None else decided[:, m], -1)
        stages.insert(0, StageFit(regressions, rows, features, best))
        targets = np.where(best >= 0, q[np.arange(len(q)), best], sample.outcome)
    return tuple(stages)


@dataclass(frozen=True, eq=False)
class StayingModel:
    """One model: who was at risk and who stayed, (n,) each; terms of unit spread, (n, q); λ, and a start, (q,) each."""

    at_risk: Mask
    stayed: Mask
    terms: Matrix
    penalties: Vector
    start: Vector
    floor: float

    def of(self, units: NDArray[np.int64]) -> StayingModel:
        """Return the model of some units, which may repeat."""
        return replace(self, at_risk=self.at_risk[units], stayed=self.stayed[units], terms=self.terms[units])

    def probabilities(self, weights: Array) -> tuple[Array, Mask]:
        """Return P(staying) of each unit, 1 if not at risk, (B, n), and which resamples determine it, for W (B, n)."""
        own, terms, stayed = weights[:, self.at_risk], self.terms[self.at_risk], self.stayed[self.at_risk]
        lost, kept = (own[:, stayed == happened].sum(axis=1) for happened in (False, True))
        beta, whole = refit_logistic(terms, stayed, own, self.penalties, self.start)
        inside = np.clip(logistic(beta @ terms.T), self.floor, 1 - self.floor)
        found = np.ones(weights.shape)
        found[:, self.at_risk] = np.where(lost[:, None] > 0, inside, 1.0)  # where nobody is lost, staying is certain
        return found, (kept > 0) & (whole | (lost == 0))


@dataclass(frozen=True, eq=False)
class Staying:
    """The models of staying of a sample, and the case weights of its units, (n,)."""

    models: tuple[StayingModel, ...]
    case: Vector

    def of(self, units: NDArray[np.int64]) -> Staying:
        """Return the models of some units, which may repeat."""
        return Staying(tuple(model.of(units) for model in self.models), self.case[units])

    def weights(self, counts: Array) -> tuple[Array, Mask]:
        """Return w / P(staying) of each unit, as each resample fits it, (B, n), and which resamples determine it.

        ``counts`` (B, n) says how often a resample has each unit. Units that dropped out have no rows, and any weight.
        """
        found, whole = np.tile(self.case, (len(counts), 1)), np.ones(len(counts), dtype=np.bool_)
        for model in self.models:
            probability, determined = model.probabilities(counts * self.case)
            found /= probability
            whole &= determined
        return found, whole


def staying_of(fitted: FittedPropensities, case: Vector) -> Staying:
    """Return the models of staying that were fitted to a cohort, ready to be fitted to resamples."""
    models = [each for each in fitted.models if each.risk_set.kind == "staying"]
    clip = fitted.model.clip
    floors = [0.0 if clip is None else least(clip, 2, where=str(each.risk_set)) for each in models]
    pairs = zip(models, floors, strict=True)
    return Staying(tuple(_model(each, len(case), fitted.model.penalty, floor) for each, floor in pairs), case)


def _model(fitted: FittedModel, n: int, penalty: float, floor: float) -> StayingModel:
    assert fitted.logistic is not None  # probabilities of staying are always fitted
    intercept = fitted.logistic.names[:1] == ("1",)
    features = fitted.logistic.features
    scaled = Standardised.of(features, features, intercept=intercept)
    penalties = penalty / scaled.scale**2
    penalties[: int(intercept)] = 0.0
    at_risk, stayed, terms = np.zeros(n, np.bool_), np.zeros(n, np.bool_), np.zeros((n, features.shape[1]))
    rows = fitted.risk_set.rows
    at_risk[rows], stayed[rows] = True, fitted.risk_set.happened == 1
    terms[rows] = scaled.features
    start = scaled.coefficients(fitted.logistic.coef[0])
    return StayingModel(at_risk, stayed, terms, penalties, start, floor)
