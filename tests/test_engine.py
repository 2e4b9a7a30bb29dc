"""Sessions: repeated calls, late facts, interruption, and what people read."""

from __future__ import annotations

import copy
import math
import pickle
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dtrbandit as dtr
from dtrbandit.policies import Choice
from dtrbandit.record import Assigned, Completed, History
from dtrbandit.record.events import REASONS, Fact

DESIGN = dtr.Design(
    [
        dtr.Stage("first", arms=("ssri", "other"), features="1 + start1"),
        dtr.Stage("second", arms=("ssri", "other"), features="1 + start2", enter_if="end1 > 5"),
    ],
    plans=[("ssri", "ssri"), ("ssri", "other"), ("other", "other")],
)


def test_repeating_any_call_returns_the_recorded_answer_and_writes_nothing() -> None:
    session = dtr.Session(DESIGN, dtr.DTRBandit(q=1, delta=1.0))
    calls: list[Any] = [
        lambda: session.enroll("u1", {"start1": 12}),
        lambda: session.override("u1", "other", reason="allergy"),
        lambda: session.respond("u1", {"start2": 9, "end1": 8}),
        lambda: session.complete("u1", -8.0),
        lambda: session.correct("u1", outcome=-7.0, reason="typo"),
        lambda: session.correct("u1", stage="first", context={"start1": 13.0}, reason="typo"),
        lambda: session.enroll("u2", {"start1": 12}),
        lambda: session.respond("u2", {"end1": 3.0}),
        lambda: session.complete("u2", -3.0),
        lambda: session.enroll("u3", {"start1": 12}),
        lambda: session.withdraw("u3", reason="moved away"),
    ]
    answers = [call() for call in calls]
    log = session.log

    assert [call() for call in calls] == answers
    assert session.log == log


def test_a_unit_leaves_early_with_only_the_columns_that_decide_it() -> None:
    session = dtr.Session(DESIGN, dtr.DTRBandit(q=1, delta=1.0))
    session.enroll("u1", {"start1": 12})

    assert session.respond("u1", {"end1": 4.0}) is None
    session.complete("u1", -4.0)

    assert session.coefficients()[0].hat == pytest.approx(-4.0 / 145)  # one row (1, 12): minimum norm


def test_with_three_stages_a_repeated_response_is_told_from_the_next_by_its_columns() -> None:
    stages = [dtr.Stage(f"s{m}", ("a", "b"), f"1 + x{m}") for m in range(3)]
    session = dtr.Session(dtr.Design(stages), dtr.DTRBandit(q=1, delta=1.0))
    session.enroll("u", {"x0": 1})
    second = session.respond("u", {"x1": 1})

    assert session.respond("u", {"x1": 1}) == second
    third = session.respond("u", {"x2": 1})
    assert session.respond("u", {"x1": 1}) == second
    assert session.respond("u", {"x2": 1}) == third
    assert len(session.log) == 7


def test_a_stage_that_observes_nothing_new_needs_its_name() -> None:
    stages = [
        dtr.Stage("s0", ("a", "b"), "1 + x"),
        dtr.Stage("s1", ("a", "b"), "1 + x"),
        dtr.Stage("s2", ("a", "b"), "1"),
    ]
    session = dtr.Session(dtr.Design(stages), dtr.DTRBandit(q=1, delta=1.0))
    session.enroll("u", {"x": 1})
    second = session.respond("u", {})

    with pytest.raises(dtr.ProtocolError, match="stage="):
        session.respond("u", {})
    assert session.respond("u", {}, stage="s1") == second
    third = session.respond("u", {}, stage="s2")
    assert session.respond("u", {}) == third


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


def some_session() -> dtr.Session:
    session = dtr.Session(DESIGN, dtr.DTRBandit(q=1, delta=0.1))
    rng = np.random.default_rng(0)
    for t in range(9):
        arm = session.enroll(f"u{t}", {"start1": float(rng.normal())}).arm
        if session.respond(f"u{t}", {"start2": float(rng.normal()), "end1": 9.0 if t % 4 else 2.0}):
            session.complete(f"u{t}", float(rng.normal()) + 3 * (arm == "other"))
    session.withdraw("u8", reason="moved away")  # it has left early
    session.enroll("in flight", {"start1": 0.0})
    return session


def test_a_decision_reads_well() -> None:
    text = str(some_session().enroll("in flight", {"start1": 0.0}))

    assert text.startswith("Unit in flight (round 10), stage first: give ")
    assert "Reason: " in text
    header = next(line for line in text.splitlines() if line.startswith("Estimated outcome"))
    assert header.split() == ["Estimated", "outcome", "forced", "rounds", "all", "units"]
    assert all(len(line) >= len(header) for line in text.splitlines()[-2:])
    assert max(map(len, text.splitlines())) <= 100


