"""A stretch of usual facts is taken as its facts one by one are; anything unusual is left to the rules."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dtrbandit as dtr
from dtrbandit import belief
from dtrbandit.policies.registry import examples
from dtrbandit.record import Assigned, Completed, Enrolled, Event, Responded, Withdrawn
from dtrbandit.record.chain import Record
from dtrbandit.record.forms import Forms
from dtrbandit.record.packed import facts_of
from dtrbandit.record.sequences import Pieces
from dtrbandit.record.stretch import usual_stretch
from dtrbandit.record.values import Values

DESIGN = dtr.Design(
    [
        dtr.Stage("first", ("a", "b"), "1 + x"),
        dtr.Stage("second", ("a", "b", "c"), "1 + z + x:z + C(first)", enter_if="w > 0"),
        dtr.Stage("third", ("a", "b"), "1 + v", enter_if="z < 1.5 and w < 2"),
    ],
    plans=[("a", "a", "a"), ("a", "b", "b"), ("a", "c", "a"), ("b", "a", "b"), ("b", "c", "a"), ("b", "c", "b")],
)
POLICY = dtr.DTRBandit(q=1, delta=0.4)


SITES = (None, "north", "south", "east")


def close_at(session: dtr.Session, closing: int, number: int) -> None:
    with suppress(dtr.ProtocolError):  # a unit under way may need it
        if number == closing:
            session.close_arm("second", "c", reason="harm")


def look_at(session: dtr.Session, waiting: list[tuple[str, int]], how: int) -> None:
    if how == 29 and waiting:
        session.unblind(waiting[0][0], reason="an emergency")


def play(session: dtr.Session, steps: list[tuple[int, int]], closing: int = -1) -> None:
    """Let units take steps: a new unit enrols, another one takes its next step; at times one is amended."""
    waiting: list[tuple[str, int]] = []
    ended: list[str] = []
    for number, (who, how) in enumerate(steps):
        x, z, w, v, y = np.random.default_rng([number, who, how]).normal(size=5).round(2).tolist()
        close_at(session, closing, number)
        look_at(session, waiting, how)
        if who >= len(waiting):
            more: dict[str, Any] = {}
            if how % 5 == 0:
                more = {"exclude": {"second": ["b"], "third": ["b"] * (how % 2)}, "reason": "allergy"}
            session.enroll(f"u{number}", {"x": x}, site=SITES[how % 4], **more)
            waiting.append((f"u{number}", 1))
            continue
        unit, m = waiting.pop(who)
        if how == 0:
            session.withdraw(unit, reason="moved")
        elif how == 1:
            session.correct(unit, stage="first", context={"x": y + number}, reason="misread")
            waiting.append((unit, m))
        elif how == 2 and ended and number % 2:
            session.void(ended.pop(number % len(ended)), reason="not eligible")
            waiting.append((unit, m))
        elif how == 2:
            session.void(unit, reason="not eligible")
        elif m == 3:
            session.complete(unit, y)
            ended.append(unit)
        else:
            partly = {"w": w} if m == 1 and w <= 0 and how % 2 else {"z": z, "w": w}
            more = {"exclude": {"third": ["b"]}, "reason": "allergy"} if m == 1 and how % 7 == 3 else {}
            try:
                decision = session.respond(unit, partly if m == 1 else {"v": v}, **more)
            except dtr.ProtocolError:  # nothing would be left
                decision = session.respond(unit, partly if m == 1 else {"v": v})
            waiting.append((unit, m + 1 if decision else 3))


def state_of(session: dtr.Session) -> dict[str, bytes]:
    return {name: array.tobytes() for name, array in session._belief.state.arrays().items()}


steps = st.lists(st.tuples(st.integers(0, 9), st.integers(0, 30)), min_size=1, max_size=120)


@given(
    steps=steps,
    policy=st.sampled_from(examples()),
    size=st.sampled_from([1, 5, 17, 1000]),
    closing=st.sampled_from([-1, 0, 20]),
    shortest=st.sampled_from([1, 7]),
)
def test_a_log_in_stretches_leads_where_its_events_one_by_one_do(
    steps: list[tuple[int, int]], policy: Any, size: int, closing: int, shortest: int
) -> None:
    session = dtr.Session(DESIGN, policy, seed=5)
    play(session, steps, closing)
    log = list(session.log)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(belief, "STRETCH", size)
        patch.setattr(belief, "LONG", 1)
        patch.setattr(belief, "SHORTEST", shortest)
        by_stretch = {name: dtr.Session.resume(events) for name, events in told_in_all_ways(session).items()}
        patch.setattr(belief, "LONG", 10**9)
        one_by_one = dtr.Session.resume(log)

    for found in by_stretch.values():
        assert_same(found, one_by_one)
        assert found.log == log
        found.enroll("next", {"x": 0.5})
    one_by_one.enroll("next", {"x": 0.5})
    assert {repr(found.log[-1]) for found in by_stretch.values()} == {repr(one_by_one.log[-1])}


def told_in_all_ways(session: dtr.Session) -> dict[str, Sequence[Event]]:
    """Return the log of a session in the three ways in which long logs are told."""
    texts = [Record(n, None, None, event).text.encode() for n, event in enumerate(session.log, 1)]
    read = Pieces(list(Forms().pieces(texts, 1, 1)))
    return {"one by one": list(session.log), "packed": session.log, "as JSON": read}


def assert_same(found: dtr.Session, expected: dtr.Session) -> None:
    """Demand the same state, the same units in flight, and logs of the same bytes."""
    assert state_of(found) == state_of(expected)
    mine, theirs = found._belief.histories, expected._belief.histories
    assert mine.in_flight.keys() == theirs.in_flight.keys()
    for unit, record in theirs.in_flight.items():
        assert repr(mine.in_flight[unit]) == repr(record)
    assert [mine.log.told(t) for t in range(len(mine) + 1)] == [theirs.log.told(t) for t in range(len(theirs) + 1)]
    assert mine.log.rounds == theirs.log.rounds


def usual_log() -> list[Event]:
    """Return a log with nothing unusual in it: units in flight, lost ones, leavers who report all or a part."""
    session = dtr.Session(DESIGN, POLICY, seed=5)
    rng = np.random.default_rng(0)
    play(session, [(int(who), 3 * int(how > 0) + int(how)) for who, how in rng.integers(0, 12, size=(300, 2))])
    return list(session.log)


def test_nothing_in_a_usual_log_is_left_to_the_rules() -> None:
    log = usual_log()
    session = dtr.Session.resume(log)
    for events in (log[1:], session.log[1:]):
        found = dtr.Session.resume(log[:1])._belief.histories

        stretch = usual_stretch(found, events)

        assert stretch is not None
        assert list(facts_of(stretch.bundle, stretch.rounds)) == log[1:]
    assert any(len(fact.context) == 1 for fact in log if isinstance(fact, Responded) and fact.stage == "second")
    assert any(isinstance(fact, Withdrawn) for fact in log)
    assert len(found) == 0  # nothing was changed


def test_facts_read_from_a_file_go_on_record_as_a_session_writes_them() -> None:
    log = usual_log()
    plain = [
        fact._replace(context=dict(fact.context)) if isinstance(fact, Enrolled | Responded) else fact for fact in log
    ]

    stretch = usual_stretch(dtr.Session.resume(log[:1])._belief.histories, plain[1:])

    assert stretch is not None
    recorded = facts_of(stretch.bundle, stretch.rounds)
    arrivals = [fact for fact in recorded if isinstance(fact, Enrolled | Responded)]
    assert arrivals
    assert all(type(fact.context) is Values for fact in arrivals)


def test_features_beyond_all_bounds_are_refused_in_the_words_of_the_rules() -> None:
    names = "pqrst"
    design = dtr.Design([dtr.Stage("only", ("a", "b"), "1 + p:q:r:s:t")])
    session = dtr.Session(design, dtr.Greedy())
    session.enroll("u1", dict.fromkeys(names, 1.0))
    log = list(session.log)
    log[1] = log[1]._replace(context={**dict.fromkeys(names, 1e100), "t": 0.0})  # type: ignore[call-arg]

    with pytest.raises(dtr.LogError, match="features must be finite"):
        dtr.Session.resume(log)


def at(kind: type, log: list[Event], which: int = 3) -> int:
    return [place for place, event in enumerate(log) if type(event) is kind][which]


def changed(kind: type, **fields: Any) -> Callable[[list[Event]], None]:
    def change(log: list[Event]) -> None:
        place = at(kind, log)
        event: Any = log[place]
        log[place] = Assigned(event.decision._replace(**fields)) if kind is Assigned else event._replace(**fields)

    return change


def dropped(kind: type) -> Callable[[list[Event]], None]:
    def change(log: list[Event]) -> None:
        del log[at(kind, log)]

    return change


def doubled(kind: type) -> Callable[[list[Event]], None]:
    def change(log: list[Event]) -> None:
        log.insert(at(kind, log), log[at(kind, log)])

    return change


def later(kind: type) -> Callable[[list[Event]], None]:
    def change(log: list[Event]) -> None:
        log.append(log.pop(at(kind, log)))

    return change


CHANGES: dict[str, Callable[[list[Event]], None]] = {
    "another round": changed(Enrolled, round=99),
    "a site with spaces": changed(Enrolled, site=" north "),
    "a site that is no text": changed(Enrolled, site=["north"]),
    "an id with spaces": changed(Enrolled, unit=" u "),
    "an id that is no text": changed(Completed, unit=["u0"]),
    "a NaN in a context": changed(Enrolled, context=Values(("x",), (float("nan"),))),
    "a huge number": changed(Enrolled, context={"x": 1e101}),
    "an unknown column": changed(Enrolled, context={"x": 0.0, "q": 1.0}),
    "a missing column": changed(Responded, context={"z": 1.0}),
    "who enters reports in part": changed(Responded, context={"w": 1.0}),
    "another stage": changed(Responded, stage="first"),
    "an arm that is not there": changed(Assigned, arm="placebo"),
    "an arm that is no text": changed(Assigned, arm=["a"]),
    "a decision for another round": changed(Assigned, round=1),
    "a decision for another stage": changed(Assigned, stage="third"),
    "a decision for another unit": changed(Assigned, unit="somebody"),
    "a propensity above one": changed(Assigned, propensity=1.5),
    "no reason": changed(Assigned, reason=""),
    "an outcome that is no number": changed(Completed, outcome=float("nan")),
    "an outcome that is a text": changed(Completed, outcome="1.0"),
    "an unknown unit": changed(Completed, unit="nobody"),
    "a withdrawal without words": changed(Withdrawn, reason=" "),
    "an unknown unit that withdraws": changed(Withdrawn, unit="nobody"),
    **{f"without one {kind.__name__}": dropped(kind) for kind in (Enrolled, Assigned)},
    **{f"{kind.__name__} twice": doubled(kind) for kind in (Enrolled, Assigned, Responded, Completed, Withdrawn)},
    **{f"{kind.__name__} too late": later(kind) for kind in (Enrolled, Assigned)},
}


@pytest.mark.parametrize("change", CHANGES)
def test_whatever_is_wrong_is_refused_with_the_words_of_the_rules(change: str, monkeypatch: pytest.MonkeyPatch) -> None:
    log = usual_log()
    CHANGES[change](log)
    fresh = dtr.Session.resume(log[:1])._belief.histories

    assert usual_stretch(fresh, log[1:]) is None
    monkeypatch.setattr(belief, "STRETCH", 1000)
    with pytest.raises(dtr.LogError) as in_stretches:
        dtr.Session.resume(log)
    monkeypatch.setattr(belief, "LONG", 10**9)
    with pytest.raises(dtr.LogError) as one_by_one:
        dtr.Session.resume(log)
    assert str(in_stretches.value) == str(one_by_one.value)


@given(
    steps=steps,
    wrong=st.sampled_from(["cut", "drop", "double", "swap", *CHANGES]),
    places=st.tuples(st.integers(1, 400), st.integers(1, 400)),
    size=st.sampled_from([5, 17, 1000]),
)
def test_a_damaged_log_is_taken_or_refused_as_its_events_one_by_one_are(
    steps: list[tuple[int, int]], wrong: str, places: tuple[int, int], size: int
) -> None:
    session = dtr.Session(DESIGN, POLICY, seed=5)
    play(session, steps)
    log = list(session.log)
    first, second = (1 + place % (len(log) - 1) for place in places)
    if wrong == "cut":
        del log[first:]
    elif wrong == "drop":
        del log[first]
    elif wrong == "double":
        log.insert(second, log[first])
    elif wrong == "swap":
        log[first], log[second] = log[second], log[first]
    else:
        with suppress(IndexError):  # so many of this kind are not in every log
            CHANGES[wrong](log)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(belief, "STRETCH", size)
        in_stretches = result_of(log)
        patch.setattr(belief, "LONG", 10**9)
        one_by_one = result_of(log)

    assert in_stretches == one_by_one


def result_of(log: list[Event]) -> str | tuple[dict[str, bytes], list[Event]]:
    """Return why a log is refused, or the state that it leads to and what goes on record."""
    try:
        session = dtr.Session.resume(log)
    except dtr.LogError as error:
        return str(error)
    return state_of(session), list(session.log)


def test_features_of_ones_own_are_left_to_the_rules() -> None:
    stage = dtr.Stage("only", ("a", "b"), lambda columns: np.column_stack((columns["x"], columns["x"])), columns=("x",))
    session = dtr.Session(dtr.Design([stage]), dtr.Greedy())
    session.enroll("u1", {"x": 1.0})
    session.complete("u1", 1.0)

    empty = dtr.Session(session.design, session.policy)._belief.histories

    assert usual_stretch(empty, list(session.log)[1:]) is None
