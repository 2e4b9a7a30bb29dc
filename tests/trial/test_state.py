"""Where a trial stands, and asks that are meant for one of its two logs."""

from __future__ import annotations

from pathlib import Path

import pytest

import dtrbandit as dtr
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
