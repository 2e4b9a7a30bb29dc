"""Sessions: answers and beliefs, recovery, interruption, threads and copies."""

from __future__ import annotations

import copy
import pickle
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

import dtrbandit as dtr
from dtrbandit.policies import Choice
from dtrbandit.record import Assigned, Completed, History
from dtrbandit.record.events import Fact
from small_session import DESIGN, FAIR, Says, some_session


def test_rounds_are_gapless_and_arrival_order_changes_no_uniform_number() -> None:
    def arms(order: list[str]) -> dict[str, str | None]:
        session = dtr.Session(DESIGN, dtr.UniformRandom(), seed=4)
        for t in range(8):
            assert session.enroll(f"u{t}", {"start1": 1.0}).round == t + 1
        second = {u: session.respond(u, {"start2": 1.0, "end1": 9.0}) for u in order}
        return {u: d and d.arm for u, d in second.items()}

    names = [f"u{t}" for t in range(8)]

    assert arms(names) == arms(names[::-1])


@dataclass
class Fragile:
    """A policy whose update fails for one unit, after half its work."""

    def init(self, design: dtr.Design) -> list[str]:  # noqa: ARG002
        return []

    def update(self, state: list[str], history: History, event: Fact) -> list[str]:
        state.append(f"{history.unit} {type(event).__name__}")
        if isinstance(event, Completed) and history.unit == "bad":
            raise KeyboardInterrupt
        return state

    def decide(self, state: list[str], history: History, u: float) -> Choice:  # noqa: ARG002
        arm = history.feasible.index(True)
        return Choice(arm, "first", tuple(float(a == arm) for a in range(len(history.feasible))))


def test_an_interrupted_update_leaves_neither_half_a_fact_nor_a_lost_one() -> None:
    session = dtr.Session(DESIGN, Fragile())
    for unit in ("good", "bad"):
        session.enroll(unit, {"start1": 1.0})
        session.respond(unit, {"end1": 2.0})
    log = session.log

    with pytest.raises(KeyboardInterrupt):
        session.complete("bad", 1.0)

    assert session.log == log
    session.complete("good", 1.0)
    assert "bad Completed" not in session._belief.state
    assert session._belief.state.count("good Completed") == 1
    assert session.log[: len(log)] == log


def test_a_callable_design_resumes_with_the_design_given() -> None:
    def design() -> dtr.Design:
        return dtr.Design([dtr.Stage("s", ("a", "b"), lambda c: np.column_stack([c["x"] ** 2]), columns=("x",))])

    own = design()
    session = dtr.Session(own, dtr.Greedy())
    session.enroll("u1", {"x": 2.0})
    session.complete("u1", 8.0)

    resumed = dtr.Session.resume(session.log, design=own)

    assert resumed.q_hat("s", {"x": 3.0}) == {"a": pytest.approx(18.0), "b": None}
    with pytest.raises(dtr.DesignError, match="design="):
        dtr.Session.resume(session.log)


def test_q_hat_takes_earlier_arms_by_label_and_names_what_is_missing() -> None:
    stages = [dtr.Stage("first", ("a", "b"), "1"), dtr.Stage("second", ("a", "b"), "0 + C(first)")]
    session = dtr.Session(dtr.Design(stages), dtr.Greedy())
    session.enroll("u1", {})
    session.respond("u1", {})
    session.complete("u1", 6.0)

    assert session.q_hat("second", {"first": "a"}) == {"a": pytest.approx(6.0), "b": None}
    with pytest.raises(dtr.ObservationError, match="'first'"):
        session.q_hat("second", {})
    with pytest.raises(dtr.ObservationError, match="'z'"):
        session.q_hat("second", {"first": "z"})


def test_a_policy_without_estimates_says_so() -> None:
    session = dtr.Session(DESIGN, dtr.UniformRandom())

    with pytest.raises(dtr.ProtocolError, match="estimates nothing"):
        session.coefficients()
    assert "0 units enrolled" in str(session.summary())


@pytest.mark.parametrize("policy", [dtr.Greedy, 3, None])
def test_a_session_refuses_what_is_no_policy(policy: Any) -> None:
    design = some_session().design

    with pytest.raises(dtr.DesignError, match=r"needs a policy such as Greedy\(\), found"):
        dtr.Session(design, policy)


