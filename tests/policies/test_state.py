"""The state of a built-in policy: its sheet, its room, its copies of the tree; copied, pickled, and as arrays."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dtrbandit as dtr
from dtrbandit.build import PLAIN
from dtrbandit.design.feasibility import Barred, left_for_sets
from dtrbandit.environments import Synthetic
from dtrbandit.estimators.estimates import Estimates
from dtrbandit.kernels import constants as c
from dtrbandit.policies.builtin_policy import BuiltinPolicy
from dtrbandit.policies.decisions import REASON_NAMES
from dtrbandit.policies.facts import update
from dtrbandit.policies.registry import forces_plans
from dtrbandit.policies.state import FIRST_ROOM, PolicyState
from dtrbandit.policies.uniform_random import UniformRandomState
from dtrbandit.record.events import REASONS, ArmClosed
from dtrbandit.record.histories import NO_UNIT
from dtrbandit.testing.policy_contract import THREE_STAGES, drive
from installed import wanted_state
from policies.states import bits, differences, every_policy

DESIGN = Synthetic().design
each_policy = pytest.mark.parametrize("policy", every_policy(DESIGN), ids=repr)
each_of_three_stages = pytest.mark.parametrize("policy", every_policy(THREE_STAGES), ids=repr)


def one_stage(arms: int, features: str = "1") -> dtr.Design:
    return dtr.Design([dtr.Stage("only", tuple("abcdef"[:arms]), features)])


def sheet(state: PolicyState, row: int) -> list[float]:
    return [float(number) for number in state.sheet[row]]


def eventful(policy: BuiltinPolicy) -> Any:
    """Return a session with delays, amendments, contraindications and a closed arm behind it."""
    session = dtr.Session(THREE_STAGES, policy, seed=3)
    drive(session, range(45))
    return session


# -- the sheet -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("excluded", "feasible"), [((), "abc"), (((0, 1),), "ac"), (((0, 0), (0, 2)), "b")])
def test_the_feasible_arms_contend_and_what_is_not_estimated_is_nan(excluded: Any, feasible: str) -> None:
    state = dtr.UniformRandom().init(one_stage(3))
    np.asarray(state.sheet)[:] = 7.0

    arm = state.ask(0, 0, state.root_for(excluded), 0.5)

    assert "abc"[arm] in feasible
    assert sheet(state, c.CONTENDER) == [float(label in feasible) for label in "abc"]
    assert sheet(state, c.PROPENSITY) == [(label in feasible) / len(feasible) for label in "abc"]
    assert np.isnan(np.asarray(state.sheet)[[c.Q_TILDE, c.Q_HAT]]).all()


@given(
    st.lists(st.sampled_from([np.nan, -1.0, 0.0, 1.0, 2.0]), min_size=1, max_size=5),
    st.lists(st.booleans(), min_size=5, max_size=5),
)
def test_the_best_is_the_lowest_contender_with_the_largest_value(values: list[float], contends: list[bool]) -> None:
    arms = [arm for arm in range(len(values)) if contends[arm]] or [0]
    design = one_stage(len(values))
    state: Any = dtr.FixedRegime(rule={"only": {label: [0.0] for label in design.stages[0].arms}}).init(design)
    np.asarray(state.scores)[0, :, 0] = values
    np.asarray(state.observed.psi)[0] = 1.0

    found = state.ask(0, 0, state.root_for(tuple((0, arm) for arm in range(len(values)) if arm not in arms)), 0.5)

    known = [arm for arm in arms if not np.isnan(values[arm])]
    assert found == (min(known, key=lambda arm: (-values[arm], arm)) if known else min(arms))
    assert sheet(state, c.PROPENSITY) == [float(arm == found) for arm in range(len(values))]
    assert np.isnan(sheet(state, c.Q_TILDE)).all()  # scores are no estimates


@pytest.mark.parametrize("policy", [dtr.Greedy(), dtr.DTRBandit(q=1, delta=1.0)], ids=repr)
def test_a_prescribed_arm_is_certain_and_alone(policy: BuiltinPolicy) -> None:
    state = policy.init(one_stage(3))
    np.asarray(state.sheet)[:] = 7.0

    assert state.ask(0, 0, 0, 0.9) == 0
    assert state.reason == c.FORCED
    assert sheet(state, c.PROPENSITY) == sheet(state, c.CONTENDER) == [1.0, 0.0, 0.0]


def test_an_estimate_that_is_infinite_is_none() -> None:
    state: Any = dtr.LSVIUCB(beta=1.0).init(one_stage(3))
    state.observed.psi[0] = 1.0
    np.asarray(state.learner.fits.weights)[0, :, 0] = [np.inf, -np.inf, 2.0]

    assert state.ask(0, 0, 0, 0.5) == 0
    assert sheet(state, c.Q_HAT) == pytest.approx([np.nan, np.nan, 3.0], nan_ok=True)


def test_every_reason_by_number_is_one_that_a_log_knows() -> None:
    numbered = {name.lower(): number for name, number in vars(c).items() if name.lower() in REASON_NAMES}

    assert numbered == {name: number for number, name in enumerate(REASON_NAMES)}
    assert set(REASON_NAMES) < set(REASONS)


# -- what a subclass need not say ----------------------------------------------------------------------------


def test_a_state_without_a_rule_writes_facts_down_and_nothing_else() -> None:
    state = PolicyState(dtr.UniformRandom(), DESIGN)
    state.reserve(4)
    state.observed.psi[:] = np.array([1.0, 0.5])
    before = bits(state)

    assert state.take_if_it_fits(c.ARRIVED, 0, 0, 0, 1, 1.0)
    state.amend(c.AMENDED, 0)
    state.relearn()
    state.settle()

    changed = [name for name, now in bits(state).items() if now != before[name]]
    assert changed == ["observed.units", "observed.features", "observed.nodes", "observed.arms"]
    assert state.ask(0, 0, 0, 0.5) == -1
    assert state.estimates() == Estimates(())


@pytest.mark.parametrize("kind", [PolicyState, UniformRandomState])
def test_a_subclass_of_another_package_is_refused_since_compiled_code_would_not_call_it(kind: Any) -> None:
    mine = type("Mine", (kind,), {"decide": lambda *_: 1})

    with pytest.raises(dtr.DesignError, match="Mine inherits from the state of a built-in policy"):
        mine(dtr.UniformRandom(), DESIGN)


@pytest.mark.skipif(wanted_state() == PLAIN, reason="Python lets anybody set an attribute")
@each_policy
def test_what_kernels_rely_on_cannot_be_set_from_outside(policy: BuiltinPolicy) -> None:
    state = policy.init(DESIGN)

    for part, name in ((state, "width"), (state, "observed"), (state.observed, "stages"), (state.observed, "psi")):
        with pytest.raises(AttributeError):
            setattr(part, name, getattr(part, name))


@each_policy
def test_policies_with_plans_must_have_been_told_of_a_unit(policy: BuiltinPolicy) -> None:
    assert policy.init(DESIGN).knows_units is forces_plans(policy)


# -- facts that fit, and others ------------------------------------------------------------------------------


@each_policy
def test_an_arrival_is_taken_with_its_arm_and_what_does_not_fit_is_not(policy: BuiltinPolicy) -> None:
    state = policy.init(DESIGN)
    state.observed.psi[:] = np.array([1.0, 0.5])

    assert state.take_if_it_fits(c.ARRIVED, 0, 0, 0, 1, 0.0)
    before = bits(state)
    assert not state.take_if_it_fits(c.ARRIVED, 0, 0, 0, 1, 0.0)
    assert bits(state) == before
    assert state.take_if_it_fits(c.ARRIVED, 0, 1, DESIGN.tree.after((1,)), 0, 0.0)
    assert state.take_if_it_fits(c.COMPLETED, 0, 1, -1, -1, 2.0)

    assert np.asarray(state.observed.arms)[0].tolist() == [1, 0]
    assert np.asarray(state.observed.features)[0, 0].tolist() == [1.0, 0.5]
    assert state.observed.outcome[0] == 2.0


def test_facts_are_taken_up_to_the_first_that_does_not_fit() -> None:
    state: Any = dtr.Greedy().init(DESIGN)
    again = (c.ARRIVED, 1, 0, 0, 0)
    facts = np.array([(c.ARRIVED, 0, 0, 0, 1), again, again, (c.LOST, 0, 1, -1, -1)])

    taken = state.take_all(facts, np.zeros(4), np.arange(8.0).reshape(4, 2))

    assert taken == 2
    assert np.asarray(state.observed.features)[:3, 0].tolist() == [[0.0, 1.0], [2.0, 3.0], [0.0, 0.0]]


# -- room for units ------------------------------------------------------------------------------------------


@each_policy
def test_a_state_that_cannot_grow_stays_as_it_was(policy: BuiltinPolicy) -> None:
    state = policy.init(DESIGN)
    before = bits(state)

    with pytest.raises(MemoryError):
        state.reserve(2**50)

    assert differences(state, policy.init(DESIGN)) == []
    assert state.capacity == FIRST_ROOM == len(state.observed.outcome)
    assert {name: now for name, now in bits(state).items() if name.startswith("observed.")} == {
        name: then for name, then in before.items() if name.startswith("observed.")
    }


def test_room_grows_by_half_so_that_growing_is_rare_and_short() -> None:
    state: Any = dtr.Greedy().init(DESIGN)
    first = state.capacity

    state.reserve(first)
    assert state.capacity == first

    state.reserve(first + 1)
    assert state.capacity == len(state.observed.outcome) == len(state.learner.counted) == first + first // 2

    state.reserve(10 * first)
    assert state.capacity == 10 * first


@each_policy
def test_arrays_that_grow_keep_their_names_and_types(policy: BuiltinPolicy) -> None:
    before = policy.init(DESIGN).arrays()
    state = policy.init(DESIGN)

    state.reserve(1000)
    state.root_for(((0, 1),))

    after = state.arrays()
    assert {name: (array.dtype, array.ndim) for name, array in after.items()} == {
        name: (array.dtype, array.ndim) for name, array in before.items()
    }
    assert len(after["observed.outcome"]) == 1000


@each_of_three_stages
def test_growing_changes_nothing_that_was_learnt(policy: BuiltinPolicy) -> None:
    session, roomy = (dtr.Session(THREE_STAGES, policy, seed=3) for _ in range(2))
    roomy._belief.state.reserve(5000)

    for each in (session, roomy):
        drive(each, range(45))

    assert session.log == roomy.log
    assert differences(session._belief.state, roomy._belief.state) == []


def test_units_of_an_earlier_trial_come_before_those_who_enrol() -> None:
    state = dtr.Greedy().init(DESIGN)

    state.make_room_for_taught(100)
    state.make_room_for_taught(3)

    assert state.taught == 103
    assert state.capacity >= 103


# -- copies of the tree --------------------------------------------------------------------------------------


def leads_where_it_should(state: PolicyState, root: int, excluded: Barred, closed: Barred = ()) -> bool:
    """Say whether a copy of the tree leads on, within itself, where arms are left; elsewhere nothing is decided."""
    (left,) = left_for_sets(THREE_STAGES.tree, [excluded], closed)
    child = np.asarray(state.observed.child)[root : root + state.observed.nodes_of_tree]
    own, somewhere = child[: len(left)], left.any(axis=1)
    same = own[left] == THREE_STAGES.tree.child[left] + root
    leaves = child[len(left) :]
    return bool(((own >= 0) == left)[somewhere].all() and same.all() and (leaves == -1).all())


@each_of_three_stages
def test_each_set_of_contraindications_has_a_copy_of_the_tree(policy: BuiltinPolicy) -> None:
    state = policy.init(THREE_STAGES)
    sets: list[Barred] = [(), ((1, 0),), ((2, 1),), ((1, 1), (2, 0)), ((0, 0),)]

    roots = [state.root_for(excluded) for excluded in sets]

    assert roots == [number * state.observed.nodes_of_tree for number in range(5)]
    assert [state.root_for(excluded) for excluded in sets] == roots
    assert all(leads_where_it_should(state, root, excluded) for excluded, root in zip(sets, roots, strict=True))


def test_a_closed_arm_is_closed_in_every_copy_and_in_later_ones() -> None:
    state = dtr.Greedy().init(THREE_STAGES)
    state.root_for(((1, 0),))

    update(state, NO_UNIT, ArmClosed("third", "b", "harm"))

    assert state.closed == ((2, 1),)
    sets: list[Barred] = [(), ((1, 0),), ((0, 0),)]
    assert all(leads_where_it_should(state, state.root_for(excluded), excluded, ((2, 1),)) for excluded in sets)


@each_of_three_stages
def test_a_question_leaves_no_copy_behind(policy: BuiltinPolicy) -> None:
    state = policy.init(THREE_STAGES)
    known = state.root_for(((1, 0),))
    before = bits(state)

    asked = state.root_to_decide(((2, 1),))
    right = leads_where_it_should(state, asked, ((2, 1),))
    state.clear_spare_copy()

    assert right
    assert asked == 2 * state.observed.nodes_of_tree
    assert state.root_to_decide(((1, 0),)) == known
    assert bits(state) == before


# -- as arrays, copied and pickled ---------------------------------------------------------------------------


def restored(state: PolicyState) -> Any:
    return PolicyState.from_arrays(state.policy, state.design, state.arrays())


def restored_from_read_only(state: PolicyState) -> Any:
    arrays = {name: array.copy() for name, array in state.arrays().items()}
    for array in arrays.values():
        array.flags.writeable = False
    return PolicyState.from_arrays(state.policy, state.design, arrays)


def pickled(state: PolicyState) -> Any:
    return pickle.loads(pickle.dumps(state))


def lent(state: PolicyState) -> Any:
    """Return what comes back if the receiver may only read the arrays."""
    buffers: list[pickle.PickleBuffer] = []
    sent = pickle.dumps(state, protocol=5, buffer_callback=buffers.append)
    assert buffers
    return pickle.loads(sent, buffers=[bytes(buffer) for buffer in buffers])


COPIES = [copy.deepcopy, copy.copy, pickled, lent, restored, restored_from_read_only]
each_copy = pytest.mark.parametrize("copied", COPIES, ids=lambda function: function.__name__)


@each_copy
@each_of_three_stages
def test_a_copy_knows_the_same_decides_the_same_and_has_arrays_of_its_own(
    policy: BuiltinPolicy, copied: Callable[[Any], Any]
) -> None:
    session = eventful(policy)
    state = session._belief.state
    before = bits(state)

    kept = copied(state)

    assert type(kept) is type(state)
    assert (kept.policy, kept.closed, kept.copies) == (policy, state.closed, state.copies)
    assert kept.closed
    assert len(kept.copies) > 1
    assert bits(kept) == before
    drive(session, range(45, 60))
    assert bits(kept) == before
    assert all(array.flags.writeable for array in kept.arrays().values())


@each_of_three_stages
def test_a_session_goes_on_with_a_copy_as_with_the_state_itself(policy: BuiltinPolicy) -> None:
    session, other = eventful(policy), eventful(policy)
    other._belief.state = restored(other._belief.state)

    for each in (session, other):
        drive(each, range(45, 80))

    assert other.log == session.log
    assert differences(other._belief.state, session._belief.state) == []


@each_of_three_stages
def test_a_session_that_is_pickled_goes_on_as_if_it_were_not(policy: BuiltinPolicy) -> None:
    session = eventful(policy)
    other = pickle.loads(pickle.dumps(session))

    for each in (session, other):
        drive(each, range(45, 60))

    assert other.log == session.log


def test_a_state_that_joblib_lends_read_only_has_arrays_that_may_be_written(tmp_path: Path) -> None:
    """It gives large arrays to its workers as memory-mapped files; to write there would end the process."""
    session = eventful(dtr.DTRBandit(q=1, delta=0.5))
    joblib.dump(session, tmp_path / "session")

    other = joblib.load(tmp_path / "session", mmap_mode="r")

    assert isinstance(joblib.load(joblib.dump(np.zeros(9), tmp_path / "array")[0], mmap_mode="r"), np.memmap)
    assert bits(other._belief.state) == bits(session._belief.state)
    assert all(array.flags.writeable for array in other._belief.state.arrays().values())
    for each in (session, other):
        drive(each, range(45, 50))
    assert other.log == session.log


def test_arrays_are_named_after_the_parts_that_they_belong_to() -> None:
    names = set(dtr.DTRBandit(q=1, delta=0.5).init(DESIGN).arrays())

    assert {"closed", "copies", "excluded", "planned", "observed.outcome", "learner.counted", "forced.beta"} <= names
    assert {name.split(".")[0] for name in names if "." in name} == {"observed", "learner", "forced"}


def test_an_array_that_is_missing_is_named() -> None:
    state = dtr.Greedy().init(DESIGN)
    arrays = state.arrays()
    del arrays["learner.counted"]

    with pytest.raises(dtr.LogError, match=r"'learner\.counted' is missing"):
        PolicyState.from_arrays(state.policy, DESIGN, arrays)


def test_what_is_put_off_is_in_the_arrays() -> None:
    """Q̃ is refitted when it is next read: a copy must not depend on whether anyone has read it."""
    asked, unasked = (dtr.Session(DESIGN, dtr.DTRBandit(q=1, delta=0.5)) for _ in range(2))
    for session in (asked, unasked):
        session.enroll("u1", {"x1": 0.5})
        session.respond("u1", {"x2": 0.5})
        session.complete("u1", 1.0)
    asked.coefficients()

    assert bits(unasked._belief.state) == bits(asked._belief.state)
