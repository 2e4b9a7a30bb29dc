"""Trials: a session whose every fact is stored before it counts."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

import dtrbandit as dtr
from dtrbandit.record import Ended, History, Opened
from dtrbandit.storage import MemoryStore
from dtrbandit.trial import Ask, Taken, Trial
from small_session import Says
from trial.small_trial import DESIGN, POLICY, address, begun, fill


@pytest.fixture(params=["memory", "sqlite"])
def trial(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Trial]:
    with begun("memory://" if request.param == "memory" else address(tmp_path)) as made:
        yield made


def opened(trial: Trial) -> Opened:
    first = trial.session_log()[0]
    assert isinstance(first, Opened)
    return first


def test_a_trial_answers_as_a_session_does(trial: Trial) -> None:
    session = dtr.Session(DESIGN, POLICY, seed=1)

    fill(trial, 30)
    fill(session, 30)

    assert trial.session_log() == session.log
    assert trial.summary() == session.summary()
    assert trial.enroll("next", {"x": 0.5}) == session.enroll("next", {"x": 0.5})


def test_every_verb_is_a_session_verb(trial: Trial) -> None:
    for told in (trial, session := dtr.Session(DESIGN, POLICY, seed=1)):
        arm = told.enroll("u1", {"x": 1.0}).arm
        told.override("u1", "a" if arm == "b" else "b", reason="allergy")
        told.respond("u1", {"r": 1.0, "z": 2.0}, stage="second")
        told.complete("u1", 2.0)
        told.correct("u1", outcome=3.0, reason="typo")
        told.correct("u1", stage="first", context={"x": 2.0}, reason="typo")
        told.enroll("u2", {"x": 0.0})
        told.withdraw("u2", reason="moved away")
        told.enroll("u3", {"x": 0.0})
        told.hold(reason="a signal")
        told.release(reason="looked at")
        told.void("u3", reason="not eligible")
    trial.end(actor="lead", reason="enough")
    session.end(reason="enough")

    assert trial.session_log() == session.log
    assert trial.phase == "ended"


def test_records_have_an_actor_and_a_time(trial: Trial) -> None:
    trial.enroll("u1", {"x": 1.0}, actor="nurse")

    first, enrolled, assigned = trial.records()

    assert (first.actor, enrolled.actor, assigned.actor) == ("lead", "nurse", "nurse")
    assert first.time < enrolled.time == assigned.time  # type: ignore[operator]  # they have times
    assert [record.event for record in trial.records(1)] == trial.session_log()[1:]


def test_a_repetition_writes_nothing(trial: Trial) -> None:
    decision = trial.enroll("u1", {"x": 1.0})
    head = trial.head

    assert trial.enroll("u1", {"x": 1.0}) == decision
    assert trial.head == head


@pytest.mark.parametrize(
    "attempt",
    [
        lambda t: t.enroll("u1", {"x": 2.0}),
        lambda t: t.enroll("u9", {"x": float("nan")}),
        lambda t: t.enroll("u9", {"x": 1.0}, actor="\0"),
        lambda t: t.enroll("u9", {"x": 1.0}, actor="a" * 201),
        lambda t: t.complete("u1", 1.0),
        lambda t: t.complete("unknown", 1.0),
        lambda t: t.take(["no ask"])[0].nothing,
        lambda t: t.units(awaiting="third"),
        lambda t: t.unit("unknown"),
        lambda t: t.upgrade(actor=None, reason="why"),
    ],
)
def test_a_refused_call_changes_nothing(trial: Trial, attempt: Callable[[Trial], object]) -> None:
    trial.enroll("u1", {"x": 1.0})
    head, log = trial.head, list(trial.session_log())

    with pytest.raises((dtr.DTRError, AttributeError)):
        attempt(trial)

    assert (trial.head, list(trial.session_log())) == (head, log)


def test_an_unknown_unit_is_not_found(trial: Trial) -> None:
    with pytest.raises(dtr.NotFound, match="unknown unit 'u7'"):
        trial.complete("u7", 1.0)
    with pytest.raises(dtr.NotFound, match="unknown unit 'u7'"):
        trial.unit("u7")


# -- asks taken together -------------------------------------------------------------------------------------------


def test_asks_are_taken_in_order_and_a_refused_one_harms_nobody(trial: Trial) -> None:
    answers = trial.take(
        [
            Ask(dtr.Enroll("u1", {"x": 1.0}), "nurse"),
            Ask(dtr.Complete("u1", 1.0)),
            Ask(dtr.Enroll("u2", {"x": 2.0})),
            Ask(dtr.Respond("u1", {"r": 1.0, "z": 0.0})),
            Ask(dtr.Enroll("u1", {"x": 1.0})),
        ]
    )

    taken = [answer for answer in answers if isinstance(answer, Taken)]
    assert [type(answer).__name__ for answer in answers] == ["Taken", "ProtocolError", "Taken", "Taken", "Taken"]
    assert [len(answer.facts) for answer in taken] == [2, 2, 2, 0]
    assert [answer.repeated for answer in taken] == [False, False, False, True]
    assert taken[3].decision == taken[0].decision
    assert trial.head.sequence == 7
    assert trial.take([]) == []


def test_a_key_with_the_same_content_gets_the_recorded_reply(trial: Trial) -> None:
    ask = Ask(dtr.Enroll("u1", {"x": 1}), "nurse", "k1", "site")
    (first,) = trial.take([ask])
    head = trial.head

    again = trial.take([ask, ask._replace(command=dtr.Enroll("u1", {"x": 1.0})), ask._replace(actor="other")])

    assert isinstance(first, Taken)
    assert again == [first._replace(repeated=True)] * 3
    assert trial.head == head


def test_a_key_with_other_content_is_refused_and_belongs_to_its_owner(trial: Trial) -> None:
    ask = Ask(dtr.Enroll("u1", {"x": 1}), "nurse", "k1", "site")
    trial.take([ask])
    head = trial.head

    (refused,) = trial.take([ask._replace(command=dtr.Enroll("u2", {"x": 1}))])
    assert isinstance(refused, dtr.ProtocolError)
    assert "'k1' belongs to another request" in str(refused)
    assert trial.head == head
    (other,) = trial.take([Ask(dtr.Enroll("u2", {"x": 1}), key="k1", api_key="another site")])
    assert isinstance(other, Taken)
    assert not other.repeated


def test_a_key_works_within_the_same_batch(trial: Trial) -> None:
    ask = Ask(dtr.Enroll("u1", {"x": 1}), key="k1")

    first, again, other = trial.take([ask, ask, ask._replace(command=dtr.Enroll("u2", {"x": 1}))])

    assert isinstance(first, Taken)
    assert again == first._replace(repeated=True)
    assert isinstance(other, dtr.ProtocolError)


def test_a_refusal_is_not_kept_under_its_key(trial: Trial) -> None:
    trial.take([Ask(dtr.Complete("u1", 1.0), key="k1")])

    (taken,) = trial.take([Ask(dtr.Enroll("u1", {"x": 1}), key="k1")])

    assert isinstance(taken, Taken)


@pytest.mark.parametrize(
    "command",
    [
        dtr.Override("u1", "b", "allergy"),
        dtr.Respond("u1", {"r": -1.0}),
        dtr.Correct("u1", "typo", stage="first", context={"x": 3.0}),
        dtr.Withdraw("u1", "moved away"),
        dtr.Hold("a signal"),
    ],
)
def test_the_recorded_reply_is_the_first_one_also_after_reopening(tmp_path: Path, command: dtr.record.Command) -> None:
    trial = begun(address(tmp_path))
    while trial.enroll(f"u{trial.summary().units}", {"x": 0.0}).arm == "b":
        pass
    unit = f"u{trial.summary().units - 1}"
    if hasattr(command, "unit"):
        command = command._replace(unit=unit)  # type: ignore[call-arg]  # it has one
    (first,) = trial.take([Ask(command, key="k1")])
    assert isinstance(first, Taken), first
    trial.take(
        [
            Ask(dtr.Override(unit, "a", "given after all")),
            Ask(dtr.Correct(unit, "x", stage="first", context={"x": 9.0})),
        ]
    )
    trial.close()

    with Trial.open("pilot", storage=address(tmp_path)) as again:
        assert again.take([Ask(command, key="k1")]) == [first._replace(repeated=True)]


def test_a_policy_that_fails_refuses_one_ask_alone() -> None:
    trial = Trial.create("own", DESIGN, Says(None), storage="memory://")

    answers = trial.take([Ask(dtr.Enroll("u1", {"x": 1.0})), Ask(dtr.Hold("a signal"))])

    assert isinstance(answers[0], dtr.DesignError)
    assert isinstance(answers[1], Taken)


class Breaks(Says):
    """A policy that fails with an error of Python's."""

    def decide(self, state: dtr.Design, history: History, u: float) -> Any:  # noqa: ARG002  # looks at nothing
        raise ZeroDivisionError("by zero")


