"""Comparisons of regimes that were fixed beforehand, valued on the same units.

φ is (n, R), a column for each regime. Regimes share units, so their values are correlated: the standard error of a
difference is √Σ(φ_d − φ_e)². What holds for several at once is found from draws of a multivariate Student distribution,
Z / √(χ²_ν / ν) with Z = Σ_i g_i φ_i and g_i standard normal. Z is made from the singular values of φ, which have the
same law. No inverse is needed: values of embedded regimes are often linearly dependent.

A regime has as many degrees of freedom as its followers have equal weights, less one. A difference has those of the
smaller side, and what holds for several together those of the smallest.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import numpy as np

from dtrbandit.evaluation.values.estimate import Estimate
from dtrbandit.intervals import LEVEL, student_quantile
from dtrbandit.kernels.arrays import Matrix, Vector

DRAWS = 20_000
Limits = tuple[float, float, float, float, float, float]


def joint_reach(estimates: Sequence[Estimate], *, seed: int) -> float:
    """Return c so that V̂_d ± c·se_d hold for all regimes together: the 95 % quantile of max_d |T_d|."""
    influence = stacked(estimates)
    return _largest(np.abs(_drawn(influence, _freedom(estimates), seed=seed)), _errors(influence))


def differences(estimates: Sequence[Estimate], *, seed: int) -> dict[tuple[str, str], Limits]:
    """Return each pair's difference, standard error, 95 % interval, and limits that hold for all pairs together."""
    if len(estimates) < 2:
        return {}
    pairs = list(combinations(range(len(estimates)), 2))
    contrast = np.zeros((len(estimates), len(pairs)))
    for column, (one, other) in enumerate(pairs):
        contrast[one, column], contrast[other, column] = 1.0, -1.0
    influence = stacked(estimates)
    errors = _errors(influence @ contrast)
    joint = _largest(np.abs(contrast.T @ _drawn(influence, _freedom(estimates), seed=seed)), errors)
    found = {}
    for (one, other), error in zip(pairs, errors.tolist(), strict=True):
        a, b = estimates[one], estimates[other]
        difference, reach = a.value - b.value, student_quantile(min(a.freedom, b.freedom)) * error
        limits = (difference - reach, difference + reach, difference - joint * error, difference + joint * error)
        found[a.regime, b.regime] = (difference, error, *limits)
    return found


def contenders(estimates: Sequence[Estimate], *, seed: int) -> dict[str, tuple[bool, float]]:
    """Return which regimes may be the best, and at most how much each loses (Hsu 1981; Ertefaie et al. 2016).

    With c_d the 95 % quantile of max_e (T_e − T_d) / σ_de, regime d is kept if V̂_d ≥ V̂_e − c_d σ_de for all e. A regime
    that is truly best is kept with a probability of 95 %. Where several are, this holds for each, not for all together.
    """
    if not estimates:
        return {}
    values, influence = np.array([each.value for each in estimates]), stacked(estimates)
    draws, found = _drawn(influence, _freedom(estimates), seed=seed), {}
    for d, each in enumerate(estimates):
        others = [e for e in range(len(values)) if e != d]
        errors = _errors(influence[:, others] - influence[:, [d]])
        reach = _largest(draws[others] - draws[d], errors) if others else 0.0
        ahead = values[others] - values[d]
        kept = bool((ahead <= reach * errors).all())
        found[each.regime] = kept, float((ahead + reach * errors).max(initial=0.0))
    return found


def stacked(estimates: Sequence[Estimate]) -> Matrix:
    """Return φ, (n, R)."""
    return np.stack([each.influence for each in estimates if each.influence is not None], axis=1)


def _freedom(estimates: Sequence[Estimate]) -> float:
    return min(each.freedom for each in estimates)


def _drawn(influence: Matrix, freedom: float, *, seed: int) -> Matrix:
    """Return draws from the Student distribution with the covariance of Z, (R, draws)."""
    rng = np.random.default_rng(seed)
    _, size, directions = np.linalg.svd(influence, full_matrices=False)
    normal = (size[:, None] * directions).T @ rng.normal(size=(len(size), DRAWS))
    found: Matrix = normal / np.sqrt(rng.chisquare(freedom, size=DRAWS) / freedom)
    return found


def _errors(influence: Matrix) -> Vector:
    found: Vector = np.sqrt((influence**2).sum(axis=0))
    return found


def _largest(draws: Matrix, errors: Vector) -> float:
    """Return the 95 % quantile of the largest draw over its standard error; one without an error never is."""
    inverse = np.divide(1.0, errors, out=np.zeros_like(errors), where=errors > 0)
    return float(np.quantile((draws * inverse[:, None]).max(axis=0), LEVEL))
