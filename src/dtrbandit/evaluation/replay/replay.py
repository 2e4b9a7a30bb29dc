"""Replay (Algorithm 2, ReplayDTR): what an online algorithm would have earned, from finished units alone."""

from __future__ import annotations

import hashlib
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from dataclasses import replace as with_other
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dtrbandit.design.values import whole
from dtrbandit.errors import DesignError, DTRError
from dtrbandit.evaluation.cohort.cohort import Cohort
from dtrbandit.evaluation.replay.paths import ReplayInputs, play_path, prepare, require_room, room
from dtrbandit.evaluation.replay.players import earlier_of
from dtrbandit.evaluation.replay.result import Replay
from dtrbandit.evaluation.replay.sampling import SamplingWeights
from dtrbandit.evaluation.weights import ExtremeWeights
from dtrbandit.kernels.arrays import Array
from dtrbandit.parallel import check_jobs, map_unordered
from dtrbandit.policies.lsvi_ucb import warn_if_unscaled
from dtrbandit.policies.policy import Policy
from dtrbandit.policies.registry import learns
from dtrbandit.record.teaching import Prior
from dtrbandit.resampling import resampled_rows

UNITS, PATHS_OF = 2, 3  # streams of a resample, beside those of a path
FEWEST = 30  # resampled cohorts: with so many the coverage in docs/replay.md was measured
FEWEST_PATHS = 2
MOST_LEFT_OUT = 0.05  # of the resamples


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
    inputs: ReplayInputs, policy: Policy[Any], cohort: Cohort, weights: Any, paths: int, cohorts: Any, cohort_paths: Any
) -> Resampling | None:
    if cohorts is None:
        return None
    count, each = whole(cohorts, "cohorts", low=1), whole(cohort_paths, "cohort_paths", low=1)
    require_resampling(cohorts=count, cohort_paths=each, paths=paths)
    own = None if weights is None else inputs.weighting.weights
    return Resampling(policy, cohort, own, inputs, count, each)


def _rehearse(inputs: ReplayInputs) -> None:
    """Play one round, so that errors come before the work begins."""
    play_path(with_other(inputs, horizon=1), 0)


def _result(
    inputs: ReplayInputs, cohort: Cohort, rows: NDArray[np.int32], draws: NDArray[np.int64], others: Resampled | None
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


def _warn_of_data(inputs: ReplayInputs, cohort: Cohort) -> None:
    """Warn where the weights, or the scale of LSVI-UCB, do not fit the data."""
    if inputs.weighting.caution is not None:
        warnings.warn(inputs.weighting.caution, EqualWeights, stacklevel=3)
    outcomes = cohort.outcome[inputs.weighting.usable]
    warn_if_unscaled(inputs.policy, outcomes, len(cohort.design.stages), name="LSVIUCB", stacklevel=3)


def _warn_if_small(inputs: ReplayInputs) -> None:
    size = inputs.weighting.effective_sample_size
    if inputs.horizon > size:
        warnings.warn(
            f"the horizon, {inputs.horizon:,}, exceeds the effective sample size of the cohort, {size:,.0f}: the same "
            "units come again and again, a policy can learn them by heart, and its value is too high (docs/replay.md); "
            "a fixed regime is not affected",
            SmallCohort,
            stacklevel=3,
        )


# -- resampled cohorts, which say how much the value would differ on other cohorts -----------------------------


@dataclass(frozen=True, eq=False)
class Resampling:
    """What all resamples of a replay share: the policy and the cohort as given, and how many there are."""

    policy: Policy[Any]
    cohort: Cohort
    weights: Array | None
    inputs: ReplayInputs
    cohorts: int
    paths: int

    def rows(self, number: int) -> NDArray[np.int64]:
        """Return the units of a resample, with replacement, (n,); they are the same for every policy."""
        return resampled_rows(np.random.default_rng(self.inputs.stream(number, UNITS)), len(self.cohort))

    def prepared(self, number: int) -> ReplayInputs:
        """Return what the paths through a resample share, its propensities estimated anew."""
        rows = self.rows(number)
        cohort = self.cohort.of(rows)
        if self.weights is None and self.cohort.propensities is not None:
            with warnings.catch_warnings(action="ignore", category=ExtremeWeights):
                cohort = cohort.with_propensities(self.cohort.propensities.model)
        weights = None if self.weights is None else self.weights[rows]
        seed = int(self.inputs.stream(number, PATHS_OF).generate_state(1, np.uint64)[0])
        horizon, once, earlier = self.inputs.horizon, self.inputs.once, self.inputs.earlier
        return prepare(self.policy, cohort, weights, horizon=horizon, seed=seed, once=once, earlier=earlier)


class Resampled(NamedTuple):
    """The outcomes along the paths through each resampled cohort, (B, P′, T), NaN where it could not be played."""

    outcomes: Array
    why_not: str | None  # in words, of the first that could not be played

    @property
    def played(self) -> NDArray[np.bool_]:
        """Which resampled cohorts could be played, (B,)."""
        played: NDArray[np.bool_] = ~np.isnan(self.outcomes[:, 0, 0])
        return played

    @property
    def reason(self) -> str | None:
        """Why there is no interval over cohorts; None if there is one."""
        lost = int((~self.played).sum())
        if lost <= MOST_LEFT_OUT * len(self.played):
            return None
        return (
            f"no interval over cohorts: {lost} of {len(self.played)} resampled cohorts could not be replayed "
            f"({self.why_not})"
        )


def require_resampling(*, cohorts: int, cohort_paths: int, paths: int) -> None:
    """Refuse resamples that give no valid interval."""
    if cohorts < FEWEST or min(paths, cohort_paths) < FEWEST_PATHS:
        raise DesignError(
            f"an interval over cohorts needs at least {FEWEST} resampled cohorts, and {FEWEST_PATHS} paths through "
            f"each and through the cohort itself; found cohorts={cohorts}, cohort_paths={cohort_paths}, paths={paths}"
        )


def play_resampled(resampling: Resampling, *, n_jobs: int | None, progress: bool) -> Resampled:
    """Replay the policy along a few paths through each resampled cohort."""
    outcomes = room((resampling.cohorts, resampling.paths, resampling.inputs.horizon), np.float64)
    reasons: dict[int, str] = {}
    results: Iterator[tuple[int, Array | str]] = map_unordered(
        partial(_played, resampling),
        range(resampling.cohorts),
        n_jobs=n_jobs,
        progress="resampled cohorts" if progress else None,
    )
    for number, found in results:
        if isinstance(found, str):
            reasons[number] = found
        outcomes[number] = np.nan if isinstance(found, str) else found
    return Resampled(outcomes, reasons[min(reasons)] if reasons else None)


def _played(resampling: Resampling, number: int) -> tuple[int, Array | str]:
    """Return the outcomes along the paths through a resample, (P′, T), or why it cannot be played."""
    try:
        inputs = resampling.prepared(number)
        outcome = resampling.cohort.outcome[resampling.rows(number)]
        return number, np.stack([outcome[play_path(inputs, path).rows] for path in range(resampling.paths)])
    except DTRError as error:
        return number, str(error)