def test_any_error_of_a_policy_is_a_refusal() -> None:
    trial = Trial.create("own", DESIGN, Breaks(None), storage="memory://")

    with pytest.raises(dtr.DesignError, match="failed: ZeroDivisionError"):
        trial.enroll("u1", {"x": 1.0})

    assert trial.head.sequence == 1


# -- opening, locking, ending --------------------------------------------------------------------------------------


def test_a_reopened_trial_is_the_same_and_goes_on(tmp_path: Path) -> None:
    trial, session = begun(address(tmp_path)), dtr.Session(DESIGN, POLICY, seed=1)
    fill(trial, 40)
    fill(session, 40)
    trial.close()

    with Trial.open("pilot", storage=address(tmp_path)) as again:
        assert again.session_log() == session.log
        assert again.summary() == session.summary()
        assert again.enroll("next", {"x": 0.5}) == session.enroll("next", {"x": 0.5})


def test_two_handles_on_one_file_take_turns(tmp_path: Path) -> None:
    one, session = begun(address(tmp_path)), dtr.Session(DESIGN, POLICY, seed=1)
    with Trial.open("pilot", storage=address(tmp_path)) as two, one:
        for t in range(20):
            told = (one, two)[t % 2]
            assert told.enroll(f"u{t}", {"x": t / 7}) == session.enroll(f"u{t}", {"x": t / 7})
            other = (two, one)[t % 2]
            other.respond(f"u{t}", {"r": 1.0, "z": 0.5})
            session.respond(f"u{t}", {"r": 1.0, "z": 0.5})

        assert one.session_log() == two.session_log() == session.log
        assert one.head == two.head


