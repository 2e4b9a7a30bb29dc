"""The ledger: a naive count over the log, whether it is kept fact by fact, read at once, or from a snapshot."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dtrbandit as dtr
from dtrbandit.record.events import Decision
from dtrbandit.trial import Ask, Trial, followed
from dtrbandit.trial.ledger import COMPLETED, FORCED, FREED, IN_FLIGHT, VOIDED, WITHDRAWN, lead
from effort import seeded
from random_course import DESIGN, Earlier, next_command
from trial.plain_ledger import NaiveLedger, plain
from trial.small_trial import address, begun
from trial.snapshot_files import opened_from, take_snapshot
from web.course import small_course

POLICY = dtr.DTRBandit(q=2, delta=1.0, schedule="permuted")


def go_on(trial: Trial, rng: np.random.Generator, steps: int) -> None:
    for _ in range(steps):
        trial.take([Ask(next_command(trial._log.belief.histories, rng))])


@seeded(16)
def test_a_ledger_is_a_naive_count_over_the_log_also_from_a_snapshot(
    seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    address, rng = f"sqlite:///{tmp_path}/trial.db", np.random.default_rng(seed)
    prior = Earlier() if seed % 2 else None
    with Trial.create("pilot", DESIGN, POLICY, storage=address, seed=seed, prior=prior) as trial:
        for _ in range(4):
            go_on(trial, rng, 30)
            expected = NaiveLedger(trial).plain()
            assert plain(trial.ledger()) == expected
        monkeypatch.setattr(followed, "AT_THE_END", 1)

    with Trial.open("pilot", storage=address) as again:
        assert again._log.unchecked == again.head  # a snapshot stands for all of it
        assert plain(again.ledger()) == expected
        assert again.ledger().version == again.head.sequence
        go_on(again, rng, 30)
        again.end(actor=None, reason="complete")
        assert plain(again.ledger()) == NaiveLedger(again).plain()


def test_ends_and_what_concerns_the_trial_are_counted() -> None:
    ledger = small_course().ledger()

    assert [ledger.count(how) for how in (IN_FLIGHT, COMPLETED, WITHDRAWN, VOIDED)] == [1, 38, 1, 1]
    assert ledger.units == 41
    assert ledger.settled() == 40
    assert ledger.held == {None: "review"}
    assert [(each.stage, each.arm) for each in ledger.closed] == [("second", "b")]


def test_sites_that_are_held_stand_in_the_same_order_from_a_snapshot(tmp_path: Path) -> None:
    with begun(address(tmp_path)) as trial:
        for act, site in ((trial.hold, "b"), (trial.hold, "a"), (trial.release, "b"), (trial.hold, "b")):
            act(reason="staff", site=site)
        held = list(trial.ledger().held)
        take_snapshot(trial)

    with Trial.open("pilot", storage=address(tmp_path)) as again:
        assert opened_from(again) == again.head.sequence
        assert list(again.ledger().held) == held == list(again.summary().held_sites)


def test_a_copy_stays_as_it_is_and_the_trial_goes_on() -> None:
    trial = small_course()
    before = trial.ledger()
    columns, version = plain(before), before.version

    trial.respond("late", {"z": -2.0})
    trial.complete("late", 1.0)
    trial.correct("u1", reason="typed wrongly", outcome=9.0)
    trial.release(reason="reviewed")

    assert (plain(before), before.version) == (columns, version)
    assert trial.ledger().version == version + 4
    assert plain(trial.ledger()) == NaiveLedger(trial).plain()


def test_a_failed_append_counts_nothing_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    trial = small_course()
    expected = plain(trial.ledger())

    def away(*_: object) -> None:
        raise dtr.Unavailable("the database is away")

    with monkeypatch.context() as fault:
        fault.setattr(type(trial._log.storage), "append", away)
        for _ in range(2):
            with pytest.raises(dtr.Unavailable):
                trial.void("u1", reason="twice")

    assert plain(trial.ledger()) == expected
    trial.void("u1", reason="twice")
    assert plain(trial.ledger()) == NaiveLedger(trial).plain()


def test_a_locked_trial_begins_a_new_ledger() -> None:
    trial = small_course()
    rehearsal = trial.ledger()
    trial.lock(actor="chair", reason="approved")

    assert (rehearsal.units, trial.ledger().units) == (41, 0)
    trial.end(actor="chair", reason="complete")
    assert trial.ledger().ended == "complete"


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

    ledger = trial.ledger()

    assert [trial.unit(unit).decisions[1].reason for unit in barred] == ["forced", "close", "only_feasible"]
    assert list(ledger.forced) == [FORCED, FREED, FORCED]


def test_a_policy_may_have_any_number_of_reasons() -> None:
    class Chatty:
        def init(self, design: dtr.Design) -> dtr.Design:
            return design

        def update(self, state: Any, history: Any, event: Any) -> Any:  # noqa: ARG002  # learns nothing
            return state

        def decide(self, state: Any, history: Any, u: float) -> Any:  # noqa: ARG002  # looks at the round alone
            from dtrbandit.policies import Choice

            return Choice(0, f"score {history.round}", (1.0, 0.0))

    design = dtr.Design([dtr.Stage("only", ("a", "b"), "1 + x")])
    trial = dtr.Trial.create("pilot", design, Chatty(), storage="memory://", seed=1)
    for t in range(300):
        trial.enroll(f"u{t}", {"x": 0.5})

    ledger = trial.ledger()

    assert ledger.reasons[:2] + ledger.reasons[-1:] == ["score 1", "score 2", "score 300"]
    assert ledger.stages[0].columns()[2].tolist() == list(range(300))
