"""The packed log: what goes in comes out, bit for bit, and few objects hold it."""

from __future__ import annotations

import gc
import pickle
from collections.abc import Sequence
from typing import Any

import numpy as np
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
from dtrbandit.record.log import Log
from dtrbandit.record.packed import BLOCK, MOST_HEADS, MOST_REASONS, PackedLog
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
    packed, facts = PackedLog(OPENED), facts_of(course)

    for t, fact in facts:
        packed.append(fact, t)

    log = Log(packed, 0, len(packed))
    assert [exactly(event) for event in log] == [exactly(event) for event in (OPENED, *[fact for _, fact in facts])]
    assert [exactly(event) for event in pickle.loads(pickle.dumps(log))] == [exactly(event) for event in log]
    for t in {t for t, _ in facts}:
        story = [fact for other, fact in facts if other == t]
        assert [exactly(fact) for fact in packed.story(t)] == [exactly(fact) for fact in story]
    assert [t for _, t, _ in packed.outlines(1, len(packed))] == [t for t, _ in facts]
    completed = [fact.outcome for _, fact in facts if isinstance(fact, Completed)]
    assert [outcome for _, _, outcome in packed.outlines(1, len(packed)) if outcome == outcome] == completed


def test_many_blocks_are_read_from_any_place() -> None:
    packed, facts = PackedLog(OPENED), [(1, Enrolled("u", 1, Values(("x",), (0.5,))))]
    facts += [(1, Completed("u", float(number))) for number in range(3 * BLOCK)]  # type: ignore[misc]
    for t, fact in facts:
        packed.append(fact, t)

    log = Log(packed, 0, len(packed))

    assert len(log) == 3 * BLOCK + 2
    assert list(log) == [OPENED, *[fact for _, fact in facts]]
    for place in (0, 1, BLOCK - 1, BLOCK, BLOCK + 1, 2 * BLOCK, 3 * BLOCK, 3 * BLOCK + 1, -1, -BLOCK):
        assert log[place] == list(log)[place]
    assert packed.story(1) == [fact for _, fact in facts]


def test_an_arrival_and_its_decision_are_packed_as_one_after_the_other_wherever_a_block_ends() -> None:
    together, apart = PackedLog(OPENED), PackedLog(OPENED)
    numbers = Values(("a", "b"), (0.5, None))

    for t in range(1, BLOCK):
        decision = dtr.Decision(f"u{t}", t, "first", "a", "close", 0.5, numbers, numbers, ("a", "b"))
        for arrival in (
            Enrolled(f"u{t}", t, Values(("x",), (t / 7,))),
            Responded(f"u{t}", "second", Values(("y",), (0.25,))),
        ):
            together.append_arrival(arrival, Assigned(decision), t)
            apart.append(arrival, t)
            apart.append(Assigned(decision), t)
        if t % 100 == 0:  # from now on a block ends elsewhere
            together.append(Completed(f"u{t}", 1.0), t)
            apart.append(Completed(f"u{t}", 1.0), t)

    assert list(together._entries(1, len(together))) == list(apart._entries(1, len(apart)))
    assert [together.story(t) for t in range(1, BLOCK)] == [apart.story(t) for t in range(1, BLOCK)]
    assert (together.names, together.rounds) == (apart.names, apart.rounds)


def test_a_head_too_many_is_kept_with_its_event() -> None:
    packed = PackedLog(OPENED)
    packed.append(Enrolled("u", 1, Values((), ())), 1)
    facts = [Responded("u", f"stage {number}", Values(("x",), (1.5,))) for number in range(MOST_HEADS + 5)]
    for fact in facts:
        packed.append(fact, 1)

    assert packed.story(1)[1:] == facts
    assert len(packed.heads) == MOST_HEADS


def test_reasons_without_end_leave_heads_for_decisions() -> None:
    packed = PackedLog(OPENED)
    facts = [Withdrawn("u", f"reason {number % (MOST_REASONS + 5)}") for number in range(2 * MOST_REASONS)]
    packed.append(Enrolled("u", 1, Values((), ())), 1)
    for fact in facts:
        packed.append(fact, 1)

    assert packed.story(1)[1:] == facts
    assert len(packed.heads) == MOST_REASONS


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


def test_a_story_is_told_forwards_and_backwards() -> None:
    log = PackedLog(OPENED)
    facts: list[UnitFact] = [Enrolled("u1", 1, Values(("x",), (0.5,))), Completed("u1", 2.0), Voided("u1", "twice")]
    for fact in facts:
        log.append(fact, 1)

    assert log.told(1) == [(place, fact) for place, fact in enumerate(facts, 1)]
    assert list(log.told_backwards(1)) == log.told(1)[::-1]
    assert [log.last_place(1, {kind}) for kind in (Voided, Completed, Enrolled, Assigned)] == [3, 2, 1, 0]
    assert list(log.rounds_between(0, 4)) == [1, 1, 1]


@pytest.mark.parametrize("before", [0, 1, BLOCK - 20, BLOCK - 1, BLOCK])
def test_facts_added_side_by_side_are_kept_as_one_by_one(before: int) -> None:
    source = session_of(1000)._belief.histories.log
    rounds = list(source.rounds_between(1, len(source)))
    facts = [source.fact(place) for place in range(1, len(source))]
    one_by_one, side_by_side = PackedLog(OPENED), PackedLog(OPENED)
    for packed in (one_by_one, side_by_side):
        packed.extend(facts[:before], rounds[:before])

    one_by_one.extend(facts[before:], rounds[before:])
    for start in range(before, len(facts), 1700):
        stop = min(start + 1700, len(facts))
        side_by_side.add(source.bundle(1 + start, 1 + stop), np.array(rounds[start:stop]))

    assert vars(side_by_side).keys() == vars(one_by_one).keys()
    for name, value in vars(one_by_one).items():
        assert vars(side_by_side)[name] == value, name


def test_reasons_without_end_are_kept_with_their_facts_side_by_side_as_well() -> None:
    packed, again = PackedLog(OPENED), PackedLog(OPENED)
    facts = [Withdrawn("u", f"reason {number}") for number in range(MOST_REASONS // 2)]
    others = [Withdrawn("u", f"another reason {number}") for number in range(MOST_REASONS // 2)]
    for log, own in ((packed, facts), (again, others)):
        log.extend([Enrolled("u", 1, Values((), ())), *own], [1] * (1 + len(own)))

    again.add(packed.bundle(2, len(packed)), np.ones(len(facts), dtype=np.int64))

    assert again.story(1)[1:] == [*others, *facts]
    assert len(again.heads) <= MOST_REASONS
