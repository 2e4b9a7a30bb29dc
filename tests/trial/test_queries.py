"""What is asked of a trial: lists are those of a walk through all records, and nobody waits for them."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from datetime import datetime, timedelta
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dtrbandit as dtr
from dtrbandit.record.chain import Record
from dtrbandit.record.events import Assigned, Completed, Enrolled, Event, Overridden, Responded, Voided, Withdrawn
from dtrbandit.record.histories import UnitRecord
from dtrbandit.storage import MemoryStore
from dtrbandit.trial import Trial, UnitStatus, queries
from dtrbandit.trial.units import statuses
from effort import scaled
from trial.small_trial import DESIGN, POLICY, Clock, begun, fill, under_way

DAYS = {"first": 14.0, "second": 10.0}


# -- lists against a walk through all records ---------------------------------------------------------------------


def walked(trial: Trial, now: datetime) -> list[UnitStatus]:
    """Return the units in flight by a walk through all records, one after the other."""
    stories: dict[str, list[Record]] = {}
    for record in trial.records():
        event: Any = record.event
        unit = event.decision.unit if isinstance(event, Assigned) else getattr(event, "unit", None)
        if unit is not None:
            stories.setdefault(unit, []).append(record)
    ended = Completed | Withdrawn | Voided
    in_flight = [story for story in stories.values() if not any(isinstance(each.event, ended) for each in story)]
    return [told(story, now) for story in in_flight]


def told(story: list[Record], now: datetime) -> UnitStatus:
    events: list[Event] = [record.event for record in story]
    enrolled = events[0]
    assert isinstance(enrolled, Enrolled)
    decisions = [event.decision for event in events if isinstance(event, Assigned)]
    responses = [event for event in events if isinstance(event, Responded)]
    arms = {decision.stage: decision.arm for decision in decisions}
    arms |= {event.stage: event.arm for event in events if isinstance(event, Overridden)}
    stage, left = decisions[-1].stage, len(decisions) == len(responses)
    since = [record.time for record in story if isinstance(record.event, Enrolled | Responded | Assigned)][-1]
    assert since is not None
    due = since + timedelta(days=DAYS["second" if left else stage])
    awaiting = "outcome" if responses else "second"
    return UnitStatus(
        enrolled.unit, enrolled.round, stage, awaiting, since, due, now > due, arms[stage], enrolled.site
    )  # fmt: skip


def act(trial: Trial, verb: str, unit: str, number: float) -> None:
    match verb:
        case "enroll":
            trial.enroll(unit, {"x": number}, site="north" if number > 0 else None)
        case "respond":
            trial.respond(unit, {"z": number, "r": number})
        case "complete":
            trial.complete(unit, number)
        case "withdraw":
            trial.withdraw(unit, reason="moved away")
        case "void":
            trial.void(unit, reason="twice")
        case "override":
            given = trial.unit(unit).arms
            stage = list(given)[-1]
            trial.override(unit, "b" if given[stage] == "a" else "a", reason="allergy", stage=stage)
        case "correct":
            trial.correct(unit, stage="first", context={"x": number}, reason="typing error")
        case "hold":
            trial.hold(reason="supply", site="south")


VERBS = ("enroll", "respond", "complete", "withdraw", "void", "override", "correct", "hold")
LIKELY = ("enroll",) * 3 + ("respond",) * 3 + VERBS
STEPS = st.lists(
    st.tuples(
        st.sampled_from(LIKELY), st.sampled_from("abcdef"), st.sampled_from((-1.0, 0.5)), st.booleans(), st.booleans()
    ),
    max_size=40,
)


@given(steps=STEPS, days=st.sampled_from((0, 12, 20)), at_once=st.sampled_from((1, 3, 500)))
@settings(max_examples=scaled(40), deadline=None)
def test_lists_are_those_of_a_walk_through_all_records(
    steps: list[tuple[str, str, float, bool, bool]], days: int, at_once: int
) -> None:
    trial = begun("memory://")
    clock: Any = trial._clock
    elsewhere = Trial.open("pilot", storage=trial._store, clock=clock)  # as another process has it
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(queries, "AT_ONCE", at_once)
        for verb, unit, number, here, look in steps:
            try:
                act(trial if here else elsewhere, verb, unit, number)
            except dtr.DTRError:
                continue
            if look:
                require_the_walk(trial, clock)
        clock.now += timedelta(days=days)
        require_the_walk(trial, clock)


def require_the_walk(trial: Trial, clock: Clock) -> None:
    for awaiting, overdue, site in product((None, "second", "outcome"), (None, True, False), (None, "north")):
        found = trial.units(awaiting, overdue, site=site)
        every = [each for each in walked(trial, clock.now) if awaiting in (None, each.awaiting)]
        assert found == [each for each in every if overdue in (None, each.overdue) and site in (None, each.site)]


class Polite:
    """A lock that lets another thread act each time that it is let go."""

    def __init__(self, lock: Any, acts: list[Callable[[], None]]) -> None:
        self._lock, self._acts, self._owner, self._depth = lock, acts, threading.get_ident(), 0

    def __enter__(self) -> None:
        self._lock.__enter__()
        self._depth += 1

    def __exit__(self, *_: object) -> None:
        self._depth -= 1
        over = self._depth == 0 and threading.get_ident() == self._owner
        self._lock.__exit__(None, None, None)
        if over and self._acts:
            thread = threading.Thread(target=self._acts.pop(0), daemon=True)
            thread.start()
            thread.join(timeout=60.0)
            assert not thread.is_alive()


def test_others_go_on_while_a_long_list_is_made(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(queries, "AT_ONCE", 3)
    trial = begun("memory://")
    fill(trial, 50)
    lock: Any = trial._lock

    def enrol_and_complete() -> None:
        trial.enroll("new", {"x": 0.5})
        trial.complete("u45", 1.0)

    def complete_two() -> None:
        trial.complete("u0", 1.0)  # it was looked at
        trial.complete("u35", 1.0)

    acts = [enrol_and_complete, lambda: trial.complete("u40", 1.0), complete_two]
    monkeypatch.setattr(trial, "_lock", Polite(lock, acts))

    found = [unit.unit for unit in trial.units()]

    monkeypatch.setattr(trial, "_lock", lock)
    clock: Any = trial._clock
    assert not acts
    assert found == ["u0", "u5", "u10", "u15", "u20", "u25", "u30", "new"]
    assert trial.units() == walked(trial, clock.now)


def test_units_of_two_processes_stand_in_the_order_of_their_rounds(tmp_path: Path) -> None:
    one = begun(f"sqlite:///{tmp_path}/trial.db")
    with one, Trial.open("pilot", storage=f"sqlite:///{tmp_path}/trial.db") as other:
        one.enroll("u1", {"x": 0.5})
        one.units()
        other.enroll("u2", {"x": 0.5})
        other.enroll("u3", {"x": 0.5})
        one.enroll("u4", {"x": 0.5})

        assert [unit.unit for unit in one.units()] == ["u1", "u2", "u3", "u4"]


def test_a_log_that_is_read_again_has_its_list_made_again(monkeypatch: pytest.MonkeyPatch) -> None:
    store = MemoryStore()
    trial = Trial.create("pilot", DESIGN, POLICY, storage=store, seed=1)
    for unit in ("u1", "u2"):
        trial.enroll(unit, {"x": 0.5})
    trial.units()
    log: Any = store.log(1)
    with monkeypatch.context() as away:
        away.setattr(type(log), "append", refuse)
        with pytest.raises(dtr.Unavailable, match="went away"):
            trial.enroll("u3", {"x": 0.5})
    with store.turn():
        store.ask("DELETE FROM records WHERE log = 1 AND sequence > 3")  # a standby that takes over never had u2
    trial.enroll("v2", {"x": 0.9})

    assert [unit.unit for unit in trial.units()] == ["u1", "v2"]


def refuse(*_: object) -> None:
    raise dtr.Unavailable("the primary went away")


def test_a_list_shows_nothing_that_could_not_be_stored_while_it_was_made(monkeypatch: pytest.MonkeyPatch) -> None:
    trial = begun("memory://")
    for unit in ("u1", "u2"):
        trial.enroll(unit, {"x": 0.5})
    before = trial.units()
    storage = type(trial._log.storage)

    def fail_meanwhile(design: dtr.Design, records: Iterable[UnitRecord], now: datetime) -> list[UnitStatus]:
        (record,) = records
        if record.history.unit == "u1":
            with monkeypatch.context() as away:
                away.setattr(storage, "append", refuse)
                with pytest.raises(dtr.Unavailable):
                    trial.respond("u2", {"z": 0.5, "r": 1.0})
        return statuses(design, [record], now)

    monkeypatch.setattr(queries, "AT_ONCE", 1)
    monkeypatch.setattr(queries, "statuses", fail_meanwhile)

    assert trial.units() == before


def test_events_of_some_units_come_in_the_order_of_the_log() -> None:
    trial, _ = under_way()

    found = trial.events_of(["left", "middle"])

    records = sorted(record for unit in ("middle", "left") for record in trial.unit(unit).records)
    assert found == [record.event for record in records]
    assert len(found) == 7


def test_a_look_at_a_trial_is_that_of_its_session_and_leaves_no_record() -> None:
    design = dtr.Design([dtr.Stage("dose", ("low", "high"), "1")])
    trial = Trial.create("looks", design, dtr.EpsilonGreedy(epsilon=0.3), storage="memory://", seed=1)
    for t in range(80):
        trial.enroll(f"u{t}", {})
        trial.complete(f"u{t}", t % 5)
    head = trial.head

    looks = trial.monitor(("high", "low"), alpha=0.1)

    assert trial.head == head
    of_session = dtr.Session.resume(trial.session_log()).monitor(("high", "low"), alpha=0.1)
    assert np.isfinite(looks.low[-1])
    np.testing.assert_array_equal(looks.low, of_session.low)
    assert looks.alpha == 0.1
