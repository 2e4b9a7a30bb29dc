"""Facts become kernel calls in one place, and each is checked there: no kernel goes astray, whatever is told."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dtrbandit as dtr
from dtrbandit.errors import DTRError
from dtrbandit.policies.builtin_policy import BuiltinPolicy
from dtrbandit.policies.policy import Choice
from dtrbandit.policies.registry import forces_plans
from dtrbandit.record import Assigned, Completed, Corrected, History, Overridden, Responded, Voided, Withdrawn
from dtrbandit.record.events import Fact
from effort import scaled
from policies.states import bits, every_policy

DESIGN = dtr.Design([dtr.Stage("1", ("1", "2"), "1 + x"), dtr.Stage("2", ("1", "2", "3"), "1 + z", enter_if="z > 0")])
POLICIES = [*every_policy(DESIGN), dtr.FixedRegime(rule={"1": "1", "2": "2"}), dtr.LSVIUCB(beta=1.0, switching="rare")]
each_policy = pytest.mark.parametrize("policy", POLICIES, ids=repr)
knows_units = pytest.mark.parametrize("policy", [*filter(forces_plans, POLICIES)], ids=repr)
knows_no_units = pytest.mark.parametrize("policy", [each for each in POLICIES if not forces_plans(each)], ids=repr)


@dataclass(frozen=True)
class Forgetful:
    """Holds a built-in policy and keeps some facts from it."""

    held: BuiltinPolicy
    withheld: tuple[type, ...]

    def init(self, design: dtr.Design) -> Any:
        return self.held.init(design)

    def update(self, state: Any, history: History, event: Fact) -> Any:
        return state if isinstance(event, self.withheld) else self.held.update(state, history, event)

    def decide(self, state: Any, history: History, u: float) -> Choice:
        return self.held.decide(state, history, u)


def history(t: int, arms: tuple[int, ...] = (), **others: Any) -> History:
    """Return a unit that has arrived after these arms, as a session of the design would tell it."""
    features = tuple(np.array([1.0, 0.5]) for _ in range(len(arms) + 1))
    node = DESIGN.tree.after(arms)
    plain = History(f"u{t}", t, node, features, arms, DESIGN.tree.feasible[node], None)
    return plain._replace(**others)


@knows_units
def test_a_built_in_policy_that_was_not_told_of_an_arm_says_so(policy: BuiltinPolicy) -> None:
    session = dtr.Session(DESIGN, Forgetful(policy, (Assigned,)))
    session.enroll("u1", {"x": 0.5})

    with pytest.raises(dtr.ProtocolError, match=r"'u1', round 1.*must pass on every fact"):
        session.respond("u1", {"z": 0.5})

    assert session.version == 3


@knows_no_units
def test_a_policy_that_looks_at_no_unit_decides_for_one_that_it_was_not_told_of(policy: BuiltinPolicy) -> None:
    """As when a regime is asked what it would have given to the units of a cohort."""
    assert policy.decide(policy.init(DESIGN), history(7, (1,)), 0.5).arm in (0, 1, 2)


@each_policy
def test_a_round_far_ahead_is_decided_without_room_for_it(policy: BuiltinPolicy) -> None:
    state = policy.init(DESIGN)

    choice = policy.decide(state, history(10**8), 0.5)

    assert choice.arm in (0, 1)
    assert state.capacity < 1000


@each_policy
def test_rounds_may_have_gaps(policy: BuiltinPolicy) -> None:
    """As when a policy of one's own holds several, each for some of the units."""
    state = policy.init(DESIGN)
    decision = dtr.Decision("u70", 70, "1", "2", "greedy", 1.0, {}, {}, ("2",))

    state = policy.update(state, history(70, (1,), features=history(70).features, feasible=()), Assigned(decision))

    assert policy.decide(state, history(70, (1,)), 0.5).arm in (0, 1, 2)


@each_policy
@pytest.mark.parametrize(
    "wrong",
    [
        history(0),
        history(-5),
        history(1, node=1),
        history(1, node=-1),
        history(1, features=()),
        history(1, features=(np.ones(3),)),
        history(1, (0, 1), feasible=(True, True)),
    ],
    ids=["round 0", "before", "node", "no node", "no features", "long features", "beyond the last stage"],
)
def test_a_decision_for_a_unit_that_is_not_there_is_refused(policy: BuiltinPolicy, wrong: History) -> None:
    state = policy.init(DESIGN)
    before = bits(state)

    with pytest.raises(dtr.ProtocolError, match="does not fit what this policy was told"):
        policy.decide(state, wrong, 0.5)

    assert bits(state) == before


