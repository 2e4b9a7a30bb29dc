"""One path of a study: units drawn once, and every policy plays them."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dtrbandit.compiled import Arrivals, at_once, play, potential_arrivals
from dtrbandit.design.spec import Design
from dtrbandit.environments.by_node import reached
from dtrbandit.environments.potential_outcomes import Environment, PotentialOutcomes, check_shapes
from dtrbandit.errors import DesignError, ObservationError
from dtrbandit.policies.builtin import is_compiled
from dtrbandit.policies.policy import Policy
from dtrbandit.simulation.inputs import ARRIVALS, ENVIRONMENT, Inputs
from dtrbandit.simulation.play_session import play_session
from dtrbandit.simulation.regret import Arms, Array, Truth

Order = NDArray[np.int32]


class Performance(NamedTuple):
    """What a policy did on a path: arms (n, M), regret (n, M) if Q is known, outcomes (n,), NaN where never seen."""

    arms: Arms
    regret: Array | None
    outcomes: Array


class PlayedPath(NamedTuple):
    """The results of a path; ``oracle`` (n,) are the outcomes under the best plan, if Q is known."""

    number: int
    performances: dict[str, Performance]
    oracle: Array | None


def play_path(inputs: Inputs, number: int) -> PlayedPath:
    """Draw the units of a path and let every policy play them."""
    n, stages, seed = inputs.horizon, len(inputs.learner.stages), inputs.policy_seed(number)
    units = drawn(inputs.environment, n, inputs.rng(number, ENVIRONMENT))
    seen = None
    if inputs.arrivals is None:
        order = without_delay(n, stages)
    else:
        found = np.asarray(inputs.arrivals.events(n, stages, inputs.rng(number, ARRIVALS)))
        seen, order = outcome_seen(found, n, stages), found.astype(np.int32)
    arrivals = potential_arrivals(units, design=inputs.learner, events=order)
    require_finite(arrivals, inputs.learner)
    truth = None if units.q is None else Truth(units)
    performances = {}
    for name, policy in inputs.players.items():
        arms = play_policy(policy, units, arrivals, inputs.learner, seed=seed)
        regret = None if truth is None else truth.regret(arms)
        performances[name] = Performance(arms, regret, outcomes_of(arms, arrivals, inputs.learner, seen))
    return PlayedPath(number, performances, None if truth is None else truth.oracle)


def drawn(environment: Environment, n: int, rng: np.random.Generator) -> PotentialOutcomes:
    """Draw n units, or refuse what is not n units of the environment's design, which kernels would read beyond."""
    units = environment.draw(n, rng)
    check_shapes(units)
    if len(units.outcome) != n:
        raise DesignError(f"the environment was asked for {n} units, found {len(units.outcome)}")
    if units.design.arm_plans != environment.design.arm_plans:
        raise DesignError("the environment drew units of a design with other plans than its own")
    return units


def play_policy(
    policy: Policy[Any], units: PotentialOutcomes, arrivals: Arrivals, design: Design, *, seed: int
) -> Arms:
    """Return the arms that a policy gives, (n, M): a built-in one in a compiled loop, any other through a Session."""
    if is_compiled(policy):
        return play(policy, arrivals, design, seed=seed).arms
    return play_session(policy, units, arrivals, design, seed=seed)


def outcomes_of(arms: Arms, arrivals: Arrivals, design: Design, seen: NDArray[np.bool_] | None) -> Array:
    """Return the outcome of each unit under the arms it was given, (n,); NaN where it was lost."""
    node = np.zeros(len(arms), dtype=np.int64)
    for m in range(arms.shape[1]):
        entered = arms[:, m] >= 0
        node = np.where(entered, design.tree.child[np.where(entered, node, 0), np.maximum(arms[:, m], 0)], node)
    found: Array = arrivals.outcome[np.arange(len(arms)), arrivals.leaf[node]]
    return found if seen is None else np.where(seen, found, np.nan)


@lru_cache(maxsize=1)
def without_delay(n: int, stages: int) -> Order:
    """Return the order in which each unit is through before the next comes; it is the same for every path."""
    return at_once(n, stages)


def outcome_seen(order: NDArray[Any], n: int, stages: int) -> NDArray[np.bool_]:
    """Say which units' outcomes come, after checking that the order is possible; the other units are lost."""
    pairs = order.ndim == 2 and order.shape[1] == 2 and order.dtype.kind in "iu"
    if not pairs or not (order >= 0).all() or not (order < [stages + 2, n]).all():
        raise DesignError(
            f"events must be pairs of whole numbers, 0 to {stages + 1} and a unit below {n}, found {order[:3]} …"
        )
    end = len(order)
    place = np.full((n, stages + 2), end)
    place[order[:, 1], order[:, 0]] = np.arange(end)
    lost = place[:, -1:]
    own = np.where(place[:, :-1] < lost, place[:, :-1], end)  # what comes after is passed over
    in_order = (own[:, :-1] < own[:, 1:]) | (own[:, 1:] == end)
    enrolled = own[:, 0]
    if not in_order.all() or not (np.diff(enrolled, append=end) > 0).all() or (place < end).sum() < end:
        raise DesignError(
            "events are impossible: units enrol in order, and each comes once to stage after stage, then to its outcome"
        )
    seen: NDArray[np.bool_] = own[:, -1] < end
    return seen


def require_finite(arrivals: Arrivals, design: Design) -> None:
    """Refuse units whose features or outcomes are not finite where a policy could see them."""
    for node, through in enumerate(reached(arrivals.enters, design.tree).T):
        m = len(design.tree.arms_to[node])
        whole = np.isfinite(arrivals.features[:, node, : design.dimensions[m]]).all(axis=1)
        if not (whole | ~through).all():
            raise ObservationError(
                f"the environment drew a unit that enters stage {design.stages[m].name!r} with features that are "
                "not finite numbers; a context may be NaN only where it cannot occur, or of a unit that has left"
            )
    if not np.isfinite(arrivals.outcome).all():
        raise ObservationError("the environment drew an outcome that is not a finite number under a feasible plan")