def test_recovery_never_decides_again() -> None:
    session = some_session()
    log = list(session.log)
    at = next(i for i, event in enumerate(log) if isinstance(event, Assigned) and event.decision.reason == "clear")
    decision = log[at].decision  # type: ignore[union-attr]
    other = "other" if decision.arm == "ssri" else "ssri"
    log[at:] = [Assigned(decision._replace(arm=other))]

    resumed = dtr.Session.resume(log)

    assert resumed.log[-1] == log[-1]
    with pytest.raises(dtr.LogError, match=f"event {at + 1} "):
        dtr.verify(log)


# -- answer, then believe ----------------------------------------------------------------------------------------


def test_an_answer_changes_nothing_and_a_write_that_fails_leaves_the_session_as_it_was() -> None:
    session, twin = some_session(), some_session()
    belief = session._belief

    for command in (dtr.Enroll("next", {"start1": 1.0}), dtr.Complete("u0", 0.5), dtr.Correct("u1", "typo", 9.0)):
        reply = session.answer(command)
        assert reply.facts
        # here a store would fail to write the facts: nothing more happens

    assert session._belief is belief  # nothing was read again
    assert session.log == twin.log
    assert session.coefficients() == twin.coefficients()
    assert session.enroll("next", {"start1": 1.0}) == twin.enroll("next", {"start1": 1.0})


def test_a_reply_is_believed_once_and_not_after_something_else() -> None:
    session = some_session()
    first = session.answer(dtr.Enroll("x", {"start1": 1.0}))
    second = session.answer(dtr.Enroll("y", {"start1": 1.0}))
    session.believe(second)
    log = session.log

    for stale in (first, second):
        with pytest.raises(dtr.Conflict, match=rf"version {stale.version}.* version {session.version}; follow"):
            session.believe(stale)

    assert session.log == log
    again = session.answer(dtr.Enroll("x", {"start1": 1.0}))
    session.believe(again)
    assert session.enroll("x", {"start1": 1.0}) == again.decision


def test_a_reply_without_facts_is_never_a_conflict() -> None:
    session = some_session()
    repetition = session.answer(dtr.Enroll("in flight", {"start1": 0.0}))
    session.enroll("y", {"start1": 1.0})
    log = session.log

    session.believe(repetition)

    assert session.log == log


def elsewhere(session: dtr.Session, command: Any) -> dtr.Reply:
    return dtr.Session.resume(session.log).answer(command)


def unpickled(session: dtr.Session, command: Any) -> dtr.Reply:
    reply: dtr.Reply = pickle.loads(pickle.dumps(session.answer(command)))
    return reply


def answered_before(session: dtr.Session, command: Any) -> dtr.Reply:
    reply = session.answer(command)
    session.answer(dtr.Enroll("another", {"start1": 0.5}))
    return reply


@pytest.mark.parametrize("answered", [elsewhere, unpickled, answered_before])
@pytest.mark.parametrize(
    "command",
    [
        dtr.Enroll("next", {"start1": 1.0}),
        dtr.Respond("in flight", {"end1": 2.0}),
        dtr.Respond("in flight", {"start2": 1.0, "end1": 8.0}),
        dtr.Correct("u1", "typo", 9.0),
    ],
)
def test_a_reply_from_elsewhere_leads_where_the_verb_does(
    answered: Callable[[dtr.Session, Any], dtr.Reply], command: Any
) -> None:
    session, twin = some_session(), some_session()

    session.believe(answered(session, command))

    twin.believe(twin.answer(command))
    assert session.log == twin.log
    assert session.coefficients() == twin.coefficients()


def test_a_reply_that_does_not_fit_is_refused_and_changes_nothing() -> None:
    session, twin = some_session(), some_session()
    enrolled, assigned = session.answer(dtr.Enroll("next", {"start1": 1.0})).facts
    version = session.version

    for facts in ((enrolled,), (assigned,), (assigned, enrolled), (enrolled, assigned, assigned)):
        with pytest.raises(dtr.LogError):
            session.believe(dtr.Reply(facts, None, version))
        assert session.log == twin.log
    with pytest.raises(dtr.ProtocolError, match="no Reply"):
        session.believe((enrolled, assigned))  # type: ignore[arg-type]

    assert session.coefficients() == twin.coefficients()
    assert session.enroll("next", {"start1": 1.0}) == twin.enroll("next", {"start1": 1.0})


def test_since_gives_the_tail_after_a_version() -> None:
    session = some_session()

    assert session.version == len(session.log)
    assert session.since(0) == session.log
    assert session.since(5) == list(session.log)[5:]
    assert session.since(session.version) == []
    for version in (-1, session.version + 1, 1.0, None):
        with pytest.raises(dtr.ProtocolError, match=f"the versions 0 to {session.version}"):
            session.since(version)  # type: ignore[arg-type]