@each_policy
def test_features_may_be_whole_numbers(policy: BuiltinPolicy) -> None:
    state = policy.init(DESIGN)
    whole = policy.decide(state, history(1, features=(np.array([1, 2]),)), 0.5)

    assert whole == policy.decide(state, history(1, features=(np.array([1.0, 2.0]),)), 0.5)


def test_an_arrival_after_leaving_is_refused() -> None:
    """A row of the last stage would be looked up at the stage after it, beyond the end."""
    policy = dtr.LSVIUCB(beta=1.0, leavers="optimistic")
    state = policy.init(DESIGN)
    decision = dtr.Decision("u1", 1, "1", "2", "greedy", 1.0, {}, {}, ("2",))
    given = history(1, (1,), features=history(1).features, feasible=())
    state = policy.update(state, given, Assigned(decision))
    left = history(1, (1,), feasible=())
    state = policy.update(state, left, Responded("u1", "2", {}))
    late = Assigned(decision._replace(stage="2", arm="1"))

    with pytest.raises(dtr.ProtocolError, match="does not fit"):
        policy.update(state, history(1, (1, 0), features=left.features, feasible=()), late)

    policy.update(state, left._replace(outcome=1.0), Completed("u1", 1.0))


numbers = st.integers(-2, 4)
histories = st.builds(
    History,
    unit=st.just("u"),
    round=st.integers(-1, 80),
    node=st.integers(-2, 9),
    features=st.lists(st.integers(0, 3).map(np.ones), max_size=3).map(tuple),
    arms=st.lists(numbers, max_size=3).map(tuple),
    feasible=st.sampled_from([(), (True, True), (True, True, True)]),
    outcome=st.sampled_from([None, 1.0]),
)
decisions = st.builds(
    dtr.Decision, unit=st.just("u"), round=st.just(1), stage=st.just("1"), arm=st.just("1"),
    reason=st.sampled_from(["forced", "greedy"]), propensity=st.just(1.0), q_tilde=st.just({}), q_hat=st.just({}),
    contenders=st.just(("1",)),
)  # fmt: skip
facts = st.one_of(
    st.builds(Assigned, decisions),
    st.just(Completed("u", 2.0)),
    st.just(Responded("u", "2", {})),
    st.just(Withdrawn("u", "moved")),
    st.just(Voided("u", "not eligible")),
    st.just(Overridden("u", "1", "2", "allergy")),
    st.just(Corrected("u", 1.0, None, None, "typing error")),
)


@pytest.mark.slow
@given(st.sampled_from(POLICIES), st.lists(st.tuples(histories, facts), max_size=30), st.booleans())
@settings(max_examples=scaled(300))
def test_whatever_a_policy_is_told_it_learns_or_refuses(
    policy: BuiltinPolicy, told: list[tuple[History, Fact]], sane: bool
) -> None:
    """Half of the runs begin with whole units, so that what is wrong comes upon a state that has learnt."""
    state = policy.init(DESIGN)
    if sane:
        session = dtr.Session(DESIGN, policy)
        for t in range(9):
            session.enroll(f"u{t}", {"x": t / 9})
            session.respond(f"u{t}", {"z": (t % 3 - 1) / 2})
            session.complete(f"u{t}", float(t))
        state = session._belief.state

    for each, fact in told:
        with suppress(DTRError):
            policy.update(state, each, fact)
        with suppress(DTRError):
            policy.decide(state, each, 0.4)

    assert policy.decide(state, history(500), 0.5).arm in (0, 1)


# -- amendments ----------------------------------------------------------------------------------------------

THREE_PLANS = dtr.Design(
    [dtr.Stage("first", ("a", "b"), "1 + x"), dtr.Stage("second", ("a", "b"), "1 + z", enter_if="r > 0")],
    plans=[("a", "a"), ("a", "b"), ("b", "b")],
)


