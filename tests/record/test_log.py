"""A log in memory: what goes in comes out, bit for bit, few objects hold it, and reading changes nothing."""

from __future__ import annotations

import gc
import pickle
from collections.abc import Iterable, Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import dtrbandit as dtr
from dtrbandit.record import (
    Assigned,
    Completed,
    Corrected,
    Enrolled,
    Held,
    Overridden,
    Released,
    Responded,
    Taught,
    Unblinded,
    Voided,
    Withdrawn,
)
from dtrbandit.record.events import Fact, Opened, UnitFact
from dtrbandit.record.histories import NO_UNIT, History
from dtrbandit.record.log import MOST_REASONS, MOST_TEMPLATES, Log, PackedLog, amended_units, kinds
from dtrbandit.record.values import Values
from small_session import session_of, some_session

OPENED = Opened({}, {}, 0, 1)
MANY = 1_000
labels = st.sampled_from(["a", "b", "ä b", "c" * 200])
floats = st.floats(allow_nan=False)
contexts = st.lists(labels, unique=True).flatmap(
    lambda names: st.tuples(*[floats for _ in names]).map(lambda numbers: Values(tuple(names), numbers))
)
q_values = st.one_of(
    st.dictionaries(labels, st.one_of(st.none(), floats, st.integers(-9, 9))),
    st.lists(labels, unique=True).map(lambda names: Values(tuple(names), [None] * len(names))),
    contexts,
)
decisions = st.tuples(
    labels,
    labels,
    st.text(),
    st.one_of(st.none(), floats),
    q_values,
    q_values,
    st.lists(labels).map(tuple),
    st.lists(st.tuples(labels, labels)).map(tuple),
)
contents: st.SearchStrategy[Any] = st.one_of(
    st.tuples(st.just(Responded), labels, contexts),
    st.tuples(st.just(Completed), floats),
    st.tuples(st.sampled_from([Withdrawn, Voided, Unblinded]), st.text()),
    st.tuples(st.just(Overridden), labels, labels, st.text()),
    st.tuples(st.just(Corrected), st.one_of(st.none(), floats), st.none(), st.one_of(st.none(), contexts), st.text()),
    st.tuples(st.just(Assigned), decisions),
)
taught = st.tuples(
    st.just(Taught),
    labels,
    st.lists(st.one_of(contexts, contexts, st.dictionaries(labels, floats))).map(tuple),
    st.lists(labels).map(tuple),
    st.none() | floats,
)
of_trial: st.SearchStrategy[Any] = st.one_of(
    st.tuples(st.sampled_from([Held, Released]), st.text(), st.none() | labels), taught
)


def facts_of(course: Sequence[tuple[int, Any]]) -> list[tuple[int, Fact]]:
    """Return facts with their rounds: an enrolment where a unit comes first, then what was drawn."""
    facts: list[tuple[int, Fact]] = []
    rounds: dict[int, int] = {}
    for who, (kind, *content) in course:
        if kind in (Held, Released, Taught):
            facts.append((0, kind(*content)))
            continue
        if who not in rounds:
            rounds[who] = len(rounds) + 1
            site = ("north", "south", None)[who % 3]
            facts.append((rounds[who], Enrolled(f"unit {who}", rounds[who], Values(("x",), (who / 7,)), site=site)))
        t, unit = rounds[who], f"unit {who}"
        facts.append((t, Assigned(dtr.Decision(unit, t, *content[0])) if kind is Assigned else kind(unit, *content)))
    return facts


def packed_of(facts: Iterable[tuple[int, Fact]]) -> PackedLog:
    """Return facts of units by their rounds, packed one after the other, as histories do it."""
    names: list[str] = []
    rounds: dict[str, int] = {}
    log = PackedLog(OPENED, names, rounds)
    for t, fact in facts:
        log.append(fact, History(names[t - 1] if t <= len(names) else "", t, 0, (), (), (), None) if t else NO_UNIT)
        if isinstance(fact, Enrolled):
            names.append(fact.unit)
            rounds[fact.unit] = t
    return log


