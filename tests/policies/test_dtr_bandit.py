"""What docs/readings.md settles: the filter, frozen Q̃, overrides, corrections, permuted blocks."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dtrbandit as dtr
from dtrbandit.estimators.estimates import factors_by_arm
from dtrbandit.kernels import constants as c
from dtrbandit.policies.decisions import REASON_NAMES
from dtrbandit.record import Assigned
from plain.dtr_bandit import filtered
from random_runs import DESIGNS, random_session

DESIGN = dtr.Design([dtr.Stage("first", ("a", "b"), "1 + x"), dtr.Stage("second", ("a", "b"), "1 + z")])
THREE = dtr.Design(
    [dtr.Stage("first", ("a", "b"), "1 + x"), dtr.Stage("second", ("a", "b"), "1 + z")],
    plans=[("a", "a"), ("a", "b"), ("b", "b")],
)
values = st.one_of(st.none(), st.integers(-4, 4).map(float))


@given(st.tuples(values, values), st.sampled_from([0.5, 1.0, 2.0, 4.0]))
def test_two_arm_rule_equals_the_filter_rule_of_algorithm_4(q_tilde: tuple[float | None, ...], delta: float) -> None:
    kept = filtered(np.array([np.nan if q is None else q for q in q_tilde]), (0, 1), delta)

    first, second = q_tilde
    if first is None or second is None or not abs(first - second) > delta / 2:
        assert kept == (0, 1)
    else:
        assert kept == (int(second > first),)


@given(st.lists(values, min_size=3, max_size=3), st.sampled_from([1.0, 3.0]))
def test_an_arm_without_a_forced_estimate_is_never_filtered_out(q_tilde: list[float | None], delta: float) -> None:
    kept = filtered(np.array([np.nan if q is None else q for q in q_tilde]), (0, 1, 2), delta)

    assert {arm for arm, q in enumerate(q_tilde) if q is None} <= set(kept)
    assert kept


def with_tilde(design: dtr.Design, coefficients: Any, delta: float) -> Any:
    """Return a state whose Q̃ has these coefficients (M, K, D), frozen."""
    state = dtr.DTRBandit(q=1, delta=delta).init(design)
    np.asarray(state.frozen)[:] = 1
    np.asarray(state.tilde)[:] = coefficients
    return state


@given(st.lists(values, min_size=3, max_size=3), st.sampled_from([0.5, 1.0, 3.0]), st.integers(0, 2))
def test_a_free_round_keeps_the_arms_that_the_plain_rule_keeps(
    q_tilde: list[float | None], delta: float, barred: int
) -> None:
    numbers = np.array([np.nan if q is None else q for q in q_tilde])
    state = with_tilde(dtr.Design([dtr.Stage("only", ("a", "b", "c"), "1")]), numbers[:, None], delta)
    state.observed.psi[0] = 1.0
    feasible = tuple(arm for arm in range(3) if arm != barred)

    arm = state.ask(6, 0, state.root_for(((0, barred),)), 0.5)  # round 7, the first free one

    kept = filtered(numbers, feasible, delta)
    assert tuple(np.flatnonzero(np.asarray(state.sheet)[c.CONTENDER]).tolist()) == kept
    assert arm == min(kept)  # none has Q̂
    assert REASON_NAMES[state.reason] == ("clear" if len(kept) == 1 else "close")


def test_q_tilde_is_the_product_of_coefficients_and_features() -> None:
    """The first stage has two features, the second four: what lies beyond the second is not looked at."""
    design = dtr.Design([dtr.Stage("s", ("a", "b", "c"), "1 + x"), dtr.Stage("t", ("a", "b"), "1 + z1 + z2 + z3")])
    coefficients = np.arange(24.0).reshape(2, 3, 4)
    coefficients[0, 1] = np.nan
    state = with_tilde(design, coefficients, 0.5)
    state.observed.psi[:] = np.array([1.0, 10.0, 99.0, 99.0])

    state.ask(12, 0, 0, 0.5)  # round 13, the first free one

    assert np.asarray(state.sheet)[c.Q_TILDE] == pytest.approx([10.0, np.nan, 98.0], nan_ok=True)


def unit(session: dtr.Session, name: str, *, x: float = 0.0, z: float = 0.0, y: float = 0.0) -> None:
    session.enroll(name, {"x": x})
    session.respond(name, {"z": z})
    session.complete(name, y)


def finished(design: dtr.Design, rounds: int, *, delta: float = 0.01) -> dtr.Session:
    """Return a session whose first rounds are complete, with outcomes that tell arms and contexts apart."""
    session = dtr.Session(design, dtr.DTRBandit(q=1, delta=delta))
    rng = np.random.default_rng(0)
    for t in range(1, rounds + 1):
        arm = session.enroll(f"u{t}", {"x": float(rng.normal())}).arm
        decision = session.respond(f"u{t}", {"z": float(rng.normal())})
        assert decision is not None
        session.complete(f"u{t}", float(rng.normal()) + (arm == "a") + 2 * (decision.arm == "b"))
    return session


def test_under_delay_a_unit_keeps_the_forced_estimate_of_its_own_block_at_late_stages() -> None:
    session = finished(DESIGN, 7)  # round 8, the last forced one of its block, is still out when round 9 comes
    session.enroll("u8", {"x": 0.3})
    first = session.enroll("u9", {"x": 0.1})  # the first free round: Q̃ is frozen here
    session.respond("u8", {"z": 1.0})
    session.complete("u8", 50.0)

    late = session.respond("u9", {"z": 0.5})
    second = session.enroll("u10", {"x": 0.1})

    assert late is not None
    twin = finished(DESIGN, 7)
    twin.enroll("u8", {"x": 0.3})
    assert twin.enroll("u9", {"x": 0.1}).q_tilde == first.q_tilde == second.q_tilde
    undisturbed = twin.respond("u9", {"z": 0.5})
    assert undisturbed is not None
    assert late.q_tilde == undisturbed.q_tilde
    assert late.q_hat != undisturbed.q_hat  # Q̂ uses everything observed by then


def test_a_later_block_has_a_forced_estimate_of_its_own() -> None:
    session = finished(DESIGN, 12)  # block 0 and 1 are forced, 2 is free, 3 (rounds 13 to 16) is forced
    before = session.enroll("probe", {"x": 0.4}).q_tilde
    for t in (14, 15, 16):
        unit(session, f"u{t}", x=0.2 * t, z=0.1 * t, y=3.0)
    session.respond("probe", {"z": 0.3})
    session.complete("probe", -9.0)

    after = session.enroll("u17", {"x": 0.4})

    assert (after.round, after.reason in ("clear", "close")) == (17, True)
    assert after.q_tilde != before


def test_a_sample_is_forced_only_if_the_scheduled_arm_was_given() -> None:
    session = dtr.Session(DESIGN, dtr.DTRBandit(q=1, delta=1.0))
    session.enroll("u1", {"x": 1.0})  # scheduled: a, then a
    session.override("u1", "b", reason="allergy")
    second = session.respond("u1", {"z": 2.0})
    session.complete("u1", 4.0)

    assert second is not None
    assert (second.arm, second.reason) == ("a", "forced")  # (b, a) is feasible: the rest of the plan stands
    tilde = {(c.stage, c.arm) for c in session.coefficients() if c.tilde is not None}
    hat = {(c.stage, c.arm) for c in session.coefficients() if c.hat is not None}
    assert tilde == {("second", "a")}
    assert hat == {("first", "b"), ("second", "a")}


def tilde_of(session: dtr.Session, stage: str, arm: str) -> list[float | None]:
    return [c.tilde for c in session.coefficients() if (c.stage, c.arm) == (stage, arm)]


def test_an_override_takes_a_sample_from_the_forced_ones_and_an_override_back_returns_it() -> None:
    session = dtr.Session(DESIGN, dtr.DTRBandit(q=1, delta=1.0))
    unit(session, "u1", x=1.0, z=0.0, y=3.0)  # scheduled: a, then a
    unit(session, "u2", x=2.0, z=0.0, y=1.0)  # scheduled: a, then b
    before = session.coefficients()

    session.override("u1", "b", reason="from the chart", stage="first")
    overridden = session.coefficients()
    alone = tilde_of(session, "first", "a")
    session.override("u1", "a", reason="chart was misread", stage="first")

    # Ỹ = max(3, 1) for both. Two rows (1, 1) and (1, 2): a flat line; the second alone: 3·(1, 2)/5.
    assert [c.tilde for c in before if (c.stage, c.arm) == ("first", "a")] == pytest.approx([3.0, 0.0], abs=1e-12)
    assert alone == pytest.approx([0.6, 1.2])
    assert [c.tilde for c in overridden if (c.stage, c.arm) == ("first", "b")] == [None, None]
    assert session.coefficients() == before


def test_a_late_override_counts_for_the_forced_estimate_before_it_is_frozen_and_not_after() -> None:
    early, late = finished(DESIGN, 8), finished(DESIGN, 8)
    early.override("u1", "b", reason="from the chart", stage="first")

    counted = early.enroll("u9", {"x": 0.5}).q_tilde  # the first free round: Q̃ is frozen here
    frozen = late.enroll("u9", {"x": 0.5}).q_tilde
    late.override("u1", "b", reason="from the chart", stage="first")

    assert counted != frozen
    assert late.enroll("u10", {"x": 0.5}).q_tilde == frozen


def test_a_forced_round_that_an_override_has_freed_does_not_freeze_the_forced_estimate() -> None:
    session = finished(THREE, 3)  # block 1 is rounds 4 to 6: aa, ab, bb
    session.enroll("u4", {"x": 0.2})
    session.override("u4", "b", reason="allergy")
    freed = session.respond("u4", {"z": 1.0})
    then = tilde_of(session, "first", "a")
    unit(session, "u5", x=1.0, z=0.5, y=20.0)
    unit(session, "u6", x=-1.0, z=0.1, y=-20.0)
    now = {arm: tilde_of(session, "first", arm) for arm in "ab"}

    free = session.enroll("u7", {"x": 0.5})

    assert freed is not None
    assert freed.reason == "only_feasible"
    assert free.reason in ("clear", "close")
    assert now["a"] != then
    for arm, (intercept, slope) in now.items():
        assert intercept is not None
        assert slope is not None
        assert free.q_tilde[arm] == pytest.approx(intercept + 0.5 * slope)


def test_freed_units_of_both_first_blocks_keep_the_forced_estimate_of_the_first_free_round() -> None:
    stages = [dtr.Stage("f", ("a", "b"), "1"), dtr.Stage("g", ("a", "b", "c"), "1")]
    design = dtr.Design(stages, plans=[tuple(plan) for plan in ("aa", "ab", "ac", "bb", "bc")])
    session, rng = dtr.Session(design, dtr.DTRBandit(q=1, delta=0.5)), np.random.default_rng(0)
    for t in range(60):
        session.enroll(f"u{t}", {})
        if t == 10:  # the first free round
            frozen = {c.arm: c.tilde for c in session.coefficients() if c.stage == "g"}
        if t in (0, 5):  # scheduled: a, then a; (b, a) is infeasible
            session.override(f"u{t}", "b", reason="allergy")
        else:
            session.respond(f"u{t}", {})
            session.complete(f"u{t}", float(rng.normal()))

    late = [session.respond(unit, {}) for unit in ("u0", "u5")]

    live = {c.arm: c.tilde for c in session.coefficients() if c.stage == "g"}
    for decision in late:
        assert decision is not None
        assert decision.reason in ("clear", "close")
        assert decision.q_tilde == frozen != live


def test_a_forced_sample_belongs_to_its_own_stage_when_an_earlier_one_was_free_for_a_while() -> None:
    stages = [dtr.Stage(name, ("a", "b"), "1") for name in ("s1", "s2", "s3")]
    design = dtr.Design(stages, plans=[tuple(plan) for plan in ("aab", "aba", "abb", "bba", "bbb")])
    session = dtr.Session(design, dtr.DTRBandit(q=1, delta=1.0))
    session.enroll("u1", {})  # scheduled: a, a, b
    session.override("u1", "b", reason="allergy")
    second = session.respond("u1", {}, stage="s2")
    session.override("u1", "a", reason="chart was misread", stage="s1")

    third = session.respond("u1", {}, stage="s3")
    session.complete("u1", 2.0)

    assert second is not None
    assert third is not None
    assert (second.arm, second.reason) == ("b", "only_feasible")
    assert (third.arm, third.reason) == ("b", "forced")  # (a, b, b) is feasible again
    tilde = {(c.stage, c.arm): c.tilde for c in session.coefficients()}
    assert {key: q for key, q in tilde.items() if q is not None} == {("s3", "b"): pytest.approx(2.0)}


@pytest.mark.parametrize("schedule", ["paper", "permuted"])
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("design", DESIGNS, ids=["one stage", "two stages", "three stages"])
def test_factors_behind_the_forced_estimate_are_bit_for_bit_those_of_its_rows_among_all(
    design: dtr.Design, seed: int, schedule: Any
) -> None:
    """Units are overridden, corrected and void; arms are contraindicated and closed."""
    state: Any = random_session(design, dtr.DTRBandit(q=2, delta=0.5, schedule=schedule), seed, 60)._belief.state
    scheduled, given = np.asarray(state.forced.scheduled), np.asarray(state.observed.arms)
    clean = (scheduled >= 0) & (scheduled == given) & np.asarray(state.learner.counted, dtype=np.bool_)

    factors = state.estimates().tilde_factors

    everyone = factors_by_arm(design, state.observed, np.arange(len(clean)), clean)
    assert clean.sum() > len(design.stages)
    assert [[own.tobytes() for own in arms] for arms in factors] == [
        [own.tobytes() for own in arms] for arms in everyone
    ]


def test_a_correction_changes_estimates_from_then_on_but_neither_decisions_nor_a_frozen_estimate() -> None:
    session = finished(DESIGN, 10)
    decisions = [event.decision for event in session.log if isinstance(event, Assigned)]
    before = session.enroll("u11", {"x": 0.4})

    session.correct("u1", outcome=100.0, reason="typing error")
    after = session.enroll("u12", {"x": 0.4})

    assert after.q_tilde == before.q_tilde
    assert after.q_hat != before.q_hat
    assert [event.decision for event in session.log if isinstance(event, Assigned)][: len(decisions)] == decisions
    live = [c.tilde for c in session.coefficients()]
    assert live != [c.tilde for c in finished(DESIGN, 10).coefficients()]


def test_a_void_forced_unit_leaves_the_estimate_that_learns_and_stays_in_a_frozen_one() -> None:
    session = finished(DESIGN, 10)
    before = session.enroll("u11", {"x": 0.4})

    session.void("u1", reason="not eligible")
    after = session.enroll("u12", {"x": 0.4})

    assert after.q_tilde == before.q_tilde
    assert after.q_hat != before.q_hat
    live = [c.tilde for c in session.coefficients()]
    assert live != [c.tilde for c in finished(DESIGN, 10).coefficients()]


def test_a_withdrawn_unit_keeps_the_rows_already_counted_and_adds_none() -> None:
    session = dtr.Session(DESIGN, dtr.Greedy())
    for name, y in (("u1", 1.0), ("u2", 2.0)):
        unit(session, name, x=y, z=y, y=y)
    session.enroll("u3", {"x": 5.0})
    session.respond("u3", {"z": 5.0})
    counted = session.coefficients()

    session.withdraw("u3", reason="moved away")

    assert session.coefficients() == counted
    assert counted != dtr.Session.resume(session.log[:13]).coefficients()


def test_ties_go_to_the_lowest_arm() -> None:
    session = dtr.Session(DESIGN, dtr.DTRBandit(q=1, delta=1.0))
    for t in range(8):  # every plan twice, with equal data
        unit(session, f"u{t}", x=0.3 + t // 4, z=0.7 * (t // 4), y=1.1 - t // 4)

    first = session.enroll("tie", {"x": 0.5})
    second = session.respond("tie", {"z": 0.5})

    assert second is not None
    assert first.q_hat["a"] == pytest.approx(first.q_hat["b"])
    assert second.q_hat["a"] == second.q_hat["b"]
    assert (second.arm, second.reason, second.contenders) == ("a", "close", ("a", "b"))


@pytest.mark.parametrize("policy", [dtr.DTRBandit(q=1, delta=1.0), dtr.Greedy(), dtr.LSVIUCB(beta=1.0)])
def test_a_tie_of_three_arms_goes_to_the_lowest(policy: dtr.DTRBandit | dtr.Greedy | dtr.LSVIUCB) -> None:
    session = dtr.Session(dtr.Design([dtr.Stage("only", ("a", "b", "c"), "1 + x")]), policy)
    for t in range(12):  # four data, each for all three arms
        arm = "cba"[t % 3]
        if session.enroll(f"u{t}", {"x": 0.3 * (t // 3)}).arm != arm:
            session.override(f"u{t}", arm, reason="to have equal data")
        session.complete(f"u{t}", 1.1 - t // 3)

    decision = session.enroll("tie", {"x": 0.5})

    assert decision.q_hat["a"] == decision.q_hat["b"] == decision.q_hat["c"]
    assert (decision.arm, decision.contenders) == ("a", ("a", "b", "c"))
    assert decision.reason in ("close", "greedy", "optimistic")


def test_an_arm_without_rows_does_not_win_by_a_zero() -> None:
    session = dtr.Session(DESIGN, dtr.Greedy())
    session.enroll("u1", {"x": 1.0})
    session.respond("u1", {"z": 1.0})
    session.complete("u1", -5.0)

    assert session.q_hat("second", {"z": 1.0}) == {"a": pytest.approx(-5.0), "b": None}
    assert [c.hat for c in session.coefficients() if c.stage == "first"][:2] == pytest.approx([-2.5, -2.5])