LOOKS_BACK = dtr.Design(
    [dtr.Stage("first", ("a", "b"), "1 + x"), dtr.Stage("second", ("a", "b"), "1 + x + z + C(first)")]
)


@pytest.mark.parametrize(
    ("policy", "ridge"), [(dtr.DTRBandit(q=1, delta=1.0), 0), (dtr.Greedy(), 0), (dtr.LSVIUCB(beta=1.0), 1)]
)
@pytest.mark.parametrize("ended", [False, True], ids=["before the outcome", "after the outcome"])
@pytest.mark.parametrize(
    ("amend", "psi"),
    [
        (lambda session: session.override("u1", "b", stage="first", reason="from the chart"), (1.0, 1.0, 2.0, 1.0)),
        (lambda session: session.correct("u1", stage="first", context={"x": 3.0}, reason="misread"), (1, 3, 2, 0)),
    ],
    ids=["override", "correction"],
)
def test_amending_the_past_changes_the_features_of_later_stages(
    policy: Any, ridge: float, amend: Callable[[dtr.Session], object], psi: tuple[float, ...], ended: bool
) -> None:
    """One row ψ with outcome y: the shortest solution is y·ψ/‖ψ‖², with ridge λ it is y·ψ/(λ + ‖ψ‖²)."""
    session = dtr.Session(LOOKS_BACK, policy)
    first = session.enroll("u1", {"x": 1.0})
    second = session.respond("u1", {"z": 2.0})
    if ended:
        session.complete("u1", 10.0)

    amend(session)
    if not ended:
        session.complete("u1", 10.0)

    assert first.arm == "a"
    assert second is not None
    found = [c.hat for c in session.coefficients() if (c.stage, c.arm) == ("second", second.arm)]
    assert found == pytest.approx(10.0 * np.array(psi) / (ridge + np.dot(psi, psi)))


@pytest.mark.parametrize("policy", [dtr.Greedy(), dtr.DTRBandit(q=1, delta=1.0), dtr.LSVIUCB(beta=1e-9, ridge=1e-9)])
def test_a_late_override_changes_which_arms_a_target_may_look_at(policy: Any) -> None:
    """After a both second arms are feasible, after b only b: the target of u3 falls from 9 to 1."""
    session = dtr.Session(THREE_PLANS, policy)
    for name, arms, y in (("u1", "aa", 9.0), ("u2", "bb", 1.0), ("u3", "ab", 1.0)):
        if session.enroll(name, {"x": 0.0}).arm != arms[0]:
            session.override(name, arms[0], reason="allergy")
        second = session.respond(name, {"z": 0.0, "r": 1.0})
        if second is not None and second.arm != arms[1]:
            session.override(name, arms[1], reason="allergy")
        session.complete(name, y)

    before = session.q_hat("first", {"x": 0.0})
    session.override("u3", "b", stage="first", reason="from the chart")
    after = session.q_hat("first", {"x": 0.0})

    assert before == {"a": pytest.approx(9.0), "b": pytest.approx(1.0)}
    assert after == {"a": pytest.approx(9.0), "b": pytest.approx(1.0)}


@pytest.mark.parametrize(("policy", "ridge"), [(dtr.Greedy(), 0), (dtr.LSVIUCB(beta=1e-9), 1)])
def test_an_override_after_the_response_moves_the_row_at_once(policy: Any, ridge: float) -> None:
    """u2 has responded, its outcome is out: its row (1, x) counts at stage 1, with the best Q̂₂ as its target."""
    session = dtr.Session(LOOKS_BACK, policy)
    session.enroll("u1", {"x": 0.0})
    session.respond("u1", {"z": 0.0})
    session.complete("u1", 5.0)
    given = session.enroll("u2", {"x": 2.0}).arm
    session.respond("u2", {"z": 0.0})
    other = "b" if given == "a" else "a"

    session.override("u2", other, stage="first", reason="from the chart")

    history: dict[str, float | str] = {"x": 2.0, "z": 0.0, "first": other}
    target = max(q for q in session.q_hat("second", history).values() if q is not None)
    psi = np.array([1.0, 2.0])
    first = [c.hat for c in session.coefficients() if (c.stage, c.arm) == ("first", other)]
    assert first == pytest.approx(target * psi / (ridge + psi @ psi), abs=1e-6)
