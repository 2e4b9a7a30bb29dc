"""The units in flight: a list that costs what is new, and is the list of a walk through all records."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dtrbandit as dtr
from dtrbandit.record.chain import Record, Stored
from dtrbandit.record.events import Assigned, Completed, Enrolled, Event, Overridden, Responded, Voided, Withdrawn
from dtrbandit.storage import MemoryStore
from dtrbandit.storage.store import Storage
from dtrbandit.trial import Trial, UnitStatus, waiting
from effort import scaled
from trial.small_trial import DESIGN, POLICY, Clock, begun, fill

DAYS = {"first": 14.0, "second": 10.0}


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
        patch.setattr(waiting, "AT_ONCE", at_once)
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


class Counting:
    """A log that remembers which records were picked."""

    def __init__(self, storage: Storage) -> None:
        self._storage, self.picked = storage, list[int]()

    def pick(self, sequences: Iterable[int]) -> list[Stored]:
        wanted = list(sequences)
        self.picked += wanted
        return self._storage.pick(wanted)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._storage, name)


def test_since_when_units_wait_is_read_once() -> None:
    trial = begun("memory://")
    fill(trial, 10)
    counting: Any = Counting(trial._log.storage)
    trial._log.storage = counting
    before = trial.units()
    read_first = len(counting.picked)
    counting.picked.clear()

    again = trial.units()
    other = "a" if trial.unit("u0").arms["first"] == "b" else "b"
    counting.picked.clear()
    trial.override("u0", other, reason="allergy", stage="first")
    trial.enroll("new", {"x": 0.5})
    after, read_here = trial.units(), list(counting.picked)
    Trial.open("pilot", storage=trial._store).enroll("elsewhere", {"x": 0.5})
    last = trial.units()[-1]

    assert read_first == len(before) == 2
    assert again == before
    assert read_here == []  # what is stored here is known, and an override is no arrival
    assert counting.picked == [trial.head.sequence]  # the decision for the unit of another process
    assert last.unit == "elsewhere"
    assert [each.since for each in after[:2]] == [each.since for each in before]
    assert after[2].unit == "new"


def test_a_list_that_could_not_be_read_is_read_later() -> None:
    trial = begun("memory://")
    fill(trial, 10)
    storage: Any = trial._log.storage

    class Away:
        def pick(self, sequences: Iterable[int]) -> list[Stored]:
            raise dtr.Unavailable(f"away: {list(sequences)}")

        def __getattr__(self, name: str) -> Any:
            return getattr(storage, name)

    trial._log.storage = Away()
    with pytest.raises(dtr.Unavailable, match="away"):
        trial.units()
    trial._log.storage = storage

    assert [each.unit for each in trial.units()] == ["u0", "u5"]


def test_others_go_on_while_a_long_list_is_made(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(waiting, "AT_ONCE", 3)
    trial = begun("memory://")
    fill(trial, 50)
    steps = 0

    while trial._log.list_in_flight() is None:
        steps += 1
        if steps < 4:
            trial.enroll(f"new{steps}", {"x": 0.5})
            trial.complete("u5" if steps == 1 else f"u{5 * (11 - steps)}", 1.0)  # one looked at, others not yet

    clock: Any = trial._clock
    assert steps == 4  # ten were in flight, and three have come
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
    with monkeypatch.context() as away:
        away.setattr(type(store.log(1)), "append", refuse)
        with pytest.raises(dtr.Unavailable, match="went away"):
            trial.enroll("u3", {"x": 0.5})
    store.ask("DELETE FROM records WHERE sequence > 3")  # a standby that takes over never had u2
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