def exactly(value: object) -> object:
    """Return a value so that equal means the same types, order and bits."""
    if isinstance(value, Values):
        return "numbers", value.labels, value.packed
    if isinstance(value, dict):
        return exactly(Values(tuple(value), tuple(value.values())))  # a dict of floats comes out as this
    if isinstance(value, tuple):
        return type(value).__name__, tuple(map(exactly, value))
    return type(value).__name__, value.hex() if isinstance(value, float) else value


@given(st.lists(st.tuples(st.integers(0, 5), st.one_of(contents, of_trial))))
def test_what_goes_in_comes_out_bit_for_bit(course: list[tuple[int, Any]]) -> None:
    facts = facts_of(course)

    packed = packed_of(facts)

    log = Log(packed, 0, len(packed))
    assert [exactly(event) for event in log] == [exactly(event) for event in (OPENED, *[fact for _, fact in facts])]
    assert [exactly(event) for event in pickle.loads(pickle.dumps(log))] == [exactly(event) for event in log]
    for unit in {fact.unit for _, fact in facts if isinstance(fact, Enrolled)}:
        own = [fact for t, fact in facts if t and fact.unit == unit]  # type: ignore[union-attr]  # all are of units
        assert [exactly(fact) for fact in packed.of_unit(unit)] == [exactly(fact) for fact in own]
    expected = [(type(fact), fact.unit if t else "") for t, fact in facts]  # type: ignore[union-attr]  # likewise
    assert list(packed.kinds(0, len(packed))) == [(Opened, ""), *expected]


def test_a_long_log_is_read_from_any_place() -> None:
    facts: list[tuple[int, Fact]] = [(1, Enrolled("u", 1, Values(("x",), (0.5,))))]
    facts += [(1, Completed("u", float(number))) for number in range(3 * MANY)]
    packed = packed_of(facts)

    log = Log(packed, 0, len(packed))

    assert len(log) == 3 * MANY + 2
    assert list(log) == [OPENED, *[fact for _, fact in facts]]
    for place in (0, 1, MANY, 2 * MANY, 3 * MANY, 3 * MANY + 1, -1, -MANY):
        assert log[place] == list(log)[place]
    assert packed.of_unit("u") == [fact for _, fact in facts]


def test_units_that_come_and_go_in_turn_are_told_apart() -> None:
    numbers, facts = Values(("a", "b"), (0.5, None)), list[tuple[int, Fact]]()
    for t in range(1, MANY):
        decision = dtr.Decision(f"u{t}", t, "first", "a", "close", 0.5, numbers, numbers, ("a", "b"))
        facts += [(t, Enrolled(f"u{t}", t, Values(("x",), (t / 7,)))), (t, Assigned(decision))]
        if t > 9:
            facts.append((t - 9, Responded(f"u{t - 9}", "second", Values(("y",), (0.25,)))))
        if t % 100 == 0:
            facts.append((t, Completed(f"u{t}", 1.0)))

    packed = packed_of(facts)

    assert list(packed.events(1, len(packed))) == [fact for _, fact in facts]
    for t in range(1, MANY):
        assert packed.of_unit(f"u{t}") == [fact for other, fact in facts if other == t]


def test_a_template_too_many_is_kept_with_its_event() -> None:
    facts: list[Fact] = [Enrolled("u", 1, Values((), ()))]
    facts += [Responded("u", f"stage {number}", Values(("x",), (1.5,))) for number in range(MOST_TEMPLATES + 5)]

    packed = packed_of((1, fact) for fact in facts)

    assert packed.of_unit("u") == facts
    assert len(packed.templates) == MOST_TEMPLATES


def test_reasons_without_end_leave_templates_for_decisions() -> None:
    facts: list[Fact] = [Enrolled("u", 1, Values((), ()))]
    facts += [Withdrawn("u", f"reason {number % (MOST_REASONS + 5)}") for number in range(2 * MOST_REASONS)]

    packed = packed_of((1, fact) for fact in facts)

    assert packed.of_unit("u") == facts
    assert len(packed.templates) == MOST_REASONS


