"""One path of a study: units are drawn once, and every policy plays them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dtrbandit.courses import Courses, Played, at_once, play, potential_courses
from dtrbandit.design.feasibility import Barred, arms_left
from dtrbandit.design.spec import Design
from dtrbandit.engine import Session
from dtrbandit.environments.potential_outcomes import Environment, PotentialOutcomes, checked, reached, require_units
from dtrbandit.errors import DesignError, ObservationError
from dtrbandit.kernels.arrays import Array, Mask
from dtrbandit.memory import IN_PYTHON, bytes_per_unit
from dtrbandit.policies.builtin_policy import BuiltinPolicy
from dtrbandit.policies.policy import Policy
from dtrbandit.policies.registry import is_builtin
from dtrbandit.record.events import Decision
from dtrbandit.record.trial_rules import number_of_arm
from dtrbandit.simulation.regret import Arms, Truth

if TYPE_CHECKING:
    from dtrbandit.simulation.inputs import At, Closing, Inputs

Order = NDArray[np.int32]
ENVIRONMENT, ARRIVALS, POLICY = range(3)  # streams of random numbers of a path


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
    n, seed = inputs.horizon, inputs.policy_seed(number)
    units = drawn(inputs.environment, n, inputs.rng(number, ENVIRONMENT))
    order, seen = arrival_order(inputs, n, number)
    courses = courses_of(units, order, inputs)
    given = {name: play_policy(each, units, courses, inputs, seed=seed) for name, each in inputs.players.items()}
    truth = None if units.q is None else Truth(units)  # after the policies: the memory of their states is free again
    performances = {}
    for name, arms in given.items():
        regret = None if truth is None else truth.regret(arms)
        performances[name] = Performance(arms, regret, outcomes_of(arms, courses, inputs.learner, seen))
    return PlayedPath(number, performances, None if truth is None else truth.oracle)


def rehearse(inputs: Inputs, units: PotentialOutcomes, at: At) -> int:
    """Let every policy play the first unit, to find what is wrong before work begins.

    Return how many bytes the largest state keeps of each unit. ``at`` says where an entry stands, as for ``Inputs``.
    """
    seed, kept = inputs.policy_seed(0), []
    with at("arrivals"):
        order, _ = arrival_order(inputs, 1, 0)
    with at("environment"):
        first = _first(units)
        courses = courses_of(first, order, inputs)
    for name, policy in inputs.players.items():
        with at("policies", name):
            if is_builtin(policy):
                kept.append(bytes_per_unit(_play_compiled(policy, courses, inputs, seed).state))
            else:
                play_session(policy, first, courses, inputs, seed=seed)
                kept.append(IN_PYTHON)
    return max(kept)


def play_policy(policy: Policy[Any], units: PotentialOutcomes, courses: Courses, inputs: Inputs, *, seed: int) -> Arms:
    """Return the arms that a policy gives, (n, M): a built-in one in a compiled loop, any other through a Session."""
    if is_builtin(policy):
        return _play_compiled(policy, courses, inputs, seed).arms
    return play_session(policy, units, courses, inputs, seed=seed)


def _play_compiled(policy: BuiltinPolicy, courses: Courses, inputs: Inputs, seed: int) -> Played:
    closed = [(each.round, each.fact) for each in inputs.closings]
    return play(policy, courses, inputs.learner, seed=seed, lessons=inputs.lessons, closings=closed)


# -- units and what happens to them ----------------------------------------------------------------------------------


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


def _first(units: PotentialOutcomes) -> PotentialOutcomes:
    """Return the first unit alone."""
    return PotentialOutcomes(
        units.design,
        tuple({column: values[:1] for column, values in context.items()} for context in units.contexts),
        units.outcome[:1],
        None if units.q is None else tuple(values[:1] for values in units.q),
        None if units.excluded is None else tuple(values[:1] for values in units.excluded),
    )


def arrival_order(inputs: Inputs, n: int, number: int) -> tuple[Order, Mask | None]:
    """Return what happens to the units of a path, in order, and which outcomes come; None if all do."""
    stages = len(inputs.learner.stages)
    if inputs.arrivals is None:
        return without_delay(n, stages), None
    found = np.asarray(inputs.arrivals.events(n, stages, inputs.rng(number, ARRIVALS)))
    seen = outcome_seen(found, n, stages)
    return found.astype(np.int32), seen


@lru_cache(maxsize=1)
def without_delay(n: int, stages: int) -> Order:
    """Return the order in which each unit is through before the next comes; it is the same for every path."""
    return at_once(n, stages)


def outcome_seen(order: NDArray[Any], n: int, stages: int) -> Mask:
    """Say which units' outcomes come, after checking that the order is possible; the other units are lost."""
    pairs = order.ndim == 2 and order.shape[1] == 2 and order.dtype.kind in "iu"
    if not pairs or not (order >= 0).all() or not (order < [stages + 2, n]).all():
        raise DesignError(
            f"events must be pairs of whole numbers, 0 to {stages + 1} and a unit below {n}, found {order[:3]} …"
        )
    end = len(order)
    when = np.full((n, stages + 2), end)
    when[order[:, 1], order[:, 0]] = np.arange(end)
    lost = when[:, -1:]
    own = np.where(when[:, :-1] < lost, when[:, :-1], end)  # what comes after is passed over
    in_order = (own[:, :-1] < own[:, 1:]) | (own[:, 1:] == end)
    enrolled = own[:, 0]
    if not in_order.all() or not (np.diff(enrolled, append=end) > 0).all() or (when < end).sum() < end:
        raise DesignError(
            "events are impossible: units enrol in order, and each comes once to stage after stage, then to its outcome"
        )
    seen: Mask = own[:, -1] < end
    return seen


