"""Tails from elsewhere: followed as if resumed, refused without a trace. Interruption at any moment loses nothing."""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

import numpy as np
import pytest

import dtrbandit as dtr
from dtrbandit import belief
from dtrbandit.belief import without_collecting
from dtrbandit.policies.policy import Estimating
from dtrbandit.policies.registry import examples
from dtrbandit.record import Assigned, Completed, Enrolled, Event, Responded
from dtrbandit.record.histories import advance
from small_session import DESIGN


def course(session: dtr.Session, units: range) -> None:
    """Let units come and go, with leavers, withdrawals, overrides and corrections among them."""
    for t in units:
        draws = np.random.default_rng(t).normal(size=4).round(3).tolist()
        arm = session.enroll(f"u{t}", {"start1": draws[0]}).arm
        if t % 7 == 3:
            session.override(f"u{t}", "other" if arm == "ssri" else "ssri", reason="allergy")
        if t % 5 != 4:
            session.respond(f"u{t}", {"start2": draws[1], "end1": 9.0 if t % 4 else 2.0})
            if t % 11 == 6:
                session.withdraw(f"u{t}", reason="moved away")
            else:
                session.complete(f"u{t}", draws[2])
        if t % 6 == 5:
            session.correct(f"u{t - 5}", stage="first", context={"start1": draws[3]}, reason="misread")


def assert_same(found: dtr.Session, expected: dtr.Session) -> None:
    """Demand the same log, the same estimates and the same next decision, which is not taken."""
    assert found.version == expected.version
    assert found.log == expected.log
    if isinstance(expected.policy, Estimating):
        assert found.coefficients() == expected.coefficients()
    assert str(found.summary()) == str(expected.summary())
    command = dtr.Enroll("next", {"start1": 0.25})
    assert found.answer(command) == expected.answer(command)


@pytest.mark.parametrize("policy", examples(), ids=repr)
def test_following_a_tail_leads_where_resuming_the_whole_log_does(policy: Any) -> None:
    leader, follower = (dtr.Session(DESIGN, policy, seed=3) for _ in range(2))
    for start in (0, 20, 21):
        course(leader, range(start, start + (20 if start == 0 else 1)))
        follower.follow(iter(leader.since(follower.version)))

    assert_same(follower, leader)
    assert_same(dtr.Session.resume(list(follower.log)), leader)
    dtr.verify(follower.log)


def test_following_nothing_changes_nothing() -> None:
    session = dtr.Session(DESIGN, dtr.Greedy())
    course(session, range(5))
    before = dtr.Session.resume(session.log)

    session.follow([])

    assert_same(session, before)


