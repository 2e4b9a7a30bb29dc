"""One path of a study: units drawn once, and every policy plays them."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dtrbandit.courses import Courses, at_once, play, potential_courses
from dtrbandit.design.spec import Design
from dtrbandit.environments.potential_outcomes import Environment, PotentialOutcomes, checked, reached, require_units
from dtrbandit.errors import DesignError, ObservationError
from dtrbandit.kernels.arrays import Array
from dtrbandit.policies.policy import Policy
from dtrbandit.policies.registry import is_builtin
from dtrbandit.simulation.closings import require_arms_for_all
from dtrbandit.simulation.inputs import ARRIVALS, ENVIRONMENT, Inputs
from dtrbandit.simulation.play_session import play_session
from dtrbandit.simulation.regret import Arms, Truth

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
    courses = potential_courses(units, design=inputs.learner, events=order)
    require_finite(courses, inputs.learner)
    require_arms_for_all(courses, inputs.learner, inputs.closings)
    given = {name: play_policy(each, units, courses, inputs, seed=seed) for name, each in inputs.players.items()}
    truth = None if units.q is None else Truth(units)  # only now: what policies learnt needs no memory any more
    performances = {}
    for name, arms in given.items():
        regret = None if truth is None else truth.regret(arms)
        performances[name] = Performance(arms, regret, outcomes_of(arms, courses, inputs.learner, seen))
    return PlayedPath(number, performances, None if truth is None else truth.oracle)


def drawn(environment: Environment, n: int, rng: np.random.Generator) -> PotentialOutcomes:
    """Draw n units, or refuse what is not n units of the environment's design, whole and as ``checked`` asks."""
    units = environment.draw(n, rng)
    require_units(units)
    if units.design.arm_plans != environment.design.arm_plans:
        raise DesignError("the environment drew units of a design with other plans than its own")
    checked(units)
    if len(units.outcome) != n:
        raise DesignError(f"the environment was asked for {n} units by draw(n, rng), and drew {len(units.outcome)}")
    return units


def play_policy(policy: Policy[Any], units: PotentialOutcomes, courses: Courses, inputs: Inputs, *, seed: int) -> Arms:
    """Return the arms that a policy gives, (n, M): a built-in one in a compiled loop, any other through a Session."""
    design, closings = inputs.learner, inputs.closings
    if is_builtin(policy):
        closed = [(each.round, each.fact) for each in closings]
        return play(policy, courses, design, seed=seed, lessons=inputs.lessons, closings=closed).arms
    return play_session(policy, units, courses, design, seed=seed, prior=inputs.prior, closings=closings)


def outcomes_of(arms: Arms, courses: Courses, design: Design, seen: NDArray[np.bool_] | None) -> Array:
    """Return the outcome of each unit under the arms it was given, (n,); NaN where it was lost."""
    child = design.tree.child
    following = np.column_stack([child, np.arange(len(child))])  # arm −1: a unit that left stays where it was
    node = np.zeros(len(arms), dtype=np.int64)
    for arm in arms.T:
        node = following[node, arm]
    found: Array = courses.outcome[np.arange(len(arms)), courses.leaf[node]]
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


def require_finite(courses: Courses, design: Design) -> None:
    """Refuse units whose features, as the learner makes them, are not finite where a policy could see them."""
    for node, through in enumerate(reached(courses.enters, design.tree).T):
        m = len(design.tree.arms_to[node])
        columns = courses.features[:, node, : design.dimensions[m]].T
        if not all((np.isfinite(values) | ~through).all() for values in columns):
            raise ObservationError(
                f"the environment drew a unit that enters stage {design.stages[m].name!r} with features that are "
                "not finite numbers; a context may be NaN only where it cannot occur, or of a unit that has left"
            )
