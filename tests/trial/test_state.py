"""Where a trial stands, and asks that are meant for one of its two logs."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import dtrbandit as dtr
from dtrbandit.record.events import Enrolled
from dtrbandit.trial import Ask, Taken, Trial
from trial.small_trial import address, begun

MEANT_FOR_REHEARSAL = Ask(dtr.Enroll("test", {"x": 1.0}), "nurse", "form-1", log="rehearsal")


def test_a_state_names_the_log_that_is_written_also_after_the_end() -> None:
    given_up, trial = begun("memory://"), begun("memory://")
    states = [trial.state]
    trial.lock(actor="lead", reason="approved")
    states.append(trial.state)
    trial.end(actor="lead", reason="complete")
    given_up.end(actor="lead", reason="no money")
    states += [trial.state, given_up.state]

    assert [(state.phase, state.log, state.head.sequence) for state in states] == [
        ("rehearsal", "rehearsal", 1),
        ("live", "live", 1),
        ("ended", "live", 2),
        ("ended", "rehearsal", 2),
    ]


def test_an_ask_for_the_log_that_is_written_is_taken() -> None:
    trial = begun("memory://")
    (before,) = trial.take([MEANT_FOR_REHEARSAL])
    trial.lock(actor="lead", reason="approved")
    (after,) = trial.take([MEANT_FOR_REHEARSAL._replace(log="live")])

    assert isinstance(before, Taken)
    assert isinstance(after, Taken)


def test_an_ask_for_the_rehearsal_is_refused_once_another_process_has_locked_the_trial(tmp_path: Path) -> None:
    """The handle that takes the ask has not looked since: what counts is the log in its turn."""
    with begun(address(tmp_path)) as one, Trial.open("pilot", storage=address(tmp_path)) as two:
        two.lock(actor="lead", reason="approved")
        refused, taken = one.take([MEANT_FOR_REHEARSAL, Ask(dtr.Enroll("real", {"x": 1.0}), log="live")])

        assert isinstance(refused, dtr.OtherLog)
        assert "was locked at 20" in str(refused)
        assert "nothing was recorded in the live trial" in str(refused)
        assert isinstance(taken, Taken)
        assert one.summary().units == 1


def test_a_repetition_of_what_was_recorded_in_the_rehearsal_is_refused_too() -> None:
    trial = begun("memory://")
    trial.take([MEANT_FOR_REHEARSAL])
    trial.lock(actor="lead", reason="approved")

    (answer,) = trial.take([MEANT_FOR_REHEARSAL])

    assert isinstance(answer, dtr.OtherLog)
    assert trial.head.sequence == 1


def test_no_ask_for_the_rehearsal_is_in_the_live_log_whenever_the_lock_comes(tmp_path: Path) -> None:
    locked = threading.Event()

    def hammer(trial: Trial) -> list[bool]:
        taken, after = list[bool](), 0
        while after < 3:  # so many more once the trial is locked
            after += locked.is_set()
            unit = f"{threading.get_ident()}-{len(taken)}"
            (answer,) = trial.take([Ask(dtr.Enroll(unit, {"x": 1.0}), log="rehearsal")])
            taken.append(isinstance(answer, Taken))
        return taken

    with begun(address(tmp_path)) as one, Trial.open("pilot", storage=address(tmp_path)) as two:
        with ThreadPoolExecutor(2) as threads:
            ways = [threads.submit(hammer, trial) for trial in (one, two)]
            one.lock(actor="lead", reason="approved")
            locked.set()
            answers = [way.result() for way in ways]

        assert one.head.sequence == 1
        assert sum(map(sum, answers)) == sum(isinstance(each.event, Enrolled) for each in one.rehearsal())
        assert all(each[-2:] == [False, False] for each in answers)


def test_a_trial_says_without_an_ask_whether_something_is_meant_for_its_log() -> None:
    trial = begun("memory://")
    trial.require_log("rehearsal")
    trial.lock(actor="lead", reason="approved")

    with pytest.raises(dtr.OtherLog, match="meant for its rehearsal"):
        trial.require_log("rehearsal")


@pytest.mark.parametrize(
    ("log", "error", "told"),
    [("live", dtr.OtherLog, "still in rehearsal"), ("lively", dtr.ObservationError, "found 'lively'")],
)
def test_an_ask_for_a_log_that_is_not_there_is_refused(log: str, error: type[Exception], told: str) -> None:
    trial = begun("memory://")

    (answer,) = trial.take([MEANT_FOR_REHEARSAL._replace(log=log)])

    assert isinstance(answer, error)
    assert told in str(answer)
    assert trial.head.sequence == 1


@pytest.mark.parametrize(
    ("log", "error", "told"),
    [("live", dtr.OtherLog, "a lock ends the rehearsal"), ("lively", dtr.ObservationError, "found 'lively'")],
)
def test_a_lock_that_is_meant_for_another_log_is_refused(log: str, error: type[Exception], told: str) -> None:
    trial = begun("memory://")

    with pytest.raises(error, match=told):
        trial.lock(actor="lead", reason="approved", log=log)
    assert (trial.phase, trial.head.sequence) == ("rehearsal", 1)

    trial.lock(actor="lead", reason="approved", log="rehearsal")
    with pytest.raises(error, match=told):
        trial.lock(actor="lead", reason="approved", log=log)


def test_a_lock_of_the_rehearsal_can_be_repeated_and_another_one_is_told_when_it_was_locked() -> None:
    trial = begun("memory://")
    for _ in range(2):
        trial.lock(actor="lead", reason="approved", log="rehearsal")

    with pytest.raises(dtr.OtherLog, match="the trial was locked at 20"):
        trial.lock(actor="lead", reason="approved again", log="rehearsal")
    assert trial.head.sequence == 1