def test_every_reason_has_an_explanation() -> None:
    reasons = [
        "forced",
        "clear",
        "close",
        "greedy",
        "explore",
        "optimistic",
        "uniform",
        "rule",
        "only_feasible",
        "override",
    ]

    assert list(REASONS) == reasons


def test_a_summary_counts_units_arms_and_what_is_not_determined() -> None:
    session = dtr.Session(DESIGN, dtr.DTRBandit(q=1, delta=1.0))
    session.enroll("u1", {"start1": 1.0})
    session.respond("u1", {"start2": 1.0, "end1": 9.0})
    session.complete("u1", 2.0)
    session.enroll("u2", {"start1": 1.0})
    session.enroll("u3", {"start1": 1.0})
    session.respond("u3", {"end1": 1.0})

    summary = session.summary()

    assert summary.units == 3
    assert {name: n for name, n in summary.status.items() if n} == {
        "completed": 1,
        "awaiting the response at stage second": 1,
        "awaiting the outcome": 1,
    }
    assert summary.given == {"first": {"ssri": 2, "other": 1}, "second": {"ssri": 1, "other": 0}}
    assert summary.mean_outcome == 2.0
    gaps = {(gap.stage, gap.arm): (gap.features, gap.missing) for gap in summary.gaps if gap.estimate == "hat"}
    assert gaps["first", "ssri"] == (("1", "start1"), 1)
    assert gaps["second", "other"] == (("1", "start2"), 2)
    assert "Not determined yet" in str(summary)
    assert repr(summary) == str(summary)


def test_the_public_names_are_these() -> None:
    assert sorted(dtr.__all__) == sorted(
        [
            "DTRBandit", "DTRError", "Decision", "Design", "DesignError", "EpsilonGreedy", "FixedRegime", "Greedy",
            "LSVIUCB", "LogError", "NUMERICS", "ObservationError", "ProtocolError", "Session", "Stage",
            "Study", "StudyError", "StudyInterrupted", "UniformRandom", "__version__", "load_study", "read_log",
            "simulate", "suggested_beta", "verify", "write_log", "Cohort", "NotEstimable", "PropensityModel",
            "QLearning", "Replay", "replay", "Conflict", "Enroll", "Respond", "Complete", "Withdraw", "Override",
            "Correct", "Reply",
        ]
    )  # fmt: skip


def test_the_changelog_names_the_release_and_its_numerics() -> None:
    changelog = (Path(__file__).parents[1] / "CHANGELOG.md").read_text()

    assert f"## {dtr.__version__}" in changelog
    assert f"NUMERICS is {dtr.NUMERICS}" in changelog


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


@dataclass(frozen=True)
class Holding:
    """A policy that holds a built-in one, and so has its state: it halves outcomes, and may insist on an arm."""

    insists_on: int | None = None

    def init(self, design: dtr.Design) -> Any:
        return dtr.Greedy().init(design)

    def update(self, state: Any, history: History, event: Fact) -> Any:
        halved = event._replace(outcome=event.outcome / 2) if isinstance(event, Completed) else event
        return dtr.Greedy().update(state, history, halved)

    def decide(self, state: Any, history: History, u: float) -> Choice:
        chosen = dtr.Greedy().decide(state, history, u)
        arm = chosen.arm if self.insists_on is None else self.insists_on
        return Choice(arm, "rule", tuple(float(each == arm) for each in range(2)), (), chosen.q_hat or ())

    def estimates(self, state: Any) -> Any:
        return dtr.Greedy().estimates(state)


def test_a_policy_that_holds_a_built_in_one_is_not_trusted_with_its_arms() -> None:
    session = dtr.Session(DESIGN, Holding(insists_on=0))
    session.enroll("u1", {"start1": 12})
    session.override("u1", "other", reason="allergy")
    log = session.log

    with pytest.raises(dtr.DesignError, match="the policy chose arm 0"):  # other, ssri is no plan
        session.respond("u1", {"start2": 9, "end1": 8})

    assert session.log == log


def test_a_policy_that_holds_a_built_in_one_learns_its_own_way_when_resumed() -> None:
    session = dtr.Session(DESIGN, Holding())
    for unit in range(9):
        session.enroll(f"u{unit}", {"start1": 12.0 + unit})
        session.respond(f"u{unit}", {"start2": 9.0 - unit % 4, "end1": 8.0})
        session.complete(f"u{unit}", -8.0 + unit)

    resumed = dtr.Session.resume(session.log, policy=Holding())

    assert resumed.coefficients() == session.coefficients()
    assert resumed.coefficients() != dtr.Session.resume(_under_greedy(session)).coefficients()