def test_the_collector_rests_while_a_long_log_is_folded_and_goes_on_afterwards(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(belief, "LONG", 1_000)
    seen: list[bool] = []

    def look(*given: Any) -> Any:
        seen.append(gc.isenabled())
        return advance(*given)

    monkeypatch.setattr(belief, "advance", look)
    session = dtr.Session(DESIGN, dtr.Greedy())
    course(session, range(400))
    log = list(session.log)
    seen.clear()

    resumed = dtr.Session.resume(log)
    with pytest.raises(dtr.LogError):
        dtr.Session.resume([*log, log[-1]])

    assert len(seen) > len(log) > 1_000
    assert not any(seen)
    assert gc.isenabled()
    assert_same(resumed, session)


def broken(tail: list[Event], at: int) -> Iterator[tuple[str, list[Event]]]:
    """Give a tail with something wrong at its event ``at``."""
    event = tail[at]
    yield "twice", [*tail[:at], event, event, *tail[at + 1 :]]
    yield "no event", [*tail[:at], "Enrolled", *tail[at + 1 :]]  # type: ignore[list-item]
    if isinstance(event, Enrolled | Responded) and isinstance(tail[at + 1], Assigned):
        yield "cut off", tail[: at + 1]
        yield "no decision", [*tail[: at + 1], *tail[at + 2 :]]
    if isinstance(event, Assigned):
        yield "another arm", [*tail[:at], Assigned(event.decision._replace(arm="placebo")), *tail[at + 1 :]]
        yield "not due", [*tail[: at + 1], event, *tail[at + 1 :]]
        yield "no Decision", [*tail[:at], Assigned("ssri"), *tail[at + 1 :]]  # type: ignore[arg-type]
    if isinstance(event, Enrolled):
        yield "another round", [*tail[:at], event._replace(round=event.round + 1), *tail[at + 1 :]]
    if isinstance(event, Completed):
        yield "not a number", [*tail[:at], event._replace(outcome=float("nan")), *tail[at + 1 :]]
        yield "no text", [*tail[:at], event._replace(unit=["u0"]), *tail[at + 1 :]]  # type: ignore[arg-type]


@pytest.mark.parametrize("policy", [dtr.DTRBandit(q=1, delta=0.3), dtr.EpsilonGreedy(epsilon=0.2)], ids=repr)
def test_a_refused_tail_leaves_everything_as_it_was(policy: Any) -> None:
    leader = dtr.Session(DESIGN, policy, seed=3)
    course(leader, range(9))
    session, version = dtr.Session.resume(leader.log), leader.version
    course(leader, range(9, 13))
    tail = list(leader.since(version))
    cases = [case for at in range(len(tail)) for case in broken(tail, at)]
    before = dtr.Session.resume(session.log)

    for _, events in cases:
        with pytest.raises(dtr.LogError):
            session.follow(events)
        assert_same(session, before)

    assert {name for name, _ in cases} == {
        "twice", "no event", "cut off", "no decision", "another arm", "not due", "no Decision", "another round",
        "not a number", "no text",
    }  # fmt: skip
    session.follow(tail)
    assert_same(session, leader)


@contextmanager
def interrupted_at(step: int) -> Iterator[list[int]]:
    """Raise KeyboardInterrupt at this bytecode of the package, counted from 1; give how many began."""
    begun = [0]

    def trace(frame: FrameType, event: str, _: object) -> Callable[..., Any] | None:
        if "dtrbandit" not in frame.f_code.co_filename:
            return None
        frame.f_trace_opcodes = True
        if event == "opcode":
            begun[0] += 1
            if begun[0] == step:
                raise KeyboardInterrupt
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        yield begun
    finally:
        sys.settrace(before)


def follow_unless_followed(session: dtr.Session, tail: list[Event]) -> None:
    if session.log[-len(tail) :] != tail:
        session.follow(tail)


CALLS: dict[str, Callable[[dtr.Session, list[Event]], object]] = {
    "enroll": lambda session, _: session.enroll("new", {"start1": 0.5}),
    "complete": lambda session, _: session.complete("waiting", 1.5),
    "correct": lambda session, _: session.correct("u0", outcome=9.0, reason="typo"),
    "follow": follow_unless_followed,
}


@pytest.mark.slow
@pytest.mark.parametrize("call", CALLS)
def test_whatever_interrupts_a_session_all_or_nothing_has_happened_and_it_goes_on(call: str) -> None:
    past = dtr.Session(DESIGN, dtr.DTRBandit(q=1, delta=0.3), seed=3)
    course(past, range(6))
    past.enroll("waiting", {"start1": 0.1})
    past.respond("waiting", {"end1": 1.0})
    expected = dtr.Session.resume(past.log)
    course(expected, range(7, 9))
    tail = list(expected.since(past.version))
    expected = dtr.Session.resume(past.log)
    with interrupted_at(0) as begun:
        CALLS[call](expected, tail)

    for step in range(1, begun[0] + 1, 1 + begun[0] // 100):
        session = dtr.Session.resume(past.log)
        with pytest.raises(KeyboardInterrupt), interrupted_at(step):
            CALLS[call](session, tail)
        assert session.version in (past.version, expected.version)
        CALLS[call](session, tail)
        assert_same(session, expected)


# -- the garbage collector ---------------------------------------------------------------------------------------------


def test_the_collector_rests_only_while_much_is_read() -> None:
    for events, resting in ((10, True), (1_000_000, False)):
        with without_collecting(events):
            assert gc.isenabled() is resting
        assert gc.isenabled()
    with pytest.raises(ZeroDivisionError), without_collecting(1_000_000):
        raise ZeroDivisionError
    assert gc.isenabled()


def test_a_collector_that_was_off_stays_off() -> None:
    gc.disable()
    try:
        with without_collecting(1_000_000):
            assert not gc.isenabled()

        assert not gc.isenabled()
    finally:
        gc.enable()
