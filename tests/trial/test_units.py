"""Who is in flight, what each awaits and since when, and the story of one."""

from __future__ import annotations

import threading
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dtrbandit as dtr
from dtrbandit.record.chain import Record
from dtrbandit.record.events import Assigned, Completed, Enrolled, Event, Overridden, Responded, Voided, Withdrawn
from dtrbandit.storage import MemoryStore
from dtrbandit.trial import Trial, UnitStatus
from dtrbandit.trial import trial as trial_module
from dtrbandit.trial.units import status_of
from effort import scaled
from trial.small_trial import DESIGN, POLICY, Clock, begun, fill

DAYS = {"first": 14.0, "second": 10.0}


def under_way() -> tuple[Trial, Clock]:
    """Return a trial with a unit at each point of its course."""
    clock = Clock()
    trial = Trial.create("pilot", DESIGN, POLICY, storage="memory://", seed=1, clock=clock)
    trial.enroll("early", {"x": 1.0}, actor="nurse")
    trial.enroll("middle", {"x": 1.0})
    trial.respond("middle", {"r": 1.0, "z": 0.5})
    trial.enroll("left", {"x": 1.0})
    trial.respond("left", {"r": -1.0})
    for unit in ("done", "gone", "void"):
        trial.enroll(unit, {"x": 1.0})
    trial.respond("done", {"r": -1.0})
    trial.complete("done", 2.0)
    trial.withdraw("gone", reason="moved away")
    trial.void("void", reason="not eligible")
    return trial, clock


def test_units_in_flight_say_what_they_await_and_since_when() -> None:
    trial, _ = under_way()

    found = {unit.unit: unit for unit in trial.units()}

    assert {name: (unit.stage, unit.awaiting, unit.round) for name, unit in found.items()} == {
        "early": ("first", "second", 1),
        "middle": ("second", "outcome", 2),
        "left": ("first", "outcome", 3),
    }
    times = {record.sequence: record.time for record in trial.records()}
    assert [unit.since for unit in trial.units()] == [times[3], times[7], times[10]]
    stories = {name: trial.unit(name) for name in found}
    assert all(unit.arm == stories[name].arms[unit.stage] for name, unit in found.items())


def test_what_is_due_follows_from_the_expected_days() -> None:
    trial, clock = under_way()
    days = {unit.unit: (unit.due - unit.since).days for unit in trial.units() if unit.due and unit.since}
    assert days == {"early": 14, "middle": 10, "left": 10}  # who left has an outcome when the full course would end

    clock.now += timedelta(days=12)

    assert [unit.unit for unit in trial.units(overdue=True)] == ["middle", "left"]
    assert [unit.unit for unit in trial.units(overdue=False)] == ["early"]
    assert [unit.unit for unit in trial.units(awaiting="outcome")] == ["middle", "left"]
    assert [unit.unit for unit in trial.units(awaiting="second", overdue=True)] == []


def test_an_amendment_does_not_restart_the_wait() -> None:
    trial, _ = under_way()
    before = trial.units()

    trial.correct("early", stage="first", context={"x": 3.0}, reason="typo")

    assert trial.units() == before


def test_without_expected_days_nothing_is_due() -> None:
    trial = Trial.create("pilot", dtr.Design([dtr.Stage("s", ("a", "b"), "1 + x")]), POLICY, storage="memory://")
    trial.enroll("u1", {"x": 1.0})

    (unit,) = trial.units()

    assert (unit.due, unit.overdue, unit.awaiting) == (None, False, "outcome")


def test_a_stage_that_nobody_awaits_is_refused() -> None:
    trial, _ = under_way()

    with pytest.raises(dtr.ProtocolError, match=r"one of \['second', 'outcome'\], found 'first'"):
        trial.units(awaiting="first")


def test_events_of_some_units_come_in_the_order_of_the_log() -> None:
    trial, _ = under_way()

    found = trial.events_of(["left", "middle"])

    records = sorted(record for unit in ("middle", "left") for record in trial.unit(unit).records)
    assert found == [record.event for record in records]
    assert len(found) == 7


def test_a_story_reads_well() -> None:
    trial, _ = under_way()
    arm = trial.unit("middle").arms["second"]
    other = {"a": "b", "b": "a"}[arm]
    trial.override("middle", other, reason="allergy", actor="Dr. B")
    trial.complete("middle", 2.5)
    trial.correct("middle", outcome=3.5, reason="typo")
    trial.correct("middle", stage="second", context={"z": 0.75}, reason="typo")

    story = trial.unit("middle")

    assert story.arms["second"] == other
    assert [decision.stage for decision in story.decisions] == ["first", "second"]
    assert [record.sequence for record in story.records] == [4, 5, 6, 7, 21, 22, 23, 24]
    lines = str(story).splitlines()
    assert lines[0] == "Unit middle (round 2): it is complete."
    assert lines[2].split("  ")[-1] == "enrolled with x 1"
    assert f"stage second: {other} was given instead (allergy) (Dr. B)" in lines[6]
    assert [line.split("  ")[-1] for line in lines[7:]] == [
        "outcome 2.5",
        "corrected outcome to 3.5 (typo)",
        "corrected stage second to z 0.75 (typo)",
    ]


@pytest.mark.parametrize(
    ("unit", "status"),
    [
        ("early", "it awaits its response at stage 'second' (z, r)"),
        ("left", "it left early and awaits its outcome"),
        ("gone", "it was withdrawn (moved away)"),
        ("void", "it was voided (not eligible)"),
        ("done", "it is complete"),
    ],
)
def test_a_story_says_where_the_unit_stands(unit: str, status: str) -> None:
    trial, _ = under_way()

    story = trial.unit(unit)

    assert story.status == status
    assert story.records[0].time is not None
    assert story.records[0].time > datetime(2026, 11, 17, tzinfo=UTC)


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
        patch.setattr(trial_module, "AT_ONCE", at_once)
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
    monkeypatch.setattr(trial_module, "AT_ONCE", 3)
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


def test_a_unit_that_is_expected_after_the_end_of_the_calendar_is_never_late() -> None:
    design = dtr.Design([dtr.Stage("only", ("a", "b"), "1 + x", expected_days=4e6)])
    with Trial.create("long", design, dtr.Greedy(), storage="memory://", seed=1) as trial:
        trial.units()
        trial.enroll("u1", {"x": 0.5})

        (unit,) = trial.units()

    assert (unit.due, unit.overdue) == (None, False)


def test_a_list_shows_nothing_that_could_not_be_stored_while_it_was_made(monkeypatch: pytest.MonkeyPatch) -> None:
    trial = begun("memory://")
    for unit in ("u1", "u2"):
        trial.enroll(unit, {"x": 0.5})
    before = trial.units()
    storage = type(trial._log.storage)

    def fail_meanwhile(design: dtr.Design, record: Any) -> UnitStatus:
        if record.history.unit == "u1":
            with monkeypatch.context() as away:
                away.setattr(storage, "append", refuse)
                with pytest.raises(dtr.Unavailable):
                    trial.respond("u2", {"z": 0.5, "r": 1.0})
        return status_of(design, record)

    monkeypatch.setattr(trial_module, "AT_ONCE", 1)
    monkeypatch.setattr(trial_module, "status_of", fail_meanwhile)

    assert trial.units() == before