def _under_greedy(session: dtr.Session) -> list[Any]:
    opened = dtr.Session(DESIGN, dtr.Greedy()).log[0]
    return [opened, *session.log[1:]]


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
class Says:
    """A policy that says whatever it is told to say."""

    choice: Any

    def init(self, design: dtr.Design) -> dtr.Design:
        return design

    def update(self, state: dtr.Design, history: History, event: Fact) -> dtr.Design:  # noqa: ARG002  # learns nothing
        return state

    def decide(self, state: dtr.Design, history: History, u: float) -> Any:  # noqa: ARG002  # looks at nothing
        return self.choice


FAIR = Choice(0, "coin", (0.5, 0.5))


@pytest.mark.parametrize(
    ("choice", "named"),
    [
        (None, "must return a Choice"),
        (FAIR._replace(q_hat=(1.0,)), "q_hat"),
        (FAIR._replace(q_tilde=(1.0, 2.0, 9.0), q_hat=(2.0, 4.0)), "q_tilde"),
        (FAIR._replace(q_hat=(math.inf, 1.0)), "q_hat"),
        (FAIR._replace(q_hat={"a": 1.0, "z": 2.0}), "q_hat"),
        (FAIR._replace(q_hat={"a": math.nan}), "q_hat"),
        (Choice(0, None, (0.5, 0.5)), "the reason None"),  # type: ignore[arg-type]  # on purpose
        (Choice(0, 5, (0.5, 0.5)), "the reason 5"),  # type: ignore[arg-type]  # likewise
        (FAIR._replace(contenders=(7,)), "the contenders"),
        (FAIR._replace(contenders=(-1,)), "the contenders"),
    ],
)
def test_a_choice_that_a_log_could_not_hold_is_refused(choice: Any, named: str) -> None:
    session = dtr.Session(dtr.Design([dtr.Stage("only", ("a", "b"), "1 + x")]), Says(choice))

    with pytest.raises(dtr.DesignError, match=named):
        session.enroll("u1", {"x": 1.0})

    assert session.version == 1


@pytest.mark.parametrize("estimates", [(1.0, None), {"a": 1.0, "b": None}, {"b": 2.0}, ()], ids=str)
def test_what_a_policy_of_ones_own_says_is_written_and_read_back(estimates: Any, tmp_path: Path) -> None:
    policy = Says(FAIR._replace(q_hat=estimates))
    session = dtr.Session(dtr.Design([dtr.Stage("only", ("a", "b"), "1 + x")]), policy)

    decision = session.enroll("u1", {"x": 1.0})
    dtr.write_log(tmp_path / "log.jsonl", session.log)
    read = dtr.read_log(tmp_path / "log.jsonl")

    assert read == session.log
    assert dtr.Session.resume(read, policy=policy).enroll("u1", {"x": 1.0}) == decision
    dtr.verify(read, policy=policy)


@pytest.mark.parametrize(
    "change",
    [
        {"q_hat": {"ssri": "x"}},
        {"q_hat": None},
        {"q_hat": {"ssri": math.nan}},
        {"q_tilde": {"elsewhere": 1.0}},
        {"propensity": "no"},
        {"propensity": 7.0},
        {"reason": []},
        {"reason": None},
        {"contenders": ["ssri"]},
        {"contenders": ("elsewhere",)},
    ],
    ids=str,
)
def test_a_decision_that_a_log_could_not_hold_is_not_followed(change: dict[str, Any]) -> None:
    session = some_session()
    other = dtr.Session.resume(session.log)
    other.enroll("new", {"start1": 12.0})
    arrival, assigned = other.since(session.version)
    version = session.version

    with pytest.raises(dtr.LogError, match=next(iter(change))):
        session.follow([arrival, Assigned(assigned.decision._replace(**change))])  # type: ignore[union-attr]

    assert session.version == version
    session.follow([arrival, assigned])
    assert session.log == other.log


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


def test_a_session_that_is_copied_while_another_thread_writes_is_not_torn() -> None:
    session, done = some_session(), threading.Event()

    def write() -> None:
        for unit in range(4_000):
            session.enroll(f"more {unit}", {"start1": float(unit)})
            if done.is_set():
                return

    thread = threading.Thread(target=write)
    thread.start()
    copies = [pickle.loads(pickle.dumps(session)) for _ in range(20)]
    done.set()
    thread.join()

    for each in copies:
        fresh = dtr.Session.resume(each.log)
        assert fresh.coefficients() == each.coefficients()
        found, expected = each._belief.state, fresh._belief.state
        assert found.observed.units[0] == expected.observed.units[0] == len(each._belief.histories)