@pytest.mark.slow
def test_units_that_have_ended_are_nothing_to_the_garbage_collector() -> None:
    def tracked(units: int) -> int:
        session = session_of(units)
        gc.collect()
        count = len(gc.get_objects())
        assert session.version == 1 + 5 * units
        return count

    tracked(10)

    assert tracked(1_000) - tracked(10) < 30


def test_equal_texts_are_kept_once() -> None:
    session = session_of(3)
    units = [event.unit for event in session.log[1:] if isinstance(event, UnitFact)]

    assert len({id(unit) for unit in units}) == len(set(units)) == 3
    decisions = [event.decision for event in session.log if isinstance(event, Assigned)]
    assert len({id(decision.q_hat.labels) for decision in decisions}) == 2  # type: ignore[attr-defined]


# -- as it is read -----------------------------------------------------------------------------------------------------


def test_a_log_is_a_snapshot_that_is_read_as_a_sequence() -> None:
    session = session_of(2)

    log = session.log
    session.enroll("later", {"x": 1.0})

    assert len(log) == 11
    assert log == list(log)
    assert log == tuple(log)
    assert list(log) == log == log[:]
    assert log != session.log
    assert log == session.log[:11]
    assert log[2:5] == list(log)[2:5]
    assert log[::-1] == list(log)[::-1]
    assert log[5:2] == []
    assert log[-1] == log[10] == log[5:][-1]
    assert log.index(log[3]) == 3
    assert log != 11
    assert repr(log) == "<Log of 11 events>"
    with pytest.raises(IndexError):
        log[11]
    with pytest.raises(TypeError, match="unhashable"):
        hash(log)


def test_a_slice_is_a_log_and_a_slice_with_steps_a_list() -> None:
    log = session_of(2).log

    assert repr(log[3:4]) == "<Log of 1 event>"
    assert type(log[3:9][1:]) is type(log)
    assert log[3:9][1:] == log[4:9]
    assert log[1:9:2] == [log[place] for place in range(1, 9, 2)]
    assert type(log[1:9:2]) is list
    assert log[20:] == log[5:2] == log[-1:3] == []


def test_logs_of_other_sessions_are_equal_where_their_events_are() -> None:
    one, other = session_of(2), session_of(2)

    assert one.log == other.log
    other.withdraw(other.enroll("more", {"x": 0.0}).unit, reason="lost")
    assert one.log != other.log
    assert one.log == other.log[:11]
    assert one.log != list(other.log[1:])


def test_a_log_that_is_being_read_is_not_disturbed_by_what_follows() -> None:
    session = session_of(1)
    log = session.log
    events = iter(log)
    first = next(events)

    session.enroll("later", {"x": 1.0})

    assert [first, *events] == list(log) == list(session.log[:6])
    assert pickle.loads(pickle.dumps(log)) == log


def test_kinds_and_units_are_told_of_a_log_as_of_a_list() -> None:
    session = some_session()
    session.hold(reason="no drug")
    session.release(reason="drug")
    session.correct("u1", outcome=1.0, reason="typo")
    session.void("u2", reason="not eligible")

    told = list(kinds(session.log))

    assert told == list(kinds(list(session.log)))
    assert [kind for kind, _ in told] == [type(event) for event in session.log]
    assert told[:2] == [(type(session.log[0]), ""), (type(session.log[1]), "u0")]
    assert list(kinds(session.log[-2:])) == told[-2:]


def test_amended_units_are_found_in_a_log_as_in_a_list() -> None:
    session = some_session()
    assert amended_units(session.log) == amended_units(list(session.log)) == set()

    session.override("u3", "other", reason="allergy")
    session.correct("u1", outcome=1.0, reason="typo")
    session.void("u2", reason="not eligible")

    assert amended_units(session.log) == amended_units(list(session.log)) == {"u1", "u2", "u3"}
    assert amended_units(session.log[-2:]) == {"u1", "u2"}


def test_what_is_no_event_has_no_unit() -> None:
    assert list(kinds(["Enrolled", 3])) == [(str, ""), (int, "")]  # type: ignore[list-item]  # as a caller might
