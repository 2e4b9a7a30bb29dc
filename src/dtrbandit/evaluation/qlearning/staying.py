"""Probabilities of staying in resamples: the logistic models of staying, fitted anew to many resamples at once.

With ``dropouts="weighted"`` units stand for those who dropped out by 1/P(staying). A resample has fitted probabilities
of its own, or its spread would miss part of how the estimates vary.

=================  =========================================================================================
notation           meaning
=================  =========================================================================================
Z (n, q), y (n,)   terms of a model for the units at risk, and who stayed
W (B, n)           case weights of each resample, 0 for units that it lacks
β (B, q)           maximises Σ W (y log p + (1 − y) log(1 − p)) − ½ Σ λ β², p = 1 / (1 + e^−Zβ)
=================  =========================================================================================
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from dtrbandit.evaluation.propensities.fitted import FittedModel, FittedPropensities, least
from dtrbandit.kernels.arrays import Array, Mask, Matrix, Vector

MOST_STEPS, SMALL_STEP = 40, 1e-9  # of Newton's iteration, on terms of unit spread
SINGULAR = 1e-12  # a smaller determinant of a Hessian with unit diagonal is none
CERTAIN = 30.0  # log odds beyond which nothing is fitted: what happened is separated


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
        own = weights[:, self.at_risk]
        lost, kept = (own[:, self.stayed[self.at_risk] == happened].sum(axis=1) for happened in (False, True))
        terms = self.terms[self.at_risk]
        odds, whole = _newton(self, own)
        inside = np.clip(1 / (1 + np.exp(-np.clip(odds @ terms.T, -CERTAIN, CERTAIN))), self.floor, 1 - self.floor)
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
    logistic, rows = fitted.logistic, fitted.risk_set.rows
    assert logistic is not None  # probabilities of staying are always fitted
    first = int(logistic.names[:1] == ("1",))
    features, coefficients = logistic.features, logistic.coef[0]
    centre = features.mean(axis=0) if first else np.zeros(features.shape[1])
    scale = np.sqrt(np.mean((features - centre) ** 2, axis=0))
    centre[:first], scale[:first] = 0.0, 1.0
    scale[scale == 0] = 1.0
    start, penalties = coefficients * scale, penalty / scale**2
    start[:first] += coefficients @ centre  # the intercept makes up for centring
    penalties[:first] = 0.0
    at_risk, stayed, terms = np.zeros(n, np.bool_), np.zeros(n, np.bool_), np.zeros((n, len(scale)))
    at_risk[rows], stayed[rows] = True, fitted.risk_set.happened == 1
    terms[rows] = (features - centre) / scale
    return StayingModel(at_risk, stayed, terms, penalties, start, floor)


def _newton(model: StayingModel, weights: Array) -> tuple[Array, Mask]:
    """Return β of each resample, (B, q), and where the iteration came to its end; W is of those at risk, (B, r)."""
    terms, stayed = model.terms[model.at_risk], model.stayed[model.at_risk]
    q = terms.shape[1]
    products = (terms[:, :, None] * terms[:, None, :]).reshape(-1, q * q)
    beta, going = np.tile(model.start, (len(weights), 1)), np.ones(len(weights), dtype=np.bool_)
    whole = np.zeros(len(weights), dtype=np.bool_)
    for _ in range(MOST_STEPS):
        own = weights[going]
        p = 1 / (1 + np.exp(-np.clip(beta[going] @ terms.T, -CERTAIN, CERTAIN)))
        gradient = (own * (stayed - p)) @ terms - beta[going] * model.penalties
        hessian = ((own * p * (1 - p)) @ products).reshape(-1, q, q) + np.diag(model.penalties)
        solvable = _regular(hessian)
        hessian[~solvable] = np.eye(q)
        step = np.linalg.solve(hessian, gradient[:, :, None])[:, :, 0]
        numbers = np.flatnonzero(going)
        beta[numbers] += step
        there = np.abs(step).max(axis=1, initial=0.0) < SMALL_STEP
        whole[numbers] = solvable & there
        going[numbers] = solvable & ~there & (np.abs(beta[numbers]).max(axis=1, initial=0.0) < CERTAIN)
        if not going.any():
            break
    return beta, whole


def _regular(hessian: Array) -> Mask:
    """Say which matrices have an inverse: their determinant, with a unit diagonal, is not too small."""
    with np.errstate(invalid="ignore", divide="ignore"):
        scale = np.sqrt(np.einsum("bii->bi", hessian))
        volume = np.linalg.det(hessian / (scale[:, :, None] * scale[:, None, :]))
    return np.asarray(volume > SINGULAR)
