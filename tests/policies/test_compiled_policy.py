"""The state of a built-in policy: copied, pickled, grown."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable

import numpy as np
import pytest

import dtrbandit as dtr
from dtrbandit.environments import Synthetic
from dtrbandit.estimators.exact import hat_coefficients
from dtrbandit.policies.compiled_policy import CompiledPolicy, CompiledState


@pytest.mark.parametrize(
    "copied", [copy.deepcopy, lambda state: pickle.loads(pickle.dumps(state))], ids=["copy", "pickle"]
)
def test_a_copied_state_has_arrays_of_its_own(copied: Callable[[CompiledState], CompiledState]) -> None:
    design = Synthetic().design
    session = dtr.Session(design, dtr.DTRBandit(q=1, delta=0.5))
    session.enroll("u1", {"x1": 0.5})
    kept = copied(session._belief.state)

    session.respond("u1", {"x2": 0.5})
    session.complete("u1", 1.0)

    assert kept.table.tolist() != session._belief.state.table.tolist()
    assert np.isnan(hat_coefficients(design, kept.beliefs)[1]).all()
    assert not np.isnan(hat_coefficients(design, session._belief.state.beliefs)[1][0]).all()


def test_a_state_whose_arrays_come_back_read_only_copies_them() -> None:
    """As joblib gives large arrays to its workers; to write behind their addresses would end the process."""
    session = dtr.Session(Synthetic().design, dtr.DTRBandit(q=1, delta=0.5))
    buffers: list[pickle.PickleBuffer] = []
    pickled = pickle.dumps(session, protocol=5, buffer_callback=buffers.append)

    lent = pickle.loads(pickled, buffers=[bytes(buffer) for buffer in buffers])

    assert buffers
    assert all(array.flags.writeable for array in lent._belief.state.arrays())
    assert lent.enroll("u1", {"x1": 0.5}) == session.enroll("u1", {"x1": 0.5})


def test_a_state_that_cannot_grow_stays_as_it_was() -> None:
    state = dtr.Greedy().init(Synthetic().design)
    before = state.capacity, state.table.tolist()

    with pytest.raises(MemoryError):
        state.reserve(2**50)

    assert (state.capacity, state.table.tolist()) == before
    assert len(state.observed.outcome) == state.capacity


def test_room_grows_by_half_so_that_growing_is_rare_and_short() -> None:
    state = dtr.Greedy().init(Synthetic().design)
    first = state.capacity

    state.reserve(first)
    assert state.capacity == first

    state.reserve(first + 1)
    assert state.capacity == len(state.observed.outcome) == len(state.beliefs.counted) == first + first // 2

    state.reserve(10 * first)
    assert state.capacity == 10 * first


def test_growing_changes_nothing_that_was_learnt() -> None:
    session, roomy = (dtr.Session(Synthetic().design, dtr.DTRBandit(q=1, delta=0.5)) for _ in range(2))
    roomy._belief.state.reserve(5000)

    for each in (session, roomy):
        for t in range(80):
            each.enroll(f"u{t}", {"x1": t / 80})
            each.respond(f"u{t}", {"x2": (t % 7) / 7})
            each.complete(f"u{t}", float(t % 3))

    assert session.log == roomy.log
    assert session.coefficients() == roomy.coefficients()


def test_a_policy_whose_parameters_do_not_fit_a_design_says_so_at_once() -> None:
    with pytest.raises(dtr.DesignError, match="delta has 3 numbers for a design of 2 stages"):
        dtr.DTRBandit(q=1, delta=(1.0, 2.0, 3.0)).init(Synthetic().design)


def test_a_policy_that_holds_a_function_has_no_compiled_state() -> None:
    policy: CompiledPolicy = dtr.FixedRegime(rule=lambda _: "1")

    with pytest.raises(dtr.DesignError, match="holds a Python function"):
        CompiledPolicy.init(policy, Synthetic().design)
