"""An arm is closed once and for good: nobody has it any more, and no max runs over it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dtrbandit as dtr
from dtrbandit.policies.registry import examples
from dtrbandit.record.codec import decode, encode
from dtrbandit.record.events import ArmClosed
from policies.states import differences

DESIGN = dtr.Design([dtr.Stage("first", ("a", "b"), "1 + x"), dtr.Stage("second", ("a", "b", "c"), "1 + z")])


def play(session: dtr.Session, rounds: range) -> None:
    for t in rounds:
        x, z, y = np.random.default_rng(t).normal(size=3).round(3).tolist()
        session.enroll(f"u{t}", {"x": x})
        session.respond(f"u{t}", {"z": z})
        session.complete(f"u{t}", y)


def given(session: dtr.Session, stage: str) -> list[str]:
    return [e.decision.arm for e in session.log if isinstance(e, dtr.record.Assigned) and e.decision.stage == stage]


@pytest.mark.parametrize("policy", examples(), ids=repr)
def test_no_decision_from_then_on_gives_a_closed_arm_and_all_ways_back_agree(policy: Any) -> None:
    session = dtr.Session(DESIGN, policy, seed=1)
    play(session, range(20))
    session.close_arm("second", "b", reason="harm")
    play(session, range(20, 60))

    assert "b" in given(session, "second")[:20]
    assert "b" not in given(session, "second")[20:]
    dtr.verify(session.log)
    resumed = dtr.Session.resume(session.log)
    followed = dtr.Session.resume(session.log[:1])
    whole = [n for n, event in enumerate(session.log) if not isinstance(event, dtr.record.Assigned)]
    for cut in (*whole[2::3], session.version):  # a few answers at a time
        followed.follow(session.log[followed.version : cut])
    for each in (resumed, followed):
        assert differences(each._belief.state, session._belief.state) == []
    for each in (session, resumed, followed):
        play(each, range(60, 70))
    assert session.log == resumed.log == followed.log


def test_a_closing_is_a_fact_in_the_log_the_summary_and_the_decision(tmp_path: Path) -> None:
    session = dtr.Session(DESIGN, dtr.Greedy())
    session.close_arm("second", "b", reason="harm")
    session.enroll("u", {"x": 1.0})
    decision = session.respond("u", {"z": 1.0})

    assert session.log[1] == ArmClosed("second", "b", "harm")
    assert encode(session.log[1]) == '{"arm":"b","event":"ArmClosed","format":2,"reason":"harm","stage":"second"}'
    assert decode(encode(session.log[1])) == session.log[1]
    assert "Arm b of stage second is closed: harm." in str(session.summary())
    assert decision is not None
    assert decision.infeasible == (("b", "closed"),)
    dtr.write_log(tmp_path / "log", session.log)
    assert dtr.Session.resume(dtr.read_log(tmp_path / "log")).log == session.log


def test_the_same_again_writes_nothing_and_another_reason_is_refused() -> None:
    session = dtr.Session(DESIGN, dtr.Greedy())
    session.close_arm("second", "b", reason="harm")

    session.close_arm("second", "b", reason="harm")
    with pytest.raises(dtr.ProtocolError, match=r"closed already \(harm\), found another reason, 'cost'"):
        session.close_arm("second", "b", reason="cost")

    assert session.version == 2


@pytest.mark.parametrize(
    ("stage", "arm", "words"),
    [("third", "a", r"the stages are \['first', 'second'\]"), ("first", "c", r"its arms are \['a', 'b'\]")],
)
def test_what_there_is_not_cannot_be_closed(stage: str, arm: str, words: str) -> None:
    session = dtr.Session(DESIGN, dtr.Greedy())

    with pytest.raises(dtr.ProtocolError, match=words):
        session.close_arm(stage, arm, reason="harm")
    with pytest.raises(dtr.ObservationError, match="close_arm: a reason must be"):
        session.close_arm("first", "a", reason="")

    assert session.version == 1


def test_the_last_arm_feasible_anywhere_cannot_be_closed_until_nothing_leads_there() -> None:
    design = dtr.Design(DESIGN.stages, plans=[tuple(plan) for plan in ("aa", "ab", "bb", "bc")])
    session = dtr.Session(design, dtr.UniformRandom())
    session.close_arm("second", "c", reason="cost")

    with pytest.raises(dtr.ProtocolError, match=r"'b' of stage 'second' cannot be closed: it is the last .* b;"):
        session.close_arm("second", "b", reason="harm")
    session.close_arm("first", "b", reason="it leads to b only")
    session.close_arm("second", "b", reason="harm")
    with pytest.raises(dtr.ProtocolError, match="last that is feasible"):
        session.close_arm("first", "a", reason="harm")

    assert session.enroll("u", {"x": 1.0}).reason == "only_feasible"


def test_a_unit_under_way_is_not_left_without_an_arm() -> None:
    session = dtr.Session(DESIGN, dtr.Greedy())
    session.enroll("in need", {"x": 1.0}, exclude={"second": ["a", "b"]}, reason="allergy")

    with pytest.raises(dtr.ProtocolError, match="unit 'in need', which is under way, would have no arm left"):
        session.close_arm("second", "c", reason="harm")
    session.withdraw("in need", reason="moved away")
    session.close_arm("second", "c", reason="harm")

    with pytest.raises(dtr.ProtocolError, match="no arm is left"):
        session.enroll("another", {"x": 1.0}, exclude={"second": ["a", "b"]}, reason="allergy")


def test_a_closed_arm_scheduled_for_a_unit_under_way_becomes_a_free_decision() -> None:
    session = dtr.Session(DESIGN, dtr.DTRBandit(q=1, delta=0.5))
    assert session.enroll("u1", {"x": 1.0}).reason == "forced"  # its plan is (a, a)
    session.close_arm("second", "a", reason="harm")

    decision = session.respond("u1", {"z": 1.0})

    assert decision is not None
    assert (decision.arm, decision.reason) == ("b", "close")


def test_slots_of_a_closed_plan_go_to_the_blocks_other_plans_in_order() -> None:
    session = dtr.Session(DESIGN, dtr.DTRBandit(q=2, delta=0.5))
    session.close_arm("second", "b", reason="harm")  # 2 of 6 plans
    play(session, range(25))

    plans = list(zip(given(session, "first"), given(session, "second"), strict=True))
    left = [("a", "a"), ("a", "c"), ("b", "a"), ("b", "c")]
    aa, ac, ba, bc = left
    assert plans[:12] == [aa, aa, aa, ac, ac, ac, ba, ba, ba, bc, bc, bc]
    reasons = [e.decision.reason for e in session.log if isinstance(e, dtr.record.Assigned)]
    assert set(reasons[:48]) == {"forced"}  # the first two blocks
    assert "forced" not in reasons[48:]  # they end where they did


def test_in_a_permuted_block_the_slots_of_closed_plans_are_shared_by_the_others() -> None:
    session = dtr.Session(DESIGN, dtr.DTRBandit(q=2, delta=0.5, schedule="permuted"), seed=3)
    session.close_arm("second", "b", reason="harm")
    first = session.enroll("u0", {"x": 1.0})
    assert first.propensity == pytest.approx(0.5)
    second = session.respond("u0", {"z": 1.0})
    session.complete("u0", 1.0)
    assert second is not None
    assert second.propensity == pytest.approx(0.5)
    play(session, range(1, 12))

    plans = list(zip(given(session, "first"), given(session, "second"), strict=True))
    counts = {plan: plans.count(plan) for plan in plans}
    assert sum(counts.values()) == 12
    assert set(counts.values()) == {3}  # 2 · 6 slots for 4 plans
    reasons = [e.decision.reason for e in session.log if isinstance(e, dtr.record.Assigned)]
    assert set(reasons) == {"forced"}


def test_units_keep_what_they_were_given_and_a_frozen_estimate_stays() -> None:
    policy = dtr.DTRBandit(q=1, delta=0.5)
    session = dtr.Session(DESIGN, policy)
    play(session, range(13))  # the first free round has frozen the estimate of the second block
    frozen = np.array(session._belief.state.tilde)[2]
    live = policy.estimates(session._belief.state).tilde

    session.close_arm("second", "c", reason="harm")

    assert np.array_equal(np.asarray(session._belief.state.tilde)[2], frozen, equal_nan=True)
    after = policy.estimates(session._belief.state).tilde
    assert after is not None
    assert live is not None
    assert np.array_equal(after[1], live[1], equal_nan=True)  # the last stage has no max after it
    assert not np.array_equal(after[0], live[0], equal_nan=True)
