"""How sure a Q-learning fit is: the interval that is valid at a stage, and whether the best arm is best by it.

Estimates of the last stage are regular. Estimates of earlier stages are regular too, unless some unit is near a
boundary between two arms later. Where they are, the sandwich over the stacked estimating equations holds
(``induction/influence.py``). Elsewhere the m-out-of-n bootstrap does (``bootstrap.py``). ``docs/inference.md`` has the
measured coverage of both.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from statistics import NormalDist
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dtrbandit.design.values import real, whole
from dtrbandit.errors import NotEstimable
from dtrbandit.evaluation.induction.induction import Sample, StageFit
from dtrbandit.evaluation.induction.influence import influences, root_of
from dtrbandit.evaluation.qlearning.bootstrap import (
    Chosen,
    Double,
    Regularity,
    choose_xi,
    chosen_for,
    parts_of,
    reflected,
    regularity,
    resample_size,
    resampled,
)
from dtrbandit.intervals import Interval
from dtrbandit.kernels.arrays import Array, Mask, Matrix
from dtrbandit.parallel import check_jobs

REACH = NormalDist().inv_cdf(0.975)
SANDWICH, BOOTSTRAP, NO_INTERVAL, ADAPTIVE = "sandwich", "m-out-of-n", "none", "none: adaptive"
AT_A_TIME = 2_000  # comparisons, for memory


@dataclass(frozen=True, kw_only=True)
class Bootstrap:
    """How the m-out-of-n bootstrap resamples units.

    Parameters
    ----------
    xi
        ξ, how far m falls below n where the estimates are not regular; ``"double"`` lets the double bootstrap choose.
    resamples
        B, and for the double bootstrap B₁ = B₂ = ``double``.
    seed
        Of all draws: the same seed gives the same interval.
    n_jobs, progress
        As in ``simulate``, for batches of resamples and for the double bootstrap. The result is the same for any number
        of processes. They pay for thousands of units, and for the double bootstrap: 1,000 resamples of 300 units take
        20 milliseconds.

    Examples
    --------
    >>> Bootstrap(xi=0.05).resamples
    1000
    """

    xi: float | Literal["double"] = 0.1  # measured: covers in all nine models of benchmarks/coverage.py
    resamples: int = 1_000
    double: int = 500
    seed: int = 0
    n_jobs: int | None = None
    progress: bool = False

    def __post_init__(self) -> None:
        if self.xi != "double":
            object.__setattr__(self, "xi", real(self.xi, "Bootstrap: xi", low=0.0, high=1.0))
        object.__setattr__(self, "resamples", whole(self.resamples, "Bootstrap: resamples", low=100))
        object.__setattr__(self, "double", whole(self.double, "Bootstrap: double", low=20))
        object.__setattr__(self, "seed", whole(self.seed, "Bootstrap: seed", low=0))
        check_jobs(self.n_jobs)


class StageIntervals(NamedTuple):
    """The intervals of linear combinations of a stage's coefficients, (L,), and the method that gave them.

    Standard errors are NaN unless the method is ``sandwich``: estimates that are not regular are not normal either.
    ``xi`` is that of the bootstrap, (L,), NaN where none was used; ``held`` is c(ξ), the share of the double
    bootstrap's intervals that hold the estimate, NaN where ξ was fixed.
    """

    interval: Interval
    method: str
    xi: Array
    held: Array


@dataclass(frozen=True, eq=False)
class Uncertainty:
    """The stages of a fit, the sample they were fitted to, and how to resample it.

    Where a policy chose the arms by what earlier units had taught it, no interval is valid. ``origin_stated`` says
    whether anybody has told how the arms came about; intervals assume that no policy learnt, where nobody has.
    """

    sample: Sample
    stages: tuple[StageFit, ...]
    bootstrap: Bootstrap
    adaptive: bool = False
    origin_stated: bool = True

    @cached_property
    def influences(self) -> tuple[Array, ...]:
        """φ of each stage, (n, K_m, d_m)."""
        return influences(self.stages)

    @cached_property
    def roots(self) -> tuple[Array, ...]:
        """R of each stage, (r, K_m, d_m), small and with RᵀR = Σ_i φ_i φ_iᵀ; NaN for arms whose φ is."""
        return tuple(root_of(phi) for phi in self.influences)

    @cached_property
    def regularity(self) -> tuple[Regularity, ...]:
        """Whether each stage is regular."""
        return tuple(regularity(self.sample, self.stages, m) for m in range(len(self.stages)))

    def method(self, m: int) -> str:
        """Return which interval stage ``m`` has."""
        nothing = np.zeros((1, *self.stages[m].coefficients.shape))
        return self.intervals(m, nothing).method

    def intervals(self, m: int, combinations: Array) -> StageIntervals:
        """Return linear combinations (L, K_m, d_m) of a stage's coefficients, with the intervals that hold there."""
        estimates = np.einsum("lad,ad->l", combinations, self.stages[m].coefficients)
        none = np.full(len(estimates), np.nan)
        unknown = Interval(estimates, none, none, none)
        if self.adaptive:
            return StageIntervals(unknown, ADAPTIVE, none, none)
        errors = self.std_errors(m, combinations)
        if not self.regularity[m].near:
            low, high = estimates - REACH * errors, estimates + REACH * errors
            return StageIntervals(Interval(estimates, errors, low, high), SANDWICH, none, none)
        try:
            return self._by_bootstrap(m, combinations, estimates, errors)
        except NotEstimable:
            return StageIntervals(unknown, NO_INTERVAL, none, none)

    def std_errors(self, m: int, combinations: Array) -> Array:
        """Return the sandwich's standard errors of linear combinations, valid only where estimates are regular.

        NaN for combinations of an arm that has none, and only these.
        """
        unknown = np.isnan(self.roots[m]).any(axis=0)
        scaled = np.tensordot(combinations, np.where(unknown, 0.0, self.roots[m]), axes=([1, 2], [1, 2]))
        rests_on_it = ((combinations != 0) & unknown).any(axis=(1, 2))
        return np.where(rests_on_it, np.nan, np.sqrt((scaled**2).sum(axis=1)))

    def _by_bootstrap(self, m: int, combinations: Array, estimates: Array, errors: Array) -> StageIntervals:
        xi, held = self._xi(m, combinations)
        low, high = np.full((2, len(estimates)), np.nan)
        for each in np.unique(xi):
            own = (xi == each) & np.isfinite(errors)
            drawn = np.einsum("lad,bad->bl", combinations[own], self._resampled(m, float(each))[0])
            low[own], high[own] = reflected(estimates[own], drawn)
        return StageIntervals(Interval(estimates, np.full(len(errors), np.nan), low, high), BOOTSTRAP, xi, held)

    def _xi(self, m: int, combinations: Array) -> Chosen:
        """Return ξ of each combination, and c(ξ); the double bootstrap chooses once for a stage."""
        how, count = self.bootstrap, len(combinations)
        if how.xi != "double":
            return Chosen(np.full(count, how.xi), np.full(count, np.nan))
        if m not in self._chosen:
            parts = parts_of(*self.stages[m].coefficients.shape)
            estimates = np.einsum("lad,ad->l", parts, self.stages[m].coefficients)
            double = Double(self.sample, m, parts, estimates, how.double, how.seed)
            self._chosen[m] = choose_xi(double, outer=how.double, n_jobs=how.n_jobs, progress=how.progress)
        return chosen_for(self._chosen[m], combinations)

    @cached_property
    def _chosen(self) -> dict[int, Chosen]:
        return {}

    def redrawn(self, m: int, xi: float) -> int:
        """Return how many resamples for a stage were drawn again, since they did not determine an arm."""
        return self._resampled(m, xi)[1]

    def _resampled(self, m: int, xi: float) -> tuple[Array, int]:
        """Return the coefficients of stage ``m`` in resamples, (B, K_m, d_m), and how many were drawn again.

        They serve all combinations.
        """
        known = self._drawn
        if (m, xi) not in known:
            how, size = self.bootstrap, self.size(m, xi)
            known[m, xi] = resampled(
                self.sample, m, size=size, resamples=how.resamples, seed=(how.seed, m),
                n_jobs=how.n_jobs, progress=how.progress,
            )  # fmt: skip
        return known[m, xi]

    def size(self, m: int, xi: float) -> int:
        """Return m, the units of a resample for a stage."""
        return resample_size(len(self.sample.outcome), self.regularity[m].share, xi)

    @cached_property
    def _drawn(self) -> dict[tuple[int, float], tuple[Array, int]]:
        return {}


