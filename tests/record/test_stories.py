"""Units of the same story, found step by step, are those that a walk through all events finds."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dtrbandit as dtr
from dtrbandit.record.events import Completed, Enrolled
from dtrbandit.record.packed import ANY, PackedLog
from dtrbandit.record.stories import Stories
from effort import scaled

STAGES = [dtr.Stage("first", ("a", "b"), "1 + x"), dtr.Stage("second", ("a", "b"), "1 + z", enter_if="y > 0")]


def act(session: dtr.Session, verb: int, unit: str, number: float) -> None:
    other = session.histories.get(unit)
    calls: list[Any] = [
        lambda: session.enroll(unit, {"x": number}),
        lambda: session.respond(unit, {"z": 0.5, "y": number}),
        lambda: session.complete(unit, number),
        lambda: session.withdraw(unit, reason="moved away" if number > 0 else "tired"),
        lambda: session.void(unit, reason="twice"),
        lambda: session.correct(unit, outcome=0.25, reason="typing error"),
        lambda: session.override(unit, "ab"[other is not None and other.decisions[0].arm == "a"], reason="allergy"),
        lambda: session.hold(reason="supply", site="south"),
    ]
    calls[verb]()


def walked(session: dtr.Session) -> list[list[int]]:
    """Return the rounds of units of one story, by the heads of all events."""
    log = session.histories.log
    stories: dict[int, list[int]] = {}
    for head, t, _ in log.outlines(1, len(log)):
        if t:
            stories.setdefault(t, []).append(head)
    alike: dict[tuple[int, ...], list[int]] = {}
    for t in range(1, len(log.names) + 1):
        own = [t] if ANY in stories[t] else []
        alike.setdefault((*stories[t], -1, *own), []).append(t)
    return list(alike.values())


VERBS = st.sampled_from((0, 0, 0, 1, 1, 2, 2, 3, 4, 5, 6, 7))
STEPS = st.lists(st.tuples(VERBS, st.sampled_from("abcdefgh"), st.sampled_from((-1.0, 2.0)), st.booleans()))


@given(steps=STEPS, most=st.integers(1, 9))
@settings(max_examples=scaled(50), deadline=None)
def test_stories_are_those_of_a_walk_through_all_events(steps: list[tuple[int, str, float, bool]], most: int) -> None:
    session = dtr.Session(dtr.Design(STAGES), dtr.DTRBandit(q=1, delta=0.5))
    stories = Stories()
    for verb, unit, number, look in steps:
        try:
            act(session, verb, unit, number)
        except dtr.DTRError:
            continue
        if look:
            stories.follow(session.histories.log, most)

    while not stories.follow(session.histories.log, most):
        pass

    assert stories.alike() == walked(session)
    reported = {each.history.round: each.outcome for each in session.histories}
    assert {t: y for t, y in enumerate(stories.outcomes, 1) if y == y} == {
        t: y for t, y in reported.items() if y is not None
    }


def test_units_told_together_are_the_units_told_one_by_one() -> None:
    stages = [dtr.Stage("first", ("a", "b"), "1 + x"), dtr.Stage("second", ("a", "b"), "1 + z", enter_if="y > 0")]
    session = dtr.Session(dtr.Design(stages), dtr.DTRBandit(q=1, delta=0.5))
    for t in range(60):
        name = f"u{t}"
        session.enroll(name, {"x": t % 7 / 7})
        if t % 10 == 0:
            session.withdraw(name, reason="moved away")
        elif t % 10 > 1:
            session.respond(name, {"z": t % 5 / 5, "y": float(t % 3)})
            if t % 10 > 2:
                session.complete(name, t / 7)
    session.correct("u9", outcome=0.25, reason="typing error")
    histories = session._belief.histories

    alike = list(histories.alike())

    one_by_one = {unit.history.round: unit for unit in histories}
    assert len(alike) < len(one_by_one)
    assert sorted(t for each in alike for t in each.rounds) == list(one_by_one)
    for first, rounds, outcomes in alike:
        units = [one_by_one[t] for t in rounds]
        assert outcomes == [unit.history.outcome for unit in units if unit.history.outcome is not None]
        for unit in units:
            assert (unit.history.arms, unit.left, unit.ended) == (first.history.arms, first.left, first.ended)
            assert [each.reason for each in unit.decisions] == [each.reason for each in first.decisions]
            assert unit.amendments == first.amendments


def test_an_interruption_forgets_what_was_followed(monkeypatch: pytest.MonkeyPatch) -> None:
    log = PackedLog(dtr.record.Opened({}, {}, 0, 1))
    for t in (1, 2):
        log.append(Enrolled(f"u{t}", t, {"x": 1.0}), t)
        log.append(Completed(f"u{t}", 2.0), t)
    stories = Stories()
    stories.follow(log, 3)

    def interrupted(start: int, stop: int) -> Any:
        yield from whole(start, stop)
        raise KeyboardInterrupt

    whole = log.outlines
    monkeypatch.setattr(log, "outlines", interrupted)
    with pytest.raises(KeyboardInterrupt):
        stories.follow(log, 100)
    monkeypatch.undo()

    assert stories.follow(log, 100)
    assert stories.outcomes.tolist() == [2.0, 2.0]
    assert stories.alike() == [[1], [2]]  # contexts of one's own make stories of one's own