# -- threads and copies --------------------------------------------------------------------------------------------


def test_threads_take_turns_on_one_session() -> None:
    session = dtr.Session(DESIGN, dtr.DTRBandit(q=1, delta=0.1))
    workers, units = 8, 40
    begin = threading.Barrier(workers)

    def work(worker: int) -> int:
        begin.wait()
        for number in range(units):
            unit = f"{worker} {number}"
            session.enroll(unit, {"start1": number / units})
            session.enroll(f"everybody's {number}", {"start1": 0.5})
            if session.respond(unit, {"start2": worker / workers, "end1": 9.0 if number % 3 else 1.0}):
                session.correct(unit, stage="first", context={"start1": 1.5}, reason="misread")
            session.complete(unit, number / 7)
            assert session.log[-1] is not None
            session.coefficients()
        return len(session.since(session.version))

    with ThreadPoolExecutor(workers) as pool:
        list(pool.map(work, range(workers)))

    assert session.summary().units == (workers + 1) * units
    dtr.verify(session.log)
    resumed = dtr.Session.resume(session.log)
    assert resumed.coefficients() == session.coefficients()
    assert resumed.enroll("next", {"start1": 1.0}) == session.enroll("next", {"start1": 1.0})


def test_a_session_waits_while_another_thread_is_in_a_verb_and_another_session_does_not() -> None:
    session, other = some_session(), some_session()
    entered, leave = threading.Event(), threading.Event()

    class Slow(dict[str, float]):
        def items(self) -> Any:
            entered.set()
            leave.wait(10)
            return super().items()

    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(session.enroll, "slow", Slow(start1=1))
        assert entered.wait(10)
        second = pool.submit(session.enroll, "quick", {"start1": 1.0})
        other.enroll("quick", {"start1": 1.0})
        assert not second.done()
        leave.set()
        assert first.result(10).round < second.result(10).round


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda session: pickle.loads(pickle.dumps(session))])
def test_a_copy_of_a_session_goes_its_own_way(copied: Callable[[dtr.Session], dtr.Session]) -> None:
    session = some_session()
    log = list(session.log)

    twin = copied(session)

    assert twin.log == session.log
    assert twin.enroll("next", {"start1": 1.0}) == session.enroll("next", {"start1": 1.0})
    twin.withdraw("next", reason="moved away")
    session.respond("next", {"end1": 1.0})
    assert twin.log[: len(log)] == log
    dtr.verify(twin.log)
    dtr.verify(session.log)


@dataclass(frozen=True)
class Nested(Says):
    """Calls a verb of its own session while it decides, or reads while it learns."""

    where: list[str] = field(default_factory=list, compare=False)
    sessions: list[dtr.Session] = field(default_factory=list, compare=False)

    def update(self, state: dtr.Design, history: History, event: Fact) -> dtr.Design:
        if "update" in self.where:
            self.sessions[0].summary()
        return super().update(state, history, event)

    def decide(self, state: dtr.Design, history: History, u: float) -> Any:
        if "decide" in self.where:
            self.sessions[0].enroll("inner", {"x": 2.0})
        return super().decide(state, history, u)


@pytest.mark.parametrize("where", ["decide", "update"])
def test_a_verb_inside_a_verb_is_refused(where: str) -> None:
    policy = Nested(FAIR, where=[where])
    session = dtr.Session(dtr.Design([dtr.Stage("only", ("a", "b"), "1 + x")]), policy)
    policy.sessions.append(session)

    with pytest.raises(dtr.ProtocolError, match="under way in this thread"):
        session.enroll("u1", {"x": 1.0})

    policy.where.clear()
    assert session.version == 1
    assert session.enroll("u1", {"x": 1.0}).round == 1
    assert [type(event).__name__ for event in session.log] == ["Opened", "Enrolled", "Assigned"]


@pytest.mark.slow
def test_a_session_that_is_copied_while_another_thread_writes_is_not_torn() -> None:
    session, done = some_session(), threading.Event()

    def write() -> None:
        for unit in range(4_000):
            session.enroll(f"more {unit}", {"start1": float(unit)})
            if done.is_set():
                return

    thread = threading.Thread(target=write)
    thread.start()
    copies = [pickle.loads(pickle.dumps(session)) for _ in range(6)]
    done.set()
    thread.join()

    for each in copies:
        fresh = dtr.Session.resume(each.log)
        assert fresh.coefficients() == each.coefficients()
        found, expected = each._belief.state, fresh._belief.state
        assert found.observed.units == expected.observed.units == len(each._belief.histories)
