"""Comparisons of several regimes that were fixed beforehand, valued on the same units.

φ is (n, R), a column for each regime. Regimes share units, so their values are correlated: the standard error of a
difference is √Σ(φ_d − φ_e)². What holds for all regimes at once is found from draws of Z = Σ_i g_i φ_i with g_i
standard normal. They are made from the singular values of φ, which have the same law. No inverse is needed: values
of embedded regimes are often linearly dependent.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dtrbandit.kernels.arrays import Mask, Matrix, Vector

DRAWS = 20_000
LEVEL = 0.95


class Contenders(NamedTuple):
    """Which regimes may be the best, (R,), and at most how much each loses against the best, (R,)."""

    kept: Mask
    loses_at_most: Vector


def drawn(influence: Matrix, *, seed: int) -> Matrix:
    """Return draws of Z, (draws, R)."""
    _, size, directions = np.linalg.svd(influence, full_matrices=False)
    normal: Matrix = np.random.default_rng(seed).normal(size=(DRAWS, len(size)))
    found: Matrix = normal @ (size[:, None] * directions)
    return found


def joint_reach(influence: Matrix, *, seed: int) -> float:
    """Return c so that V̂_d ± c·se_d hold for all regimes together: the 95 % quantile of max_d |Z_d| / se_d."""
    errors = np.sqrt((influence**2).sum(axis=0))
    return float(np.quantile(_over(np.abs(drawn(influence, seed=seed)), errors).max(axis=1), LEVEL))


def contenders(values: Vector, influence: Matrix, *, seed: int) -> Contenders:
    """Return the comparison with the best (Hsu 1981; Ertefaie et al. 2016).

    With c_d the 95 % quantile of max_e (Z_e − Z_d) / σ_de, regime d is kept if V̂_d ≥ V̂_e − c_d σ_de for all e. A regime
    that is truly best is kept with a probability of 95 %. Where several are, this holds for each, not for all together.
    """
    draws, kept, loses = drawn(influence, seed=seed), [], []
    for d in range(len(values)):
        others = [e for e in range(len(values)) if e != d]
        errors = np.sqrt(((influence[:, others] - influence[:, [d]]) ** 2).sum(axis=0))
        reach = np.quantile(_over(draws[:, others] - draws[:, [d]], errors).max(axis=1), LEVEL) if others else 0.0
        ahead = values[others] - values[d]
        kept.append(bool((ahead <= reach * errors).all()))
        loses.append(float((ahead + reach * errors).max(initial=0.0)))
    return Contenders(np.array(kept), np.array(loses))


def _over(draws: Matrix, errors: Vector) -> Matrix:
    """Return draws divided by their standard errors; 0 where there is nothing random."""
    return draws * np.divide(1.0, errors, out=np.zeros_like(errors), where=errors > 0)
