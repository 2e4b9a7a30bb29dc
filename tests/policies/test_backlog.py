"""Many facts at once: the same state as one by one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dtrbandit as dtr
from dtrbandit.policies import backlog as backlogs
from dtrbandit.policies.backlog import Backlog, all_at_once, learn_from_now_on, work_off
from dtrbandit.policies.builtin_policy import BuiltinPolicy
from dtrbandit.policies.state import PolicyState
from dtrbandit.record import Assigned, Completed, History
from policies.states import bits, every_policy

DESIGN = dtr.Design([dtr.Stage("only", ("a", "b"), "1 + x")])
each_policy = pytest.mark.parametrize("policy", every_policy(DESIGN), ids=repr)


def tell(policy: BuiltinPolicy, state: PolicyState, t: int) -> None:
    """Let a unit come, be given an arm, and end."""
    arm, psi = t % 2, np.array([1.0, t / 7])
    given = History(f"u{t}", t, 1 + arm, (psi,), (arm,), (), None)
    decision = dtr.Decision(given.unit, t, "only", "ab"[arm], "forced", 1.0, {}, {}, ("a",))
    policy.update(state, given, Assigned(decision))
    policy.update(state, given._replace(outcome=float(t)), Completed(given.unit, float(t)))


def test_what_waits_comes_out_as_arrays_in_order() -> None:
    waiting = Backlog(3)
    waiting.put((0, 7, 1, 2, 3, 0.5), np.array([1.0, 2.0]))
    waiting.put((2, 8, 0, -1, -1, 9.0), None)

    numbers, values, features = waiting.arrays()

    assert len(waiting) == 2
    assert numbers.tolist() == [[0, 7, 1, 2, 3], [2, 8, 0, -1, -1]]
    assert values.tolist() == [0.5, 9.0]
    assert features.tolist() == [[1.0, 2.0, 0.0], [0.0, 0.0, 0.0]]
    assert all(array.flags.c_contiguous for array in (numbers, values, features))


@each_policy
@pytest.mark.parametrize("most", [3, 4096], ids=["some at a time", "all"])
def test_facts_that_waited_leave_the_same_bits(
    policy: BuiltinPolicy, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    from dtrbandit.policies import facts

    monkeypatch.setattr(facts, "AT_ONCE", most)
    one_by_one, at_once = policy.init(DESIGN), policy.init(DESIGN)
    for t in range(1, 41):
        tell(policy, one_by_one, t)

    with all_at_once(at_once, learning=True):
        for t in range(1, 41):
            tell(policy, at_once, t)

    assert bits(at_once) == bits(one_by_one)
    assert at_once.backlog is None


def test_what_is_only_written_down_is_not_learnt() -> None:
    policy = dtr.Greedy()
    state: Any = policy.init(DESIGN)

    with all_at_once(state, learning=False):
        for t in range(1, 11):
            tell(policy, state, t)
        learn_from_now_on(state)
        tell(policy, state, 11)

    assert state.observed.units == 11
    assert np.asarray(state.learner.counted)[:11, 0].tolist() == [False] * 10 + [True]
    assert state.learning


def test_a_fact_that_does_not_fit_is_named_and_nothing_waits_any_more() -> None:
    policy = dtr.Greedy()
    state = policy.init(DESIGN)

    def tell_twice() -> None:
        with all_at_once(state, learning=True):
            tell(policy, state, 1)
            tell(policy, state, 1)

    with pytest.raises(dtr.ProtocolError, match="round 1, stage 1: fact 0 does not fit"):
        tell_twice()

    assert state.backlog is None
    assert state.learning


def test_there_is_nothing_to_work_off_without_a_backlog(monkeypatch: pytest.MonkeyPatch) -> None:
    state = dtr.Greedy().init(DESIGN)
    monkeypatch.setattr(backlogs, "take_all", None)

    work_off(state)

    with all_at_once(state, learning=True):
        work_off(state)
