"""Replay (Algorithm 2, ReplayDTR): what an online algorithm would have earned, from finished units alone."""

from __future__ import annotations

import hashlib
import warnings
from dataclasses import replace as with_other
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dtrbandit.design.values import whole
from dtrbandit.evaluation.cohort.cohort import Cohort
from dtrbandit.evaluation.replay.paths import Inputs, play_path, prepare, require_room, room
from dtrbandit.evaluation.replay.players import earlier_of
from dtrbandit.evaluation.replay.resampling import Resampled, Resampling, play_resampled, require_resampling
from dtrbandit.evaluation.replay.result import Replay
from dtrbandit.evaluation.replay.sampling import SamplingWeights
from dtrbandit.parallel import check_jobs, map_unordered
from dtrbandit.policies.lsvi_ucb import warn_if_unscaled
from dtrbandit.policies.policy import Policy
from dtrbandit.policies.registry import learns
from dtrbandit.record.teaching import Prior


class SmallCohort(UserWarning):
    """A replay meets the same units so often that a policy can learn them by heart."""


class EqualWeights(UserWarning):
    """Units are drawn alike although they were not equally likely to have their arms: the value is biased."""


def replay(  # noqa: PLR0913  # each by its name
    policy: Policy[Any],
    cohort: Cohort,
    *,
    horizon: int,
    paths: int,
    weights: Any = None,
    seed: int = 0,
    n_jobs: int | None = None,
    replace: bool = True,
    cohorts: int | None = None,
    cohort_paths: int = 4,
    prior: Prior | None = None,
    progress: bool = False,
) -> Replay:
    """Let a policy play through a cohort, meeting only units whose arms it would have given (Algorithm 2).

    Rows are drawn by weight from all units. A row is accepted if at every stage that the unit entered the policy
    would give the arm it had; then the policy learns from it, and the next round begins. Any other row leaves no
    trace. A path depends on the seed and its own number alone, and all policies are offered the same rows.

    Parameters
    ----------
    weights
        One number per unit, as it is. None: 1/p where the cohort has propensities, else equal weights; times the
        cohort's case weights.
    n_jobs
        Processes; None follows ``joblib.parallel_config``, without one it is 1; −1 for all cores.
    replace
        Whether a row may come again. If not, a path is one pass over the rows in random order (the paper's first
        procedure; with unequal weights, over a sample in which each row is kept in proportion to its weight), and the
        horizon must be short enough.
    cohorts
        How many resampled cohorts the policy plays too, at least 30, 100 for a publication; None for none. They give
        the interval over cohorts. Without them the interval is over paths through this cohort, and says nothing about
        others. Units are resampled with replacement, and propensities estimated anew.
    cohort_paths
        The paths through each resampled cohort.
    prior
        A cohort of an earlier trial, whose units teach the policy before the first round. They must not be among the
        units that are replayed: the policy would know these by heart.
    progress
        Whether to report on standard error.

    Warns
    -----
    EqualWeights
        When there are no propensities, and units left early or plans were plainly not equally frequent.
    UnscaledOutcomes
        When outcomes plainly exceed the ``scale`` of LSVIUCB.
    SmallCohort
        When the horizon exceeds the effective sample size: a policy that learns then looks better than it is.

    Examples
    --------
    >>> import dtrbandit as dtr
    >>> design, rng = dtr.Design([dtr.Stage("only", ("a", "b"), "1 + x")]), np.random.default_rng(0)
    >>> x, arms = rng.normal(size=500), rng.integers(2, size=(500, 1))
    >>> outcome, units = np.where(arms[:, 0] == 1, x, -x), tuple(map(str, range(500)))
    >>> cohort = Cohort(design, units, ({"x": x},), arms, outcome, np.ones(500))
    >>> found = replay(dtr.Greedy(), cohort, horizon=300, paths=2)  # it learns to give b where x > 0
    >>> found.value > 0.7, round(found.acceptance_rate, 1)
    (True, 0.5)
    """
    inputs = prepare(policy, cohort, weights, horizon=horizon, seed=seed, once=not replace)
    if prior is not None:
        inputs = with_other(inputs, earlier=earlier_of(prior, inputs.design))
    wanted = whole(paths, "paths", low=1)
    check_jobs(n_jobs)
    resampling = _resampling(inputs, policy, cohort, weights, wanted, cohorts, cohort_paths)
    _warn_of_data(inputs, cohort)
    require_room(inputs, wanted)
    rows, draws = room((wanted, inputs.horizon), np.int32), np.empty(wanted, dtype=np.int64)
    _rehearse(inputs)
    results = map_unordered(
        partial(play_path, inputs), range(wanted), n_jobs=n_jobs, progress="paths" if progress else None
    )
    for path in results:
        rows[path.number], draws[path.number] = path.rows, path.draws
    others = None if resampling is None else play_resampled(resampling, n_jobs=n_jobs, progress=progress)
    if replace:
        _warn_if_small(inputs)
    return _result(inputs, cohort, rows, draws, others)


