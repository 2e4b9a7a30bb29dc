"""Logistic models: by maximum likelihood or with an L2 penalty, and whether the likelihood has a maximum."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dtrbandit.kernels.arrays import Array, Mask, Matrix, Vector
from dtrbandit.rank import unit_determinant

Numbers = NDArray[np.int64]

DEPENDENT = 1e-10  # a feature of which no more than this share is left, given those before it, says nothing new
CLOSE_TO_CERTAIN = 1e-4  # a fitted probability as small as this is reason to look for separation
TOLERANCE, MOST_STEPS = 1e-12, 200  # of Newton's iteration, on features of unit spread
SMALL_STEP, MOST_REFIT_STEPS = 1e-9, 40  # the same where a model is fitted anew to resamples
SINGULAR = 1e-12  # a smaller determinant of a Hessian with unit diagonal is none
CERTAIN = 30.0  # log odds beyond which nothing is fitted: what happened is separated


@dataclass(frozen=True, eq=False)
class Logistic:
    """A fitted model log P(k | x) / P(0 | x) = β_kᵀ x of K outcomes.

    Attributes
    ----------
    names
        The features x that it uses, ``"1"`` the intercept.
    dropped
        Features left out because those before them determine them: constant or collinear ones.
    features
        x of the rows it was given, (n, d), without those left out.
    coef
        β_k for k = 1, …, K − 1, (K − 1, d), in the features' own units.
    probabilities
        P(k | x) of the rows it was given, (n, K).
    converged
        Whether the iteration came to its end.
    separating
        None if the likelihood has a maximum; otherwise the features that separate the outcomes by themselves, which
        are none if only several together do.
    """

    names: tuple[str, ...]
    dropped: tuple[str, ...]
    features: Matrix
    coef: Matrix
    probabilities: Matrix
    converged: bool
    separating: tuple[str, ...] | None


def fit_logistic(
    features: Matrix, names: Sequence[str], happened: Numbers, weights: Vector, *, penalty: float
) -> Logistic:
    """Fit a logistic model to what ``happened``: numbers 0 to K − 1, each at least once.

    It minimises −Σᵢ wᵢ log P(happenedᵢ | xᵢ) + ½ · penalty · ‖β‖², where β is that of the features in their own units
    and the intercept is not penalised: scikit-learn's ``C`` is 1 / penalty. For K > 2 the norm is that of the
    symmetric form, with a β for each outcome.
    """
    counted = weights > 0
    kept = independent(features[counted])
    labels = tuple(names[j] for j in kept)
    used = features[:, kept]
    # one unit for all features if there is a penalty, which is adjusted to it
    scaled = Standardised.of(used, used[counted], intercept=labels[:1] == ("1",), common=penalty > 0)
    rows, outcomes = scaled.features[counted], happened[counted]
    coef, converged = _minimise(rows, outcomes, weights[counted], scaled, penalty)
    probabilities = _softmax(scaled.features @ coef.T)
    doubtful = penalty == 0 and (not converged or probabilities[counted].min() < CLOSE_TO_CERTAIN)
    separating = _separating(rows, labels, outcomes) if doubtful and separated(rows, outcomes) else None
    dropped = tuple(name for j, name in enumerate(names) if j not in kept)
    return Logistic(labels, dropped, used, scaled.own_units(coef), probabilities, converged, separating)


def independent(features: Matrix) -> list[int]:
    """Return the columns that those before them do not determine, by Gram–Schmidt, each step taken twice.

    Examples
    --------
    >>> independent(np.array([[1.0, 2.0, 3.0, 0.0], [1.0, 5.0, 6.0, 1.0], [1.0, 9.0, 10.0, 0.0]]))
    [0, 1, 3]
    """
    kept: list[int] = []
    basis = np.zeros((len(features), 0))
    for j, column in enumerate(features.T):
        rest = column - basis @ (basis.T @ column)
        rest = rest - basis @ (basis.T @ rest)
        length = float(np.linalg.norm(rest))
        if length > DEPENDENT * float(np.linalg.norm(column)):
            kept.append(j)
            basis = np.column_stack([basis, rest / length])
    return kept


def separated(features: Matrix, happened: Numbers) -> bool:
    """Say whether the features separate the outcomes, so that the likelihood has no maximum.

    This is the complete or quasi-complete separation of Albert and Anderson (1984), found by a linear program. Of all
    β with 0 ≤ (β_happened − β_k)ᵀ x ≤ 1 for every row and every other outcome k, the largest sum of these products is
    at least 1 with separation, and 0 without.
    """
    from scipy.optimize import linprog

    margins = _margins(features, happened)
    program = linprog(
        -margins.sum(axis=0),
        A_ub=np.vstack([margins, -margins]),
        b_ub=np.repeat([1.0, 0.0], len(margins)),
        bounds=(None, None),
        method="highs",
    )
    return bool(program.success and -program.fun > 0.5)


def _margins(features: Matrix, happened: Numbers) -> Matrix:
    """Return the vectors whose products with (β_1, …, β_{K−1}) are (β_happened − β_k)ᵀ x."""
    (n, d), outcomes = features.shape, int(happened.max()) + 1
    row, margins = np.arange(n), np.zeros((outcomes - 1, n, outcomes, d))
    for shift in range(1, outcomes):
        margins[shift - 1, row, happened] = features
        margins[shift - 1, row, (happened + shift) % outcomes] = -features
    return margins[:, :, 1:].reshape((outcomes - 1) * n, (outcomes - 1) * d)


def _separating(features: Matrix, names: Sequence[str], happened: Numbers) -> tuple[str, ...]:
    intercept = [j for j, name in enumerate(names) if name == "1"]
    alone = [j for j in range(len(names)) if j not in intercept and separated(features[:, [*intercept, j]], happened)]
    return tuple(names[j] for j in alone)


@dataclass(frozen=True, eq=False)
class Standardised:
    """Features centred and scaled for Newton's iteration; neither alters the minimum.

    The intercept makes up for centring. A penalty is one in the features' own units.
    """

    features: Matrix
    centre: Vector
    scale: Vector
    intercept: bool

    @classmethod
    def of(cls, features: Matrix, seen: Matrix, *, intercept: bool, common: bool = False) -> Standardised:
        """Return features in units of the spread of those ``seen``; all in one ``common`` unit if asked."""
        centre = seen.mean(axis=0) if intercept else np.zeros(features.shape[1])
        scale = np.sqrt(np.mean((seen - centre) ** 2, axis=0))
        centre[: int(intercept)], scale[: int(intercept)] = 0.0, 0.0
        scale[:] = scale.max(initial=0.0) if common else scale
        scale[: int(intercept)] = 1.0
        scale[scale == 0] = 1.0
        return cls((features - centre) / scale, centre, scale, intercept)

    def coefficients(self, own: Vector) -> Vector:
        """Return coefficients of the standardised features from those of the features as they were given, (d,)."""
        found: Vector = own * self.scale
        found[: int(self.intercept)] += own @ self.centre
        return found

    def own_units(self, coef: Matrix) -> Matrix:
        """Return coefficients of the features as they were given."""
        own = coef / self.scale
        own[:, : int(self.intercept)] -= (own @ self.centre)[:, None]
        return own


def _minimise(
    features: Matrix, happened: Numbers, weights: Vector, scaled: Standardised, penalty: float
) -> tuple[Matrix, bool]:
    """Return β_1, …, β_{K−1}, (K − 1, d), and whether the iteration came to its end."""
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.linear_model import LogisticRegression

    first = int(scaled.intercept)
    if features.shape[1] == first:  # nothing but an intercept, or nothing at all
        share = np.bincount(happened, weights)
        return np.log(share[1:, None] / share[0]) * np.ones(first), True
    strength = np.inf if penalty == 0 else scaled.scale[-1] ** 2 / penalty
    model = LogisticRegression(
        C=strength, solver="newton-cholesky", tol=TOLERANCE, max_iter=MOST_STEPS, fit_intercept=scaled.intercept
    )
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(features[:, first:], happened, sample_weight=weights)
    coef = np.column_stack([model.intercept_, model.coef_])[:, 1 - first :]
    contrasts = coef if len(coef) == 1 else coef[1:] - coef[0]
    return contrasts, not any(issubclass(each.category, ConvergenceWarning) for each in caught)


def _softmax(scores: Matrix) -> Matrix:
    """Return the probabilities of outcomes 0, …, K − 1 from the scores of 1, …, K − 1."""
    all_scores = np.column_stack([np.zeros(len(scores)), scores])
    odds = np.exp(all_scores - all_scores.max(axis=1, keepdims=True))
    shares: Matrix = odds / odds.sum(axis=1, keepdims=True)
    return shares


def logistic(odds: Array) -> Array:
    """Return 1 / (1 + e^−odds), with odds that are bounded."""
    probability: Array = 1 / (1 + np.exp(-np.clip(odds, -CERTAIN, CERTAIN)))
    return probability


def refit_logistic(
    terms: Matrix, happened: Mask, weights: Array, penalties: Vector, start: Vector
) -> tuple[Array, Mask]:
    """Return β of each resample, (B, q), for its case weights (B, n), and where the iteration came to its end.

    β maximises Σ w (y log p + (1 − y) log(1 − p)) − ½ Σ λ β², with p = 1 / (1 + e^−Zβ), Z (n, q) terms of unit spread,
    y what ``happened``, and λ the ``penalties``.
    """
    q = terms.shape[1]
    products = (terms[:, :, None] * terms[:, None, :]).reshape(-1, q * q)
    beta, going = np.tile(start, (len(weights), 1)), np.ones(len(weights), dtype=np.bool_)
    whole = np.zeros(len(weights), dtype=np.bool_)
    for _ in range(MOST_REFIT_STEPS):
        own, p = weights[going], logistic(beta[going] @ terms.T)
        gradient = (own * (happened - p)) @ terms - beta[going] * penalties
        hessian = ((own * p * (1 - p)) @ products).reshape(-1, q, q) + np.diag(penalties)
        solvable = unit_determinant(hessian) > SINGULAR
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
