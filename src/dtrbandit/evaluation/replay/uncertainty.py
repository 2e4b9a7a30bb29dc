"""How uncertain replay is: over paths through one cohort, or over cohorts.

Paths through one cohort differ by the luck of draws. Cohorts differ by whom they hold, and usually by more. Over paths
the interval is Student's, if there are enough of them (``intervals.REPLAY``). Over
cohorts, from B resamples of the units with P′ paths each, and P paths through the cohort itself:

    σ² = max(0, Var_b(v̄_b) − mean_b(s_b²/P′)) + s²/P

v̄_b is the mean over the paths through resample b, s_b² their variance, s² that of the P paths. The interval is the
value ± 1.96σ. Resampled cohorts repeat units, so replay is a little higher on them: they give the spread, not the
centre.
"""

from __future__ import annotations

import numpy as np

from dtrbandit.intervals import FULL, LEVEL, REACH, REPLAY, TOO_FEW, Interval, interval, level_of, no_interval
from dtrbandit.kernels.arrays import Array

PATHS, COHORTS = "over paths through this cohort", "over cohorts"


def worth(paths: int, over: str) -> str:
    """Say what an interval is worth: "95 %", "about 90 %" or "too few paths for an interval"."""
    return FULL if over == COHORTS else level_of(paths, REPLAY)


def over_paths(values: Array, *, level: float = LEVEL) -> Interval:
    """Return the mean of values (P, …) with Student's interval over paths; NaN with too few of them."""
    if worth(len(values), PATHS) != TOO_FEW:
        return interval(values, level=level)
    return no_interval(values.mean(axis=0))


def mean_interval(values: Array, resampled: Array | None) -> Interval:
    """Return the mean of values (P, …) with its interval: over paths, or over cohorts where some were resampled.

    ``resampled`` is (B, P′, …), NaN for cohorts that could not be played.
    """
    if resampled is None:
        return over_paths(values)
    played = ~np.isnan(resampled.reshape(len(resampled), -1)).any(axis=1)
    return over_cohorts(values, resampled[played])


def over_cohorts(values: Array, resampled: Array) -> Interval:
    """Return the mean of values (P, …) with its interval over cohorts, from those of resampled cohorts (B, P′, …).

    Examples
    --------
    >>> found = over_cohorts(np.array([1.0, 1.0]), np.array([[0.0, 0.0], [1.0, 1.0], [2.0, 2.0]]))
    >>> found.estimate, found.std_error
    (np.float64(1.0), np.float64(1.0))
    """
    within = resampled.var(axis=1, ddof=1).mean(axis=0) / resampled.shape[1]
    between = np.maximum(resampled.mean(axis=1).var(axis=0, ddof=1) - within, 0.0)
    mean = values.mean(axis=0)
    std_error = np.sqrt(between + values.var(axis=0, ddof=1) / len(values))
    return Interval(mean, std_error, mean - REACH * std_error, mean + REACH * std_error)
