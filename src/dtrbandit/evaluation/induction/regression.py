"""Weighted least squares for every number of rows, and what its standard errors are made of.

=========================  ==================================================================================
notation                   meaning
=========================  ==================================================================================
X (n, d), y, w (n,)        rows, targets, weights
W = diag(w)
β = (XᵀWX)⁻¹XᵀWy           coefficients; of several solutions the shortest
e = y − Xβ                 residuals
h_i = w_i x_iᵀ(XᵀWX)⁻¹x_i  leverage: how far row i determines its own fitted value
=========================  ==================================================================================

Rows are independent, of any variance, and a row of weight 2 is one unit that stands for two. ``influence.py`` makes
standard errors of the operator, the residuals and the leverages.

Q-learning takes any ``StageRegression`` that is linear in the targets; ``LeastSquares`` is the one of the paper.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from dtrbandit.kernels.arrays import Array, Mask, Matrix, Vector
from dtrbandit.rank import scaled_rows, unit_determinant

LEVERAGE_ONE = 1.0 - 1e-8
ROUNDING = 1e-13  # of what it is the difference of, a residual is none
SINGULAR = 1e-10  # a smaller determinant is none; features are orthonormal in the whole sample, where it is 1


class Regression(NamedTuple):
    """A fit.

    Attributes
    ----------
    coefficients
        (d,).
    operator
        (XᵀWX)⁻¹XᵀW, (d, n): from targets to coefficients.
    residuals, leverage
        (n,).
    rank, determined
        The rank of the rows, and for each column whether the rows determine it.
    alone
        (n,), the rows of leverage 1: each determines a coefficient alone, and nothing tells how it varies.
    r_squared
        The share of the targets' (weighted) variation about their mean that the fit explains; NaN if they do not vary.
    """

    coefficients: Vector
    operator: Matrix
    residuals: Vector
    leverage: Vector
    rank: int
    determined: tuple[bool, ...]
    alone: Mask
    r_squared: float

    @property
    def varies(self) -> bool:
        """Whether the rows tell how the coefficients vary: they determine them, and none does so alone."""
        return self.rank == len(self.coefficients) and not self.alone.any()

    @property
    def influence(self) -> Matrix:
        """By how much each row's own residual moves the coefficients, (d, n), with HC3's factor 1 / (1 − h)."""
        return self.operator * (self.residuals / (1.0 - self.leverage))


def regress(rows: Matrix, targets: Vector, weights: Vector) -> Regression:
    """Return the weighted least-squares fit of ``targets`` (n,) on ``rows`` (n, d), which must be at least one.

    The rank is judged on the weighted rows with columns scaled to unit length; of several solutions the shortest
    is in original units (docs/readings.md, 7).

    Examples
    --------
    >>> fit = regress(np.ones((3, 1)), np.array([1.0, 2.0, 6.0]), np.ones(3))
    >>> fit.coefficients, fit.residuals  # the mean
    (array([3.]), array([-2., -1.,  3.]))
    """
    root = np.sqrt(weights / weights.mean())  # a common factor changes nothing
    scale, left, singular, right, rank = fit = scaled_rows(rows * root[:, None])
    left = left[:, :rank]
    solve = (right[:rank].T / singular[:rank]) @ left.T / scale[:, None]  # (d, n): from targets to coefficients
    shortest = solve @ (targets * root)
    if rank < rows.shape[1]:
        null = right[rank:].T / scale[:, None]  # adding any combination of these changes no fitted value
        shortest -= null @ np.linalg.lstsq(null, shortest, rcond=None)[0]
    residuals, leverage = _residuals(rows, targets, shortest), np.einsum("ij,ij->i", left, left)
    return Regression(
        shortest, solve * root, residuals, leverage, rank, fit.determined,
        leverage > LEVERAGE_ONE, _r_squared(targets, residuals, weights),
    )  # fmt: skip


def _residuals(rows: Matrix, targets: Vector, coefficients: Vector) -> Vector:
    """Return targets less fitted values, 0 where that is rounding: a perfect fit has no standard error, z or P."""
    residuals = targets - rows @ coefficients
    size = np.abs(targets) + np.abs(rows) @ np.abs(coefficients)
    return np.where(np.abs(residuals) <= ROUNDING * size, 0.0, residuals)


def _r_squared(targets: Vector, residuals: Vector, weights: Vector) -> float:
    spread = targets - np.average(targets, weights=weights)
    total, none = float(weights @ spread**2), ROUNDING**2 * float(weights @ targets**2)
    return 1.0 - float(weights @ residuals**2) / total if total > none else float("nan")


class Refits(NamedTuple):
    """Coefficients of resamples, (B, d), and which resamples determine them, (B,)."""

    coefficients: Array
    determined: Mask


class StageRegression(ABC):
    """How the coefficients of one stage and arm are found.

    Coefficients must be linear in the targets, so that the operator of the fit tells how each row moves them.

    Attributes
    ----------
    name
        What it is called in a summary.
    """

    name: ClassVar[str]

    @abstractmethod
    def fit(self, features: Matrix, targets: Vector, weights: Vector) -> Regression:
        """Return the fit of targets (n,) on features (n, d), with weights (n,) that are not all 0."""

    def refit(
        self,
        features: Matrix,
        targets: Array,
        weights: Vector,  # noqa: ARG002  # by which a subclass may prepare the features once for all resamples
        resampled: Array,
    ) -> Refits:
        """Return the fits of resamples, which give the rows weights (B, n) of their own; targets are (B, n) or (1, n).

        They are found one by one. A subclass that finds them together is much faster. ``weights`` (n,) are those of
        the whole sample.
        """
        coefficients = np.zeros((len(resampled), features.shape[1]))
        determined = np.zeros(len(resampled), dtype=np.bool_)
        for b, (target, own) in enumerate(zip(np.broadcast_to(targets, resampled.shape), resampled, strict=True)):
            if (rows := own > 0).any():
                found = self.fit(features[rows], target[rows], own[rows])
                coefficients[b], determined[b] = found.coefficients, found.rank == features.shape[1]
        return Refits(coefficients, determined)


@dataclass(frozen=True)
class LeastSquares(StageRegression):
    """Weighted least squares: the regression of the paper.

    Examples
    --------
    >>> LeastSquares().fit(np.ones((2, 1)), np.array([1.0, 3.0]), np.ones(2)).coefficients
    array([2.])
    """

    name = "least squares"

    def fit(self, features: Matrix, targets: Vector, weights: Vector) -> Regression:
        """Return ``regress``."""
        return regress(features, targets, weights)

    def refit(self, features: Matrix, targets: Array, weights: Vector, resampled: Array) -> Refits:
        """Return the fits of all resamples at once, as products of matrices."""
        d = features.shape[1]
        features, back = _orthonormal(features, weights / weights.mean())
        products = (features[:, :, None] * features[:, None, :]).reshape(-1, d * d)
        own = resampled / weights.mean()
        gram = (own @ products).reshape(-1, d, d)
        moment = (own * targets) @ features
        determined = unit_determinant(gram) > SINGULAR
        gram[~determined] = np.eye(d)
        return Refits(np.linalg.solve(gram, moment[:, :, None])[:, :, 0] @ back.T, determined)


LEAST_SQUARES = LeastSquares()


def _orthonormal(features: Array, weights: Array) -> tuple[Array, Array]:
    """Return features as combinations that are orthonormal under the weights, and the way back for coefficients.

    Columns far from 0, such as heights, are nearly parallel; these are not. Zeros where the rank is not full.
    """
    scale, _, singular, right, rank = scaled_rows(features * np.sqrt(weights)[:, None])
    if rank < len(scale):
        return np.zeros_like(features), np.zeros((len(scale), len(scale)))
    back: Array = right.T / singular / scale[:, None]
    return features @ back, back
