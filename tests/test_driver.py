"""The loop of a study: which events are facts, what they lead to, and whose features are looked at."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

import dtrbandit as dtr
from dtrbandit.courses import Courses, Played, play, potential_courses
from dtrbandit.driver import Driver
from dtrbandit.environments import PotentialOutcomes
from dtrbandit.kernels import constants as c
from dtrbandit.kernels.stream import drawn_for
from dtrbandit.policies.decisions import REASON_NAMES
from dtrbandit.policies.registry import examples
from policies.states import differences

UNITS, STAGES = 6, 2
DESIGN = dtr.Design(
    [dtr.Stage("first", ("a", "b"), "1 + x"), dtr.Stage("second", ("a", "b", "c"), "1 + z + x:z", enter_if="z > -0.5")]
)
FIRST, SECOND, OUTCOME, LOST = range(4)  # of an event
Events = list[tuple[int, int]]


def world() -> PotentialOutcomes:
    """Draw units of whom some leave after either arm."""
    rng = np.random.default_rng(12)
    contexts = {"x": rng.normal(size=UNITS).round(2)}, {"z": rng.normal(size=(UNITS, 2)).round(2)}
    return PotentialOutcomes(DESIGN, contexts, rng.normal(size=(UNITS, 2, 3)).round(2), None)


WORLD = world()
X, Z = WORLD.contexts[0]["x"], WORLD.contexts[1]["z"]


def played(events: Events, policy: Any = None) -> Played:
    courses = potential_courses(WORLD, events=np.array(events, dtype=np.int32).reshape(-1, 2))
    return play(policy or dtr.UniformRandom(), courses, DESIGN, seed=4)


def seen(state: Any, name: str) -> NDArray[Any]:
    array: NDArray[Any] = np.asarray(getattr(state.observed, name))[:UNITS]
    return array


class Naive:
    """What is known of units after events, by plain rules; the arms are given."""

    def __init__(self, arms: NDArray[np.int8]) -> None:
        self.given, self.at, self.ended = arms, [0] * UNITS, [False] * UNITS
        self.left: dict[int, int] = {}
        self.outcomes: dict[int, float] = {}

    def happen(self, what: int, unit: int) -> None:
        if self.ended[unit]:
            return
        stands = self.at[unit] if unit not in self.left else STAGES
        if what == LOST:
            self.ended[unit] = True
        elif what == OUTCOME and stands == STAGES:
            self.ended[unit] = True
            arms = self.given[unit].tolist()
            self.outcomes[unit] = float(WORLD.outcome[unit, arms[0], max(arms[1], 0)])
        elif what == stands == SECOND and Z[unit, self.given[unit, 0]] <= -0.5:
            self.left[unit] = 1 + int(self.given[unit, 0])  # the node
        elif what == stands < STAGES:
            self.at[unit] += 1


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, UNITS - 1)), max_size=60))
def test_events_are_read_by_plain_rules_in_whatever_order_they_come(events: Events) -> None:
    result = played(events)
    naive = Naive(result.arms)
    for what, unit in events:
        naive.happen(what, unit)

    assert (result.arms >= 0).sum(axis=1).tolist() == naive.at
    assert ((result.reasons >= 0) == (result.arms >= 0)).all()
    assert {unit: seen(result.state, "left")[unit] for unit in naive.left} == naive.left
    assert (seen(result.state, "left") != c.STAYED).sum() == len(naive.left)
    known = seen(result.state, "last") >= 0
    assert {unit: seen(result.state, "outcome")[unit] for unit in np.flatnonzero(known).tolist()} == naive.outcomes


def test_the_features_of_a_stage_are_those_after_the_arms_that_were_given() -> None:
    result = played([(what, unit) for unit in range(UNITS) for what in (FIRST, SECOND, OUTCOME)])
    first = result.arms[:, 0]
    z = Z[np.arange(UNITS), first]

    features = seen(result.state, "features")
    assert features[:, 0, :2].tolist() == np.column_stack([np.ones(UNITS), X]).tolist()
    assert features[:, 1].tolist() == np.column_stack([np.ones(UNITS), z, X * z]).tolist()
    assert (result.arms[:, 1] >= 0).tolist() == (z > -0.5).tolist()
    assert 0 < (result.arms[:, 1] < 0).sum() < UNITS


@pytest.mark.parametrize(
    ("policy", "reason"),
    [(dtr.UniformRandom(), "uniform"), (dtr.LSVIUCB(beta=1.0), "optimistic"), (dtr.Greedy(), "forced")],
)
def test_reasons_are_numbers_of_names(policy: Any, reason: str) -> None:
    events = [(what, unit) for unit in range(UNITS) for what in (FIRST, SECOND, OUTCOME)]

    result = played(events, policy)

    assert {REASON_NAMES[number] for number in result.reasons[result.arms >= 0].tolist()} == {reason}
    assert set(result.reasons[result.arms < 0].tolist()) == {-1}


def test_a_unit_decides_by_its_own_numbers() -> None:
    """Under chance alone arm a is given if u < ½, whenever the unit comes."""
    drawn = drawn_for(4, UNITS, STAGES)

    result = played([(FIRST, unit) for unit in (3, 0, 5, 1, 4, 2)])

    assert result.arms[:, 0].tolist() == (drawn[:UNITS, 0] >= 0.5).astype(int).tolist()
    assert (result.arms[:, 1] == -1).all()


@pytest.mark.parametrize("policy", examples(), ids=repr)
def test_events_in_two_parts_lead_to_what_they_lead_to_in_one(policy: Any) -> None:
    events = np.array([(what, unit) for what in (FIRST, SECOND, OUTCOME) for unit in range(UNITS)], dtype=np.int32)
    units = potential_courses(WORLD, events=events)
    whole, parts = play(policy, units, DESIGN, seed=4), Played(policy, DESIGN, UNITS, seed=4)

    for piece in np.array_split(events, 5):
        parts.go_on(units._replace(events=piece))

    assert parts.arms.tolist() == whole.arms.tolist()
    assert differences(parts.state, whole.state) == []


@pytest.mark.parametrize("policy", examples(), ids=repr)
def test_units_come_after_those_of_an_earlier_trial(policy: Any) -> None:
    state = policy.init(DESIGN)
    state.make_room_for_taught(3)
    state.reserve(3 + UNITS)
    units: Courses = potential_courses(WORLD, events=np.array([(FIRST, 0), (FIRST, 2)], dtype=np.int32))
    driver: Any = Driver(state, drawn_for(4, UNITS, STAGES), UNITS)

    driver.play(units.events, units.column, units.features, units.enters.view(np.uint8), units.leaf, units.outcome)

    assert np.flatnonzero(np.asarray(state.observed.nodes)[:, 0] >= 0).tolist() == [3, 5]
    assert np.asarray(state.observed.arms)[[3, 5], 0].tolist() == np.asarray(driver.arms)[[0, 2], 0].tolist()
    assert np.asarray(driver.standing).tolist() == [c.UNDER_WAY] * UNITS


def test_what_is_played_may_be_read_only() -> None:
    """As joblib gives large arrays to its workers."""
    expected = play(dtr.Greedy(), potential_courses(WORLD), DESIGN)
    units = potential_courses(WORLD)
    for array in units[:7]:
        if isinstance(array, np.ndarray):
            array.flags.writeable = False

    found = play(dtr.Greedy(), units, DESIGN)

    assert found.arms.tolist() == expected.arms.tolist()
