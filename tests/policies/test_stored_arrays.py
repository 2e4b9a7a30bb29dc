"""Arrays that cannot be a state are refused in words; whatever they hold, the process goes on."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from typing import Any

import numpy as np
import pytest

import dtrbandit as dtr
from digest_worlds import Leaving, Quarterly, ThreeStages
from dtrbandit.courses import play, potential_courses
from dtrbandit.kernels.arrays import Named
from dtrbandit.policies.builtin_policy import BuiltinPolicy
from dtrbandit.policies.state import PolicyState
from dtrbandit.record.events import ArmClosed
from dtrbandit.testing.policy_contract import THREE_STAGES
from policies.spoilt import KINDS, all_tried, eventful, resized, with_number
from policies.states import bits, every_policy

each_policy = pytest.mark.parametrize("policy", every_policy(THREE_STAGES), ids=repr)


@pytest.fixture(scope="module")
def child() -> Iterator[ProcessPoolExecutor]:
    """A process that may end without a word."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        yield pool


@pytest.mark.parametrize("kind", KINDS)
@each_policy
def test_spoilt_arrays_are_refused_or_do_no_harm(child: ProcessPoolExecutor, policy: BuiltinPolicy, kind: str) -> None:
    """Refused means a LogError. What is taken may lead to other decisions, and never beyond the end of an array."""
    count = child.submit(all_tried, policy, kind).result()

    assert count["refused"] + count["taken"] > 0
    assert count["taken"] == 0 or kind != "misshapen"


def test_an_axis_that_grows_with_room_may_be_longer_and_no_other() -> None:
    state = eventful(dtr.Greedy())._belief.state
    longer = {what: arrays for what, arrays in resized(state.arrays()) if what.endswith("longer")}

    taken = [what for what, arrays in longer.items() if is_taken(state, arrays)]

    assert set(taken) <= {f"{name}: axis {axis} longer" for name, axis in GROWING}


GROWING = {("pulls", 0), ("pulled", 0), ("learner.counted", 0), *(
    (f"learner.{name}", 1) for name in ("cells", "units", "nodes", "labels", "follows")
)}  # fmt: skip


def is_taken(state: PolicyState, arrays: Named) -> bool:
    try:
        PolicyState.from_arrays(state.policy, state.design, arrays)
    except dtr.LogError:
        return False
    return True


def changed(name: str, number: int, place: int = 0) -> Callable[[Named], Named]:
    """Return what writes a number into an array."""
    return lambda arrays: {**arrays, name: with_number(arrays[name], place, number)}


def swapped(arrays: Named) -> Named:
    """Give two levels the chain of one."""
    head = arrays["learner.head"].copy()
    head[:, 1] = head[:, 0]
    fill = arrays["learner.fill"].copy()
    fill[:, :2] = max(fill[:, 0].max(), 1)
    return {**arrays, "learner.head": head, "learner.fill": fill}


REFUSED: list[tuple[Any, Callable[[Named], Named], str]] = [
    (dtr.DTRBandit(q=1, delta=0.5), changed("stale", 100), "'stale' counts stages"),
    (dtr.DTRBandit(q=1, delta=0.5), changed("planned", 9), "'planned' names a plan"),
    (dtr.DTRBandit(q=1, delta=0.5), changed("forced.count", 3), "units of forced rounds are not those"),
    (dtr.DTRBandit(q=1, delta=0.5), changed("observed.units", 10**6), "there are 1000000 units"),
    (dtr.DTRBandit(q=1, delta=0.5), changed("observed.child", 3), "'observed.child' does not lead as the design"),
    (dtr.DTRBandit(q=1, delta=0.5), changed("observed.arms", -1), "does not stand where its arms lead"),
    (dtr.DTRBandit(q=1, delta=0.5), changed("copies", 10**9), "'copies' must lie between 1 and"),
    (dtr.DTRBandit(q=1, delta=0.5), changed("closed", 7), "'closed' names an arm that is not there"),
    (dtr.Greedy(), changed("owed", 10**6), "'made' and 'owed'"),
    (dtr.Greedy(), changed("pulls", 9), "names a plan that is not there"),
    (dtr.Greedy(), swapped, "a chain of blocks leads astray"),
    (dtr.Greedy(), changed("learner.counted", 1, -1), "a row counts that a unit does not have"),
    (dtr.LSVIUCB(beta=0.5), changed("learner.fill", 999), "blocks hold more or fewer rows"),
    (dtr.LSVIUCB(beta=0.5), changed("learner.latest", 999), "a block belongs to a node that is not there"),
]


@pytest.mark.parametrize(("policy", "spoil", "said"), REFUSED)
def test_what_is_wrong_is_said_with_the_remedy(policy: Any, spoil: Callable[[Named], Named], said: str) -> None:
    arrays = eventful(policy)._belief.state.arrays()

    with pytest.raises(dtr.LogError, match=said) as error:
        PolicyState.from_arrays(policy, THREE_STAGES, spoil(arrays))

    assert "learn from the log again" in str(error.value)


@pytest.mark.parametrize("world", [Leaving(), ThreeStages()], ids=["leavers", "three stages"])
@pytest.mark.parametrize("units", [1, 30, 700])
def test_what_a_study_leads_to_is_never_refused(world: Leaving | ThreeStages, units: int) -> None:
    stages = len(world.design.stages)
    for seed, policy in enumerate(every_policy(world.design)):
        drawn = world.draw(units, np.random.default_rng(seed))
        events = Quarterly(3).events(units, stages, np.random.default_rng(seed))
        closings = [(units // 2, ArmClosed("second", "a", "harm"))]
        state = play(policy, potential_courses(drawn, events=events), world.design, seed=seed, closings=closings).state

        assert bits(PolicyState.from_arrays(policy, world.design, state.arrays())) == bits(state)


@each_policy
def test_a_state_without_room_and_one_that_could_not_grow_are_states(policy: BuiltinPolicy) -> None:
    empty, session = policy.state(THREE_STAGES), eventful(policy)
    state = session._belief.state
    with pytest.raises(MemoryError):
        state.reserve(2**50)

    for each in (empty, state):
        assert bits(PolicyState.from_arrays(policy, THREE_STAGES, each.arrays())) == bits(each)
