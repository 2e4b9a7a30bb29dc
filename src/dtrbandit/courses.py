"""Studies: the same fold as a Session's, over arrays of what happens to units.

Arms are decided, and everything is learnt, by the methods that serve one event at a time, in the same order. So arms
and estimates agree bit for bit. The loop is in ``driver.py``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dtrbandit.design.feasibility import Barred, arms_left, sets_of
from dtrbandit.design.spec import Design
from dtrbandit.driver import Driver
from dtrbandit.environments.potential_outcomes import PotentialOutcomes, by_node
from dtrbandit.errors import DesignError, ProtocolError
from dtrbandit.kernels.constants import UNDER_WAY
from dtrbandit.kernels.stream import drawn_for
from dtrbandit.policies.builtin_policy import BuiltinPolicy
from dtrbandit.policies.facts import update
from dtrbandit.policies.teaching import Lessons, teach
from dtrbandit.record.events import ArmClosed
from dtrbandit.record.histories import NO_UNIT


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
        self, policy: BuiltinPolicy, design: Design, n: int, *, seed: int = 0, lessons: Lessons | None = None
    ) -> None:
        if policy.decides_in_python:
            raise DesignError(f"{policy!r} holds a Python function and plays through a Session only")
        self.state: Any = policy.init(design)
        self.state.reserve(n if lessons is None else n + lessons.units)
        if lessons is not None:
            teach(self.state, lessons)
        self._driver = Driver(self.state, drawn_for(seed, n, len(design.stages)), n)
        self.arms, self.reasons = np.asarray(self._driver.arms), np.asarray(self._driver.reasons)
        self._nodes, self._standing = np.asarray(self._driver.nodes), np.asarray(self._driver.standing)

    def go_on(self, units: Courses) -> None:
        """Let the events of units happen."""
        _require_fit(units, self.state.design)
        if len(units.features) != len(self.arms):
            raise DesignError(f"found {len(units.features)} units, expected {len(self.arms)}")
        if len(units.excluded) > 1:
            roots = np.array([self.state.root_for(excluded) for excluded in units.excluded], dtype=np.int64)
            coming = self.arms[:, 0] < 0
            self._nodes[coming] = roots[units.barring[coming]]
        self._driver.play(
            units.events, units.column, units.features, units.enters.view(np.uint8), units.leaf, units.outcome
        )

    def close_arm(self, fact: ArmClosed) -> None:
        """Close an arm for all decisions from now on."""
        count, stages = self.state.observed.nodes_of_tree, self.arms.shape[1]
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
    policy: BuiltinPolicy,
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
    what, who = units.events.T
    if len(who) and (units.events.min() < 0 or what.max() > stages + 1 or who.max() >= n):
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
