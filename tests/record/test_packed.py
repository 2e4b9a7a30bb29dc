"""The packed log: what goes in comes out, bit for bit, and few objects hold it."""

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
from dtrbandit.record.blocks import BLOCK
from dtrbandit.record.events import Fact, Opened, UnitFact
from dtrbandit.record.histories import NO_UNIT, History
from dtrbandit.record.log import Log
from dtrbandit.record.packed import MOST_REASONS, MOST_TEMPLATES, PackedLog
from dtrbandit.record.values import Values
from small_session import session_of

OPENED = Opened({}, {}, 0, 1)
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
    kinds = [(type(fact), fact.unit if t else "") for t, fact in facts]  # type: ignore[union-attr]  # likewise
    assert list(packed.kinds(0, len(packed))) == [(Opened, ""), *kinds]


def test_many_blocks_are_read_from_any_place() -> None:
    facts: list[tuple[int, Fact]] = [(1, Enrolled("u", 1, Values(("x",), (0.5,))))]
    facts += [(1, Completed("u", float(number))) for number in range(3 * BLOCK)]
    packed = packed_of(facts)

    log = Log(packed, 0, len(packed))

    assert len(log) == 3 * BLOCK + 2
    assert list(log) == [OPENED, *[fact for _, fact in facts]]
    for place in (0, 1, BLOCK - 1, BLOCK, BLOCK + 1, 2 * BLOCK, 3 * BLOCK, 3 * BLOCK + 1, -1, -BLOCK):
        assert log[place] == list(log)[place]
    assert packed.of_unit("u") == [fact for _, fact in facts]


def test_units_that_come_and_go_in_turn_are_told_apart_wherever_a_block_ends() -> None:
    numbers, facts = Values(("a", "b"), (0.5, None)), list[tuple[int, Fact]]()
    for t in range(1, BLOCK):
        decision = dtr.Decision(f"u{t}", t, "first", "a", "close", 0.5, numbers, numbers, ("a", "b"))
        facts += [(t, Enrolled(f"u{t}", t, Values(("x",), (t / 7,)))), (t, Assigned(decision))]
        if t > 9:
            facts.append((t - 9, Responded(f"u{t - 9}", "second", Values(("y",), (0.25,)))))
        if t % 100 == 0:  # from now on a block ends elsewhere
            facts.append((t, Completed(f"u{t}", 1.0)))

    packed = packed_of(facts)

    assert list(packed.events(1, len(packed))) == [fact for _, fact in facts]
    for t in range(1, BLOCK):
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
