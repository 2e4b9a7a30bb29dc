"""The same fold as a Session's, over arrays of what happens to units: for studies.

One loop takes events in order: a unit arrives at a stage, its outcome comes, it is lost. Arms are decided by the
switch of ``policies/builtin.py``, and everything is learnt by the same kernels that serve one event at a time, in the
same order, so that arms and estimates agree bit for bit.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dtrbandit.design.feasibility import Barred, arms_left, sets_of
from dtrbandit.design.spec import Design
from dtrbandit.environments.by_node import by_node
from dtrbandit.environments.potential_outcomes import PotentialOutcomes
from dtrbandit.errors import DesignError, ProtocolError
from dtrbandit.estimators.observed import ARRIVED, COMPLETED, GIVEN, LEFT, LOST
from dtrbandit.interpreted import compile_for
from dtrbandit.kernels.arrays import Floats, Integers, Mask, Matrix, Truth, Whole
from dtrbandit.kernels.borrowed import Table
from dtrbandit.kernels.compile import Entry, kernel, variant
from dtrbandit.kernels.stream import ROUNDS, uniforms
from dtrbandit.policies.builtin import DECIDE_AND_TAKE, decide, is_compiled, open_state, take
from dtrbandit.policies.compiled_policy import CompiledPolicy
from dtrbandit.policies.facts import start, update
from dtrbandit.policies.policy import Policy
from dtrbandit.policies.sheet import FORCED
from dtrbandit.policies.teaching import Lessons, teach
from dtrbandit.record.events import ArmClosed
from dtrbandit.record.histories import NO_UNIT

NOT_YET = -1  # of an arm
NO_FACT = -1
UNDER_WAY, GONE, ENDED = range(3)  # of a unit: left early, and with nothing more to come


class Courses(NamedTuple):
    """The courses of n units: what happens to them, in which order, and what each would bring.

    Attributes
    ----------
    events
        (E, 2): m and a unit that arrives at stage m; M and a unit whose outcome comes; M + 1 and one that is lost.
        What comes after a unit has left or ended is passed over.
    features, enters
        (n, C, D) and (n, C): what is found on arrival, and whether the unit enters; ``column[node]`` says in which
        column.
    outcome
        (n, L), in column ``leaf[node]`` for a unit that ends at that node.
    barring, excluded
        (n,), what is contraindicated for each unit, as a number; and the sets of contraindications by number.
    """

    events: NDArray[np.int32]
    column: NDArray[np.int64]
    features: NDArray[np.float64]
    enters: NDArray[np.bool_]
    leaf: NDArray[np.int64]
    outcome: NDArray[np.float64]
    barring: NDArray[np.int64] = np.zeros(0, dtype=np.int64)
    excluded: tuple[Barred, ...] = ((),)


class Played:
    """A policy that decides for n units as they arrive, as far as it was told.

    Attributes
    ----------
    arms, reasons
        (n, M): the arms, and the numbers of their reasons, −1 where a stage was not entered.
    state
        What the policy has learnt.
    """

    def __init__(
        self, policy: CompiledPolicy, design: Design, n: int, *, seed: int = 0, lessons: Lessons | None = None
    ) -> None:
        if policy.compiled_rule is None:
            raise DesignError(f"{policy!r} holds a Python function and plays through a Session only")
        taught = 0 if lessons is None else lessons.units
        stages = len(design.stages)
        self.state = start(policy, design)
        self._fold = FOLDS[self.state.rule.estimator.name]
        compile_for("these units", [policy], design, units=n + taught, entries=[self._fold])
        self.state.reserve(n + taught)
        if lessons is not None:
            teach(self.state, lessons)
        self.arms = np.full((n, stages), NOT_YET, dtype=np.int8)
        self.reasons = self.arms.copy()
        self._drawn = np.concatenate([uniforms(seed, block, stages) for block in range(max(1, -(-n // ROUNDS)))])
        self._nodes, self._standing = np.zeros(n, dtype=np.int64), np.full(n, UNDER_WAY, dtype=np.int8)

    def go_on(self, units: Courses) -> None:
        """Let the events of units happen."""
        _require_fit(units, self.state.design)
        if len(units.features) != len(self.arms):
            raise DesignError(f"found {len(units.features)} units, expected {len(self.arms)}")
        if len(units.excluded) > 1:
            roots = np.array([self.state.root_for(excluded) for excluded in units.excluded], dtype=np.int64)
            coming = self.arms[:, 0] < 0
            self._nodes[coming] = roots[units.barring[coming]]
        progress = self._drawn, self.arms, self.reasons, self._nodes, self._standing
        arrays = units.events, units.column, units.features, units.enters, units.leaf, units.outcome
        self._fold.call(self.state.kind, *arrays, *progress, self.state.table)

    def close_arm(self, fact: ArmClosed) -> None:
        """Close an arm for all decisions from now on."""
        count, stages = len(self.state.observed.following), self.arms.shape[1]
        update(self.state, NO_UNIT, fact)
        for unit in np.flatnonzero((self._standing == UNDER_WAY) & (self.arms[:, 0] >= 0)).tolist():
            copy, node = divmod(int(self._nodes[unit]), count)
            excluded = list(self.state.copies)[copy]
            goes_on = len(self.state.design.tree.arms_to[node]) < stages
            if goes_on and not any(arms_left(self.state.design.tree, excluded, self.state.closed)[node]):
                raise ProtocolError(
                    f"arm {fact.arm!r} of stage {fact.stage!r} cannot be closed: unit {unit + 1}, which is under way, "
                    "would have no arm left at a later stage"
                )


def play(
    policy: CompiledPolicy,
    units: Courses,
    design: Design,
    *,
    seed: int = 0,
    lessons: Lessons | None = None,
    closings: Sequence[tuple[int, ArmClosed]] = (),
) -> Played:
    """Let a policy decide for units as they arrive, from the beginning, or after what an earlier trial taught.

    ``closings`` are arms that are closed just before the unit of a round enrols, in the order of rounds.
    """
    played, done = Played(policy, design, len(units.features), seed=seed, lessons=lessons), 0
    for t, fact in closings:
        enrols = np.flatnonzero((units.events[:, 0] == 0) & (units.events[:, 1] >= t - 1))
        if not len(enrols):
            break
        place = int(enrols[0])
        played.go_on(units._replace(events=units.events[done:place]))
        played.close_arm(fact)
        done = place
    played.go_on(units._replace(events=units.events[done:]))
    return played


def _require_fit(units: Courses, design: Design) -> None:
    """Refuse units of another design, and events of units that are not there: kernels would read beyond the end."""
    (n, columns, most), stages = units.features.shape, len(design.stages)
    shapes = len(units.column), most, len(units.leaf), *units.enters.shape, len(units.outcome)
    own = len(design.tree.child), max(design.dimensions), len(design.tree.feasible), n, columns, n
    barred = units.barring.shape == (n,) and 0 <= units.barring.min(initial=0) <= units.barring.max(initial=0)
    if len(units.excluded) > 1 and not (barred and units.barring.max(initial=0) < len(units.excluded)):
        raise DesignError("what is contraindicated must be the number of a set for each of these units")
    in_range = units.column.min() >= 0 and units.column.max() < columns and units.leaf.min() >= 0
    if shapes != own or not in_range or units.leaf.max() >= units.outcome.shape[1]:
        raise DesignError("these units are of another design; potential_courses(units, design=design) fits it")
    if not ((units.events >= 0) & (units.events < [stages + 2, n])).all():
        raise DesignError(f"events must be pairs of 0 to {stages + 1} and a unit below {n}")


def at_once(n: int, stages: int) -> NDArray[np.int32]:
    """Return the events of n units without delay: each is through before the next comes."""
    events = np.empty((n, stages + 1, 2), dtype=np.int32)
    events[:, :, 0] = np.arange(stages + 1)
    events[:, :, 1] = np.arange(n)[:, None]
    return events.reshape(-1, 2)


def potential_courses(
    units: PotentialOutcomes, *, design: Design | None = None, events: NDArray[np.int32] | None = None
) -> Courses:
    """Return units with their features at every node; ``design`` is the learner's, by default the units' own."""
    table, design = by_node(units, design), design or units.design
    n, inner = table.enters.shape
    order = at_once(n, len(design.stages)) if events is None else np.require(events, np.int32, ["C", "W"])
    return Courses(order, np.arange(inner), *table, *sets_of(units.excluded, n))


Arrivals, potential_arrivals = Courses, potential_courses  # as they were called; kept for this release


# -- the loop ------------------------------------------------------------------------------------------------


def fold(
    kind: Whole,
    events: Integers, column: Integers, features: Floats, enters: Mask, leaf: Integers, outcome: Matrix,
    drawn: Matrix, arms: Integers, reasons: Integers, nodes: Integers, standing: Integers, table: Table,
) -> None:  # fmt: skip
    """Take events in order, decide for those who arrive, and write down their arms and reasons.

    Entries are made of it, one for each estimator: a study waits only for what its policies need.
    ``nodes`` and ``standing`` (n,) say where each unit stands, and whether it is under way.
    """
    state = open_state(table)
    child, stages, taught = state.observed.child, state.observed.shape.shape[0], state.observed.taught[0]
    count = state.observed.following.shape[0]
    sheet, learning = np.empty((4, child.shape[1])), np.bool_(True)
    arm: Whole
    index: Whole
    for e in range(events.shape[0]):
        what, unit = np.int64(events[e, 0]), np.int64(events[e, 1])
        node, m = nodes[unit], given_so_far(arms, unit)
        place = column[node % count] if m < stages else np.int64(0)
        fact, arm, index, value = read_event(what, stages, standing[unit], m, enters[unit, place]), m, np.int64(-1), 0.0
        psi = features[unit, place]
        if fact == NO_FACT:
            continue
        if fact == ARRIVED:
            arm, reason = decide(kind, state, taught + unit, m, node, psi, drawn[unit, m], sheet)
            arms[unit, m], reasons[unit, m], nodes[unit] = arm, reason, child[node, arm]
            index, value = node, 1.0 if reason == FORCED else 0.0
        elif fact == LEFT:
            standing[unit], index = GONE, np.int64(-1) if np.isnan(psi[0]) else node
        else:
            standing[unit] = ENDED
            if fact == COMPLETED:
                m, value = m - 1, outcome[unit, leaf[node % count]]
        while True:  # twice on arrival: the arrival, then the arm. One place that learns: each would be compiled
            take(kind, state, fact, taught + unit, m, index, value, psi, learning)
            if fact != ARRIVED:
                break
            fact, index = GIVEN, arm


@kernel
def given_so_far(arms: Integers, unit: Whole) -> np.int64:
    """Return how many arms a unit was given."""
    m = np.int64(0)
    while m < arms.shape[1] and arms[unit, m] >= 0:
        m += 1
    return m


@kernel
def read_event(what: Whole, stages: Whole, standing: Whole, m: Whole, enters: Truth) -> int:
    """Return an event as a fact; none if it cannot be, or comes after the unit has left or ended."""
    if standing == ENDED or (what < stages and (standing == GONE or what != m)):
        return NO_FACT
    if what < stages:
        return ARRIVED if m == 0 or enters else LEFT
    if what > stages:
        return LOST
    return COMPLETED if standing == GONE or m == stages else NO_FACT


TYPES = (
    "int64, int32[:, ::1], int64[::1], float64[:, :, ::1], boolean[:, ::1], int64[::1], float64[:, ::1], "
    "float64[:, ::1], int8[:, ::1], int8[:, ::1], int64[::1], int8[::1], table"
)
FOLDS: Mapping[str, Entry] = {
    name: kernel(entry=TYPES)(variant(fold, f"fold_{name}", own)) for name, own in DECIDE_AND_TAKE.items()
}


def folds_of(policies: Iterable[Policy[Any]]) -> list[Entry]:
    """Return the entries by which built-in policies play units."""
    names = {policy.compiled_rule.estimator.name for policy in policies if is_compiled(policy) and policy.compiled_rule}
    return [entry for name, entry in FOLDS.items() if name in names]