def test_threads_take_turns(trial: Trial) -> None:
    ready = threading.Barrier(4)

    def enroll(site: int) -> list[int]:
        ready.wait()
        return [trial.enroll(f"s{site}-{n}", {"x": 1.0}).round for n in range(15)]

    with ThreadPoolExecutor(4) as threads:
        rounds = [t for each in threads.map(enroll, range(4)) for t in each]

    assert sorted(rounds) == list(range(1, 61))
    dtr.verify(trial.session_log())


def test_a_lock_begins_a_new_log_with_a_new_seed(trial: Trial) -> None:
    fill(trial, 8)
    rehearsed = opened(trial).seed

    trial.lock(actor="lead", reason="approved")

    assert trial.phase == "live"
    assert opened(trial).seed != rehearsed
    assert trial.head.sequence == 1
    assert trial.enroll("u1", {"x": 9.0}, actor="nurse").round == 1
    assert [record.event for record in trial.rehearsal()][-1] == Ended("approved")
    assert len(opened(trial).rehearsal or "") == 64


def test_a_lock_can_be_repeated_and_not_be_made_twice(trial: Trial) -> None:
    trial.lock(actor="lead", reason="approved")
    head = trial.head

    trial.lock(actor="lead", reason="approved")
    with pytest.raises(dtr.ProtocolError, match="cannot be locked: it is live"):
        trial.lock(actor="lead", reason="approved again")

    assert trial.head == head


def test_a_schedule_that_can_be_guessed_is_locked_only_when_told(tmp_path: Path) -> None:
    policy = dtr.DTRBandit(q=1, delta=0.5)
    trial = Trial.create("pilot", DESIGN, policy, storage=address(tmp_path))
    head = trial.head

    with trial, pytest.raises(dtr.ProtocolError, match='schedule="paper"'):
        trial.lock(actor="lead", reason="approved")

    with Trial.open("pilot", storage=address(tmp_path)) as again:
        assert (again.phase, again.head) == ("rehearsal", head)
        again.lock(actor="lead", reason="approved", paper_schedule=True, seed=7)
        assert (again.phase, opened(again).seed) == ("live", 7)


def test_a_lock_is_seen_by_another_handle(tmp_path: Path) -> None:
    with begun(address(tmp_path)) as one, Trial.open("pilot", storage=address(tmp_path)) as two:
        one.enroll("u1", {"x": 1.0})
        two.lock(actor="lead", reason="approved")

        assert one.enroll("u1", {"x": 2.0}).round == 1
        assert one.phase == "live"
        assert two.head == one.head


def test_an_ended_trial_is_neither_locked_nor_gone_on_with(trial: Trial) -> None:
    trial.end(actor="lead", reason="no money")

    with pytest.raises(dtr.ProtocolError, match="it is ended"):
        trial.lock(actor="lead", reason="approved")
    with pytest.raises(dtr.ProtocolError, match="the trial ended"):
        trial.enroll("u1", {"x": 1.0})
    trial.end(actor="lead", reason="no money")

    assert trial.head.sequence == 2


def test_seeds_come_from_the_operating_system_and_are_recorded() -> None:
    store = MemoryStore()

    seeds = {opened(Trial.create(f"t{n}", DESIGN, POLICY, storage=store)).seed for n in range(5)}

    assert len(seeds) == 5
    assert max(seeds) > 2**56