class BestArms(NamedTuple):
    """The best arm of each history, and whether it is separated from the others, (n,) each.

    Attributes
    ----------
    best
        The feasible arm with the largest Q̂, −1 where none is feasible.
    separated
        Whether the 95 % intervals of its lead over every other feasible arm, each alone, lie above 0.
    valid
        Whether all these intervals exist.
    """

    best: NDArray[np.int64]
    separated: Mask
    valid: Mask


def best_arms(known: Uncertainty, m: int, features: Matrix, feasible: Mask) -> BestArms:
    """Compare the best arm at stage ``m`` with every other one, for features (n, d) and feasible arms (n, K)."""
    q = np.where(feasible, features @ known.stages[m].coefficients.T, -np.inf)
    best = np.where(feasible.any(axis=1), q.argmax(axis=1), -1)
    separated, valid = np.ones(len(q), dtype=np.bool_), np.ones(len(q), dtype=np.bool_)
    for other in range(q.shape[1]):
        rivals = np.flatnonzero(feasible[:, other] & (best != other))
        for rows in np.array_split(rivals, len(rivals) // AT_A_TIME + 1):
            low = known.intervals(m, lead_contrasts(features[rows], best[rows], other, arms=q.shape[1])).interval.low
            separated[rows] &= low > 0
            valid[rows] &= np.isfinite(low)
    return BestArms(best, separated & valid, valid)


def lead_contrasts(features: Matrix, best: NDArray[np.int64], other: int, *, arms: int) -> NDArray[np.float64]:
    """Return as combinations of coefficients, (n, K, d), by how much Q̂ of ``best`` is above that of ``other``."""
    each = np.zeros((len(features), arms, features.shape[1]))
    each[np.arange(len(features)), best] += features
    each[:, other] -= features
    return each
