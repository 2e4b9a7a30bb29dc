"""A path of a replay: what all paths share, rows offered until the horizon, and what cannot be replayed."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from dtrbandit.design.spec import Design
from dtrbandit.design.values import shown, whole
from dtrbandit.errors import DesignError
from dtrbandit.evaluation.cohort.cohort import Cohort
from dtrbandit.evaluation.replay.players import CohortArrays, CohortFacts, Earlier, Player, material_of, player_of
from dtrbandit.evaluation.replay.sampling import SamplingWeights, drawn_rows, sampling_weights, shuffled_rows
from dtrbandit.memory import require_memory, state_bytes
from dtrbandit.policies.lsvi_ucb import knowing_rounds
from dtrbandit.policies.policy import Policy, is_policy
from dtrbandit.policies.registry import forces_plans

Number = TypeVar("Number", np.int32, np.float64)

ROWS, POLICY = range(2)  # streams of a path
LEAST_SHARE = 1e-6  # of the weight, that must agree with a policy for its round to be played


@dataclass(frozen=True, eq=False)
class ReplayInputs:
    """What all paths of a replay share."""

    policy: Policy[Any]
    design: Design
    material: CohortArrays | CohortFacts
    weighting: SamplingWeights
    horizon: int
    seed: int
    once: bool  # each row at most once
    earlier: Earlier | None = None  # an earlier trial, which teaches before the first round

    def stream(self, path: int, stream: int) -> np.random.SeedSequence:
        """Return the seeds of one stream of a path."""
        return np.random.SeedSequence(self.seed, spawn_key=(path, stream))


class Path(NamedTuple):
    """The rows accepted along a path, (horizon,), and how many were offered."""

    number: int
    rows: NDArray[np.int32]
    draws: int


def prepare(  # what replay was given
    policy: Any, cohort: Any, weights: Any, *, horizon: int, seed: int, once: bool, earlier: Earlier | None = None
) -> ReplayInputs:
    """Check the arguments of a replay, and return what its paths share."""
    if not isinstance(cohort, Cohort):
        raise DesignError(f"replay needs a Cohort, such as Cohort.from_frame gives, found {shown(cohort)}")
    if cohort.collected_by is not None:
        raise DesignError(
            f"replay needs independent units, and {cohort.collected_by} chose the arms of these by what earlier ones "
            "had taught it; use its forced rounds alone, cohort.forced()"
        )
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
    return ReplayInputs(ready, cohort.design, material_of(ready, cohort), weighting, rounds, key, once, earlier)


def require_room(inputs: ReplayInputs, paths: int) -> None:
    """Refuse a replay whose result, with a policy's state, cannot fit into memory."""
    result = 4 + 8 + len(inputs.design.stages)  # of a round: row, outcome, arms
    needed = inputs.horizon * (paths * result + state_bytes(inputs.policy, inputs.design))
    what = f"a replay of {shown(paths)} paths of {shown(inputs.horizon)} rounds"
    require_memory(needed, what, remedy="take fewer, or shorter ones")


def room(shape: tuple[int, ...], kind: type[Number]) -> NDArray[Number]:
    """Return an array for so many paths, the last axis being rounds, or refuse what does not fit into memory."""
    try:
        return np.empty(shape, dtype=kind)
    except (MemoryError, ValueError, OverflowError) as error:  # the latter two: more than any array may hold
        raise DesignError(
            f"there is no memory for {math.prod(shape[:-1])} paths of {shape[-1]} rounds: {error}; take fewer, or "
            "shorter ones"
        ) from error


def play_path(inputs: ReplayInputs, number: int) -> Path:
    """Offer a policy rows until the horizon is reached."""
    seed = int(inputs.stream(number, POLICY).generate_state(1, np.uint64)[0])
    player = player_of(
        inputs.policy, inputs.material, inputs.design, horizon=inputs.horizon, seed=seed, earlier=inputs.earlier
    )
    rng = np.random.default_rng(inputs.stream(number, ROWS))
    offers = (shuffled_rows if inputs.once else drawn_rows)(inputs.weighting, rng)
    try:
        return Path(number, player.accepted, offer_rows(player, offers, inputs))
    except MemoryError as error:
        raise DesignError(f"there is no memory for a path of {inputs.horizon} rounds; take shorter ones") from error


def offer_rows(player: Player, offers: Iterable[NDArray[np.int64]], inputs: ReplayInputs) -> int:
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


def _ran_out(rounds: int, draws: int, inputs: ReplayInputs) -> str:
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
    if not forces_plans(policy):
        return
    completed = set(map(tuple, np.unique(cohort.arms[weighting.usable], axis=0).tolist()))
    for plan, labels in zip(cohort.design.arm_plans, cohort.design.plans or (), strict=True):
        if plan not in completed:
            raise DesignError(
                f"{policy!r} tries every feasible plan, but no usable unit of this cohort completed "
                f"{', then '.join(labels)}: such a round cannot be replayed; leave the plan out of the design (plans=)"
            )


def _require_agreement(player: Player, inputs: ReplayInputs) -> None:
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
