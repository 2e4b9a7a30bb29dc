"""Replay (Algorithm 2, ReplayDTR): what an online algorithm would have earned, from finished units alone."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dtrbandit.design.parameters import whole
from dtrbandit.design.spec import Design
from dtrbandit.design.values import shown
from dtrbandit.errors import DesignError
from dtrbandit.evaluation.cohort.cohort import Cohort
from dtrbandit.evaluation.replay.facts import CohortFacts
from dtrbandit.evaluation.replay.kernel import ask_all, play_rows
from dtrbandit.evaluation.replay.players import CohortArrays, Player, material_of, player_of
from dtrbandit.evaluation.replay.result import Replay
from dtrbandit.evaluation.replay.sampling import SamplingWeights, drawn_rows, sampling_weights, shuffled_rows
from dtrbandit.interpreted import compile_for
from dtrbandit.kernels import supply
from dtrbandit.parallel import check_jobs, map_unordered, workers
from dtrbandit.policies.dtr_bandit import DTRBandit
from dtrbandit.policies.epsilon_greedy import EpsilonGreedy, Greedy
from dtrbandit.policies.lsvi_ucb import knowing_rounds
from dtrbandit.policies.policy import Policy, is_policy

ROWS, POLICY = range(2)  # streams of a path
KERNELS = (play_rows, ask_all)
OFFERS = 2.0  # what a round of a replay costs over one of a study: rows are offered that are not accepted
LEAST_SHARE = 1e-6  # of the weight, that must agree with a policy for its round to be played


class SmallCohort(UserWarning):
    """A replay meets the same units so often that a policy can learn them by heart."""


@dataclass(frozen=True, eq=False)
class Inputs:
    """What all paths of a replay share."""

    policy: Policy[Any]
    design: Design
    material: CohortArrays | CohortFacts
    weighting: SamplingWeights
    horizon: int
    seed: int
    once: bool  # each row at most once

    def stream(self, path: int, stream: int) -> np.random.SeedSequence:
        """Return the seeds of one stream of a path."""
        return np.random.SeedSequence(self.seed, spawn_key=(path, stream))


class Path(NamedTuple):
    """The rows accepted along a path, (horizon,), and how many were offered."""

    number: int
    rows: NDArray[np.int32]
    draws: int


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
    progress
        Whether to report on standard error.

    Warns
    -----
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
    inputs = _prepare(policy, cohort, weights, horizon=horizon, seed=seed, once=not replace)
    wanted = whole(paths, "paths", low=1)
    check_jobs(n_jobs)
    rows, draws = _room(wanted, inputs.horizon)
    _rehearse(inputs)
    share = OFFERS * wanted / workers(n_jobs)
    compiled = compile_for(
        "the replay", [inputs.policy], inputs.design, units=inputs.horizon, times=share, entries=KERNELS
    )
    results = map_unordered(
        partial(_played, inputs, compiled), range(wanted), n_jobs=n_jobs, progress="paths" if progress else None
    )
    for path in results:
        rows[path.number], draws[path.number] = path.rows, path.draws
    if replace:
        _warn_if_small(inputs)
    return _result(inputs, cohort, rows, draws)


def _prepare(policy: Any, cohort: Any, weights: Any, *, horizon: int, seed: int, once: bool) -> Inputs:
    """Check what is asked for, and return it."""
    if not isinstance(cohort, Cohort):
        raise DesignError(f"replay needs a Cohort, such as Cohort.from_frame gives, found {shown(cohort)}")
    if not is_policy(policy):
        raise DesignError(f"replay needs a policy such as Greedy(), found {shown(policy)}")
    rounds, key = whole(horizon, "horizon", low=1), whole(seed, "seed", low=0)
    weighting = sampling_weights(cohort, weights)
    _require_whole(cohort)
    ready = knowing_rounds(policy, cohort.design, rounds)
    _require_plans(ready, cohort, weighting)
    if once and rounds > weighting.usable.sum():
        raise DesignError(
            f"{rounds} rounds cannot come from {weighting.usable.sum()} usable units that are met once each; "
            "take a shorter horizon, or let them be met again (replace=True, or no --once)"
        )
    return Inputs(ready, cohort.design, material_of(ready, cohort), weighting, rounds, key, once)


def play_path(inputs: Inputs, number: int) -> Path:
    """Offer a policy rows until the horizon is reached."""
    seed = int(inputs.stream(number, POLICY).generate_state(1, np.uint64)[0])
    player = player_of(inputs.policy, inputs.material, inputs.design, horizon=inputs.horizon, seed=seed)
    rng = np.random.default_rng(inputs.stream(number, ROWS))
    offers = (shuffled_rows if inputs.once else drawn_rows)(inputs.weighting, rng)
    return Path(number, player.accepted, _offer(player, offers, inputs))


def _offer(player: Player, offers: Iterable[NDArray[np.int64]], inputs: Inputs) -> int:
    """Offer rows until the horizon is reached, and return how many it took."""
    draws = waited = 0
    for order in offers:
        before = player.rounds
        draws += player.offer(order)
        if player.rounds == inputs.horizon:
            return draws
        waited = waited + len(order) if player.rounds == before else 0
        if not inputs.once and waited >= len(inputs.weighting.weights) > waited - len(order):
            _require_agreement(player, inputs)  # once a round: until it is over, answers stay the same
    raise DesignError(_ran_out(player.rounds, draws, inputs))


def _ran_out(rounds: int, draws: int, inputs: Inputs) -> str:
    n, thinned = len(inputs.weighting.weights), ""
    if draws < n:  # by their weights: see shuffled_rows
        thinned = (
            f" (a unit is offered in proportion to its weight, and the heaviest has "
            f"{100 * inputs.weighting.largest_weight:.2g} %: more even weights, by clip= or penalty=, offer more)"
        )
    return (
        f"rows ran out after {rounds} of {inputs.horizon} rounds: {draws} of {n} units were offered once each{thinned}"
        f", and {inputs.policy!r} agreed with no more; take a horizon well below {rounds}, since paths differ, or "
        "let units be met again (replace=True, or no --once)"
    )


def _rehearse(inputs: Inputs) -> None:
    """Play one round, so that errors come before the work begins."""
    play_path(replace(inputs, horizon=1), 0)


def _played(inputs: Inputs, compiled: bool, number: int) -> Path:
    if compiled:
        supply.ensure(KERNELS)
    return play_path(inputs, number)


def _room(paths: int, horizon: int) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    try:
        return np.empty((paths, horizon), dtype=np.int32), np.empty(paths, dtype=np.int64)
    except (MemoryError, ValueError, OverflowError) as error:  # the latter two: more than any array may hold
        raise DesignError(
            f"there is no memory for {paths} paths of {horizon} rounds: {error}; take fewer, or shorter ones"
        ) from error


def _result(inputs: Inputs, cohort: Cohort, rows: NDArray[np.int32], draws: NDArray[np.int64]) -> Replay:
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
    )


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


# -- what cannot be replayed ---------------------------------------------------------------------------------


def _require_whole(cohort: Cohort) -> None:
    """Refuse units that completed with arms or features that the design does not allow: kernels trust them."""
    (n, stages), arms, design = (len(cohort), len(cohort.design.stages)), cohort.arms, cohort.design
    if arms.shape != (n, stages) or arms.dtype.kind != "i":
        raise DesignError(f"a cohort's arms must be whole numbers, ({n}, {stages}), found {arms.dtype} {arms.shape}")
    wrong, node = (arms[:, 0] < 0) | np.isinf(cohort.outcome), np.zeros(n, dtype=np.int64)
    for m, count in enumerate(design.arm_counts):
        given = arms[:, m] >= 0
        possible = (arms[:, m] < count) & (node >= 0) & np.isfinite(cohort.features[m]).all(axis=1)
        wrong |= given & ~possible
        node = np.where(given & ~wrong, design.tree.child[np.where(wrong, 0, node), np.where(wrong, 0, arms[:, m])], -1)
        wrong |= given & (node < 0)
    if (wrong & ~cohort.dropped_out).any():
        row = int(np.flatnonzero(wrong & ~cohort.dropped_out)[0])
        raise DesignError(
            f"unit {cohort.units[row]!r} has an outcome, {cohort.outcome[row]}, but its arms {arms[row].tolist()} are "
            "no feasible plan of the design (−1 after the last stage entered), or it entered a stage with an "
            "incomplete context; Cohort.from_frame checks this"
        )


def _require_plans(policy: Policy[Any], cohort: Cohort, weighting: SamplingWeights) -> None:
    """Refuse a policy that tries plans which no unit completed: a round that forces one cannot be played."""
    if not isinstance(policy, DTRBandit | EpsilonGreedy | Greedy):
        return
    completed = set(map(tuple, np.unique(cohort.arms[weighting.usable], axis=0).tolist()))
    for plan, labels in zip(cohort.design.arm_plans, cohort.design.plans or (), strict=True):
        if plan not in completed:
            raise DesignError(
                f"{policy!r} tries every feasible plan, but no usable unit of this cohort completed "
                f"{', then '.join(labels)}: such a round cannot be replayed; leave the plan out of the design (plans=)"
            )


def _require_agreement(player: Player, inputs: Inputs) -> None:
    """Refuse to wait for a row that will not come: in one round, a row gets the same answer every time."""
    weights = inputs.weighting.weights
    agreeing = player.agreeing() & inputs.weighting.usable
    share = float(weights[agreeing].sum() / weights.sum())
    if share < LEAST_SHARE:
        found = f"{agreeing.sum()} with {share:.1g} of the weight" if agreeing.any() else "none"
        lost = 100 * float(weights[~inputs.weighting.usable].sum() / weights.sum())
        raise DesignError(
            f"in round {player.rounds + 1} {inputs.policy!r} would give {found} of the {inputs.weighting.usable.sum()} "
            "usable units the arms they had, so the round cannot be played: the cohort has too few units that were "
            "treated as the policy says; take a larger cohort, or leave plans that were rarely given out of the design "
            f"(drop-outs, which are drawn too, carry {lost:.3g} % of the weight)"
        )
