"""The ledger: the same as what a session knows, whether it is read at once or bit by bit."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NoReturn

import numpy as np
import pytest

import dtrbandit as dtr
from extras import needed
from web.course import STAGES, small_course

for module in ("starlette", "jinja2", "uvicorn"):
    needed(module)

from dtrbandit.record.events import Decision  # noqa: E402
from dtrbandit.web.ledger import (  # noqa: E402
    COMPLETED,
    FORCED,
    FREED,
    IN_FLIGHT,
    VOIDED,
    WITHDRAWN,
    Ledger,
    lead,
)


def ledger_of(trial: dtr.Trial) -> Ledger:
    return Ledger(trial.design, trial.session_log()[0]).follow(trial)


def columns(ledger: Ledger) -> list[object]:
    stages = [[each.tolist() for each in (*stage.columns(), stage.matrix())] for stage in ledger.stages]
    return [repr(stages), ledger.names, repr(ledger.outcomes), ledger.ends, ledger.forced, ledger.reasons]


def test_rows_are_what_a_session_knows_after_amendments() -> None:
    trial = small_course()
    ledger = ledger_of(trial)

    for record in dtr.Session.resume(trial.session_log()).histories:
        t = record.history.round
        outcome = None if record.voided else record.history.outcome
        assert ledger.outcomes[t - 1] == outcome or (outcome is None and math.isnan(ledger.outcomes[t - 1]))
        for m, arm in enumerate(record.history.arms):
            row = ledger.stages[m].rows[t]
            assert ledger.stages[m].arms[row] == (arm if record.voided is None else -1)
            assert ledger.reasons[ledger.stages[m].reasons[row]] == record.decisions[m].reason
            if record.voided is None:
                np.testing.assert_array_equal(ledger.stages[m].matrix()[row], record.history.features[m])


def test_ends_and_what_concerns_the_trial_are_counted() -> None:
    ledger = ledger_of(small_course())

    assert [ledger.count(how) for how in (IN_FLIGHT, COMPLETED, WITHDRAWN, VOIDED)] == [1, 38, 1, 1]
    assert ledger.units == 41
    assert ledger.settled() == 40
    assert ledger.held == {None: "review"}
    assert [(each.stage, each.arm) for each in ledger.closed] == [("second", "b")]


def test_a_ledger_that_follows_step_by_step_is_the_same() -> None:
    """After each unit, so that amendments meet rows that were read before."""
    trial = dtr.Trial.create("steps", dtr.Design(STAGES), dtr.DTRBandit(q=2, delta=1.0), storage="memory://", seed=3)
    ledger = ledger_of(trial)
    steps: list[Callable[[], object]] = [
        lambda: trial.enroll("u1", {"x": 1.0}),
        lambda: trial.override("u1", "b", reason="allergy"),
        lambda: trial.respond("u1", {"z": 0.5}),
        lambda: trial.correct("u1", reason="wrong", stage="first", context={"x": 3.0}),
        lambda: trial.complete("u1", 1.0),
        lambda: trial.correct("u1", reason="wrong", outcome=2.0),
        lambda: trial.hold(reason="review"),
        lambda: trial.hold(reason="no room", site="north"),
        lambda: trial.release(reason="reviewed"),
        lambda: trial.enroll("u2", {"x": -1.0}),
        lambda: trial.void("u2", reason="not eligible"),
    ]

    for step in steps:
        step()
        ledger = ledger.follow(trial)

        assert columns(ledger) == columns(ledger_of(trial))
    assert ledger.held == {"north": "no room"}
    assert ledger.version == len(trial.session_log())


def test_a_database_that_is_away_meanwhile_counts_nothing_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    trial = small_course()
    ledger = Ledger(trial.design, trial.session_log()[0])

    def away(*_: object) -> NoReturn:
        raise dtr.Unavailable("the database is away")

    with monkeypatch.context() as fault:
        fault.setattr(trial, "unit", away)
        for _ in range(2):
            with pytest.raises(dtr.Unavailable):
                ledger.follow(trial)

    assert columns(ledger.follow(trial)) == columns(ledger_of(trial))


def test_a_locked_trial_begins_a_new_ledger() -> None:
    trial = small_course()
    ledger = ledger_of(trial)
    trial.lock(actor="chair", reason="approved")

    live = ledger.follow(trial)

    assert (ledger.units, live.units) == (41, 0)
    trial.end(actor="chair", reason="complete")
    assert live.follow(trial).ended == "complete"


@pytest.mark.parametrize(
    ("q_tilde", "infeasible", "expected"),
    [
        ({"a": 3.0, "b": 1.0, "c": 2.5}, (), 0.5),
        ({"a": 3.0, "b": 1.0, "c": 2.5}, (("c", "closed"),), 2.0),
        ({"a": 3.0, "b": None}, (), math.nan),
        ({}, (), math.nan),
    ],
)
def test_a_lead_is_over_the_next_best_arm_that_is_feasible(
    q_tilde: dict[str, float | None], infeasible: tuple[tuple[str, str], ...], expected: float
) -> None:
    decision = Decision("u", 1, "first", "a", "clear", 1.0, q_tilde, {}, ("a",), infeasible)

    np.testing.assert_equal(lead(decision), expected)


def test_a_forced_round_that_is_decided_freely_later_is_no_forced_round() -> None:
    """As for ``cohort.forced()``: a later decision that was the only one possible counts as forced."""
    design = dtr.Design([dtr.Stage("first", ("a", "b"), "1"), dtr.Stage("second", ("a", "b", "c"), "1")])
    trial = dtr.Trial.create("freed", design, dtr.DTRBandit(q=1, delta=1.0), storage="memory://", seed=0)
    barred = {"kept": None, "freed": {"second": ["b"]}, "single": {"second": ["a", "c"]}}
    for unit, exclude in barred.items():
        trial.enroll(unit, {})
        trial.respond(unit, {}, stage="second", exclude=exclude, reason="allergy" if exclude else None)

    ledger = ledger_of(trial)

    assert [trial.unit(unit).decisions[1].reason for unit in barred] == ["forced", "close", "only_feasible"]
    assert list(ledger.forced) == [FORCED, FREED, FORCED]