def test_several_trials_share_a_file(tmp_path: Path) -> None:
    with begun(address(tmp_path), name="one") as one, begun(address(tmp_path), name="two") as two:
        one.enroll("u1", {"x": 1.0})
        two.lock(actor="lead", reason="approved")

        assert Trial.names(address(tmp_path)) == ["one", "two"]
        assert (one.head.sequence, two.head.sequence) == (3, 1)


@pytest.mark.parametrize("name", ["", " a", "a\n", "a" * 201, None, "a/b", "pilot/units", "..", "."])
def test_a_name_is_a_short_text_that_an_address_can_hold(name: str, tmp_path: Path) -> None:
    with pytest.raises(dtr.DesignError, match="a trial's name"):
        Trial.create(name, DESIGN, POLICY, storage=address(tmp_path))

    assert not (tmp_path / "trial.db").exists()


def test_what_is_not_there_is_not_found_and_not_made(tmp_path: Path) -> None:
    for ask in (lambda: Trial.open("pilot", storage=address(tmp_path)), lambda: Trial.names(address(tmp_path))):
        with pytest.raises(dtr.NotFound, match="there is no file"):
            ask()
    assert list(tmp_path.iterdir()) == []
    begun(address(tmp_path)).close()

    with pytest.raises(dtr.NotFound, match="no trial 'other'; the trials here are 'pilot'"):
        Trial.open("other", storage=address(tmp_path))
    with pytest.raises(dtr.ProtocolError, match="there is a trial 'pilot' already"):
        begun(address(tmp_path))


def test_a_design_of_functions_is_given_again(tmp_path: Path) -> None:
    stage = dtr.Stage("only", ("a", "b"), _ones, columns=("x",))
    Trial.create("own", dtr.Design([stage]), POLICY, storage=address(tmp_path)).close()

    with pytest.raises(dtr.DesignError, match="pass the design itself"):
        Trial.open("own", storage=address(tmp_path))
    with Trial.open("own", storage=address(tmp_path), design=dtr.Design([stage])) as trial:
        assert trial.design == dtr.Design([stage])
        assert trial.policy == POLICY


def _ones(columns):  # type: ignore[no-untyped-def]  # a feature function
    import numpy as np

    return np.column_stack([np.ones_like(columns["x"]), columns["x"]])


# -- an earlier trial --------------------------------------------------------------------------------------------


def earlier() -> dtr.Cohort:
    """Return an earlier trial of which every unit has ended."""
    session = dtr.Session(DESIGN, POLICY, seed=9)
    fill(session, 40)
    for t in range(0, 40, 5):
        session.complete(f"u{t}", 1.5)
    return dtr.Cohort.from_log(session.log)


@pytest.mark.parametrize("storage", ["memory", "sqlite"])
def test_an_earlier_trial_teaches_a_rehearsal_as_it_teaches_a_session(storage: str, tmp_path: Path) -> None:
    place = "memory://" if storage == "memory" else address(tmp_path)
    with Trial.create("pilot", DESIGN, POLICY, storage=place, seed=1, prior=earlier()) as trial:
        session = dtr.Session(DESIGN, POLICY, seed=1, prior=earlier())

        fill(trial, 20)
        fill(session, 20)

        assert trial.session_log() == session.log
        assert trial.summary().taught == 40
        assert trial.unit("u3").round == 4
        assert trial.verify()


def test_an_earlier_trial_teaches_the_live_trial_too_and_the_rehearsal_does_not(tmp_path: Path) -> None:
    with Trial.create("pilot", DESIGN, POLICY, storage=address(tmp_path), seed=1, prior=earlier()) as trial:
        fill(trial, 20)
        trial.lock(actor="lead", reason="the first patient", seed=2)
        fill(trial, 15)
    session = dtr.Session(DESIGN, POLICY, seed=2, prior=earlier())
    fill(session, 15)

    with Trial.open("pilot", storage=address(tmp_path)) as again:
        assert list(again.session_log())[1:] == list(session.log)[1:]
        assert again.summary().taught == 40
        assert again.enroll("next", {"x": 0.5}) == session.enroll("next", {"x": 0.5})
        assert again.verify()


def test_what_cannot_teach_begins_no_trial(tmp_path: Path) -> None:
    with pytest.raises(dtr.DesignError, match="prior="):
        Trial.create("pilot", DESIGN, POLICY, storage=address(tmp_path), prior="a cohort")  # type: ignore[arg-type]  # the mistake

    assert not (tmp_path / "trial.db").exists()