def courses_of(units: PotentialOutcomes, order: Order, inputs: Inputs) -> Courses:
    """Return what happens to units, or refuse units that the learner cannot read or for which no arm is left."""
    courses = potential_courses(units, design=inputs.learner, events=order)
    require_finite(courses, inputs.learner)
    require_arms_for_all(courses, inputs.learner, inputs.closings)
    return courses


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


def require_arms_for_all(units: Courses, design: Design, closings: Sequence[Closing]) -> None:
    """Refuse units for which nothing is left, at once or by a closing before they come."""
    closed: Barred = ()
    for first, each in [(1, None), *((each.round, each) for each in closings)]:
        closed = closed if each is None else tuple(sorted((*closed, number_of_arm(design, each.stage, each.arm))))
        later = units.barring[first - 1 :]
        for number in np.flatnonzero(np.bincount(later)).tolist():
            if not any(arms_left(design.tree, units.excluded[number], closed)[0]):
                unit = first + int(np.argmax(later == number))
                raise DesignError(
                    f"unit {unit} of this path has no arm left at the first stage: what the environment excludes and "
                    "what is closed leave no plan; let the environment exclude less, or close fewer arms"
                )


def outcomes_of(arms: Arms, courses: Courses, design: Design, seen: Mask | None) -> Array:
    """Return the outcome of each unit under the arms it was given, (n,); NaN where it was lost."""
    child = design.tree.child
    following = np.column_stack([child, np.arange(len(child))])  # arm −1: a unit that left stays where it was
    node = np.zeros(len(arms), dtype=np.int64)
    for arm in arms.T:
        node = following[node, arm]
    found: Array = courses.outcome[np.arange(len(arms)), courses.leaf[node]]
    return found if seen is None else np.where(seen, found, np.nan)


# -- policies of the caller's own, through a Session -----------------------------------------------------------------


def play_session(policy: Policy[Any], units: PotentialOutcomes, courses: Courses, inputs: Inputs, *, seed: int) -> Arms:
    """Return the arms that a policy gives, (n, M), −1 where a stage was not entered.

    As in ``courses.play``, what would come after a unit has left or ended is passed over.
    """
    session = Session(inputs.learner, policy, seed=seed, prior=inputs.prior)
    player, to_close = _SessionPlayer(units, courses, inputs.learner), list(inputs.closings)
    for what, unit in courses.events.tolist():
        while to_close and what == 0 and unit >= to_close[0].round - 1:
            stage, arm, reason = to_close.pop(0).fact
            session.close_arm(stage, arm, reason=reason)
        player.happen(session, what, unit)
    return player.arms


class _SessionPlayer:
    """Tells a Session what happens to drawn units, given the arms that it decides."""

    def __init__(self, units: PotentialOutcomes, courses: Courses, design: Design) -> None:
        n, self._stages = len(courses.features), len(design.stages)
        self._courses, self._design = courses, design
        stage_of = {column: k for k, context in enumerate(units.contexts) for column in context}
        self._columns = [
            [(column, stage_of[column], units.contexts[stage_of[column]][column]) for column in columns]
            for columns in design.columns
        ]
        self._given: list[tuple[int, ...]] = [()] * n
        self._left: set[int] = set()
        self._ended: set[int] = set()
        self.arms = np.full((n, self._stages), -1, dtype=np.int8)

    def happen(self, session: Session, what: int, unit: int) -> None:
        """Let one thing happen to a unit, unless the unit has left or ended."""
        if unit in self._ended or (what < self._stages and unit in self._left):
            return
        if what < self._stages:
            self._arrive(session, what, unit)
            return
        self._ended.add(unit)
        if what == self._stages:
            column = self._courses.leaf[self._design.tree.after(self._given[unit])]
            session.complete(f"u{unit + 1}", float(self._courses.outcome[unit, column]))
        else:
            session.withdraw(f"u{unit + 1}", reason="lost")

    def _arrive(self, session: Session, m: int, unit: int) -> None:
        given, stage, name = self._given[unit], self._design.stages[m], f"u{unit + 1}"
        values = [(column, float(array[(unit, *given[:k])])) for column, k, array in self._columns[m]]
        context = {column: value for column, value in values if value == value}  # a leaver's may be unknown
        if m == 0:
            decision: Decision | None = session.enroll(name, context, **self._exclusions(unit))
        else:
            decision = session.respond(name, context, stage=stage.name)
        if decision is None:
            self._left.add(unit)
            return
        self.arms[unit, m] = arm = stage.arms.index(decision.arm)
        self._given[unit] = (*given, arm)

    def _exclusions(self, unit: int) -> dict[str, Any]:
        """Return the arguments that name a unit's contraindications when it enrols."""
        excluded, stages = self._courses.excluded[self._courses.barring[unit]], self._design.stages
        arms: dict[str, list[str]] = {}
        for m, arm in excluded:
            arms.setdefault(stages[m].name, []).append(stages[m].arms[arm])
        return {"exclude": arms, "reason": "contraindicated"} if arms else {}