def _resampling(  # what replay was given
    inputs: Inputs, policy: Policy[Any], cohort: Cohort, weights: Any, paths: int, cohorts: Any, cohort_paths: Any
) -> Resampling | None:
    if cohorts is None:
        return None
    count, each = whole(cohorts, "cohorts", low=1), whole(cohort_paths, "cohort_paths", low=1)
    require_resampling(cohorts=count, cohort_paths=each, paths=paths)
    own = None if weights is None else inputs.weighting.weights
    return Resampling(policy, cohort, own, inputs, count, each)


def _rehearse(inputs: Inputs) -> None:
    """Play one round, so that errors come before the work begins."""
    play_path(with_other(inputs, horizon=1), 0)


def _result(
    inputs: Inputs, cohort: Cohort, rows: NDArray[np.int32], draws: NDArray[np.int64], others: Resampled | None
) -> Replay:
    weighting = inputs.weighting
    return Replay(
        policy=repr(inputs.policy),
        units=len(cohort),
        usable=int(weighting.usable.sum()),
        rows=rows,
        arms=cohort.arms[rows].astype(np.int8),
        outcomes=cohort.outcome[rows],
        draws=draws,
        weights_used=weighting.words,
        effective_sample_size=weighting.effective_sample_size,
        largest_weight=weighting.largest_weight,
        expected_acceptance=weighting.expected_acceptance,
        resampled=None if others is None else others.outcomes,
        no_interval=None if others is None else others.reason,
        learns=learns(inputs.policy),
        caution=weighting.caution,
        drawn_from=_identity(cohort, weighting),
        seed=inputs.seed,
        once=inputs.once,
    )


def _identity(cohort: Cohort, weighting: SamplingWeights) -> str:
    """Return a hash of what rows are drawn from: replays can be compared only if it is the same."""
    digest = hashlib.sha256(cohort.arms.astype(np.int8).tobytes())
    for numbers in (cohort.outcome, weighting.weights):
        digest.update(np.asarray(numbers, dtype=np.float64).tobytes())
    return digest.hexdigest()[:16]


def _warn_of_data(inputs: Inputs, cohort: Cohort) -> None:
    """Warn where the weights, or the scale of LSVI-UCB, do not fit the data."""
    if inputs.weighting.caution is not None:
        warnings.warn(inputs.weighting.caution, EqualWeights, stacklevel=3)
    outcomes = cohort.outcome[inputs.weighting.usable]
    warn_if_unscaled(inputs.policy, outcomes, len(cohort.design.stages), name="LSVIUCB", stacklevel=3)


def _warn_if_small(inputs: Inputs) -> None:
    size = inputs.weighting.effective_sample_size
    if inputs.horizon > size:
        warnings.warn(
            f"the horizon, {inputs.horizon:,}, exceeds the effective sample size of the cohort, {size:,.0f}: the same "
            "units come again and again, a policy can learn them by heart, and its value is too high (docs/replay.md); "
            "a fixed regime is not affected",
            SmallCohort,
            stacklevel=3,
        )
