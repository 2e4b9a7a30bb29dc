"""The fold of a log: what is on record after each fact."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from typing import Any, get_args
from unicodedata import normalize

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import dtrbandit as dtr
from dtrbandit.record import Event, Histories, History
from dtrbandit.record.events import (
    Assigned,
    Completed,
    Corrected,
    Decision,
    Enrolled,
    Opened,
    Overridden,
    Responded,
    UnitFact,
    Withdrawn,
)
from dtrbandit.record.histories import (
    AWAITS_OUTCOME,
    AWAITS_STAGE,
    COMPLETED,
    LEFT_AND_COMPLETED,
    VOIDED,
    WITHDRAWN,
    UnitRecord,
    advance,
)
from dtrbandit.record.log import PackedLog
from dtrbandit.record.units import SCALE, Tally, whole
from dtrbandit.record.values import Values, folded
from effort import seeded
from random_course import DESIGN as THREE_ARMS
from random_course import go_on, random_session
from small_session import DESIGN


def assigned(unit: str, t: int, stage: str, arm: str) -> Assigned:
    return Assigned(Decision(unit, t, stage, arm, "greedy", 1.0, {}, {}, (arm,)))


COURSE: list[UnitFact] = [
    Enrolled("u", 1, Values(("start1",), (12.0,))),
    assigned("u", 1, "first", "ssri"),
    Responded("u", "second", Values(("start2", "end1"), (9.0, 8.0))),
    assigned("u", 1, "second", "ssri"),
    Overridden("u", "second", "other", "allergy"),
    Corrected("u", None, "first", Values(("start1",), (13.0,)), "misread"),
    Completed("u", -8.0),
    Corrected("u", -7.0, None, None, "typo"),
]
EXPECTED = [  # node, features, arms, feasible, outcome
    (0, [[1.0, 12.0]], (), (True, True), None),
    (1, [[1.0, 12.0]], (0,), (), None),
    (1, [[1.0, 12.0], [1.0, 9.0]], (0,), (True, True), None),
    (3, [[1.0, 12.0], [1.0, 9.0]], (0, 0), (), None),
    (4, [[1.0, 12.0], [1.0, 9.0]], (0, 1), (), None),
    (4, [[1.0, 13.0], [1.0, 9.0]], (0, 1), (), None),
    (4, [[1.0, 13.0], [1.0, 9.0]], (0, 1), (), -8.0),
    (4, [[1.0, 13.0], [1.0, 9.0]], (0, 1), (), -7.0),
]


def opened() -> Histories:
    histories = Histories(DESIGN, Opened(DESIGN.to_dict(), {"name": "Greedy"}, 0, 1))
    histories.facts = PackedLog(histories.opened, histories.names, histories.rounds)
    return histories


def told(*facts: UnitFact) -> Histories:
    histories = opened()
    for fact in facts:
        known = histories.get(fact.unit)
        histories.record(fact, known, advance(DESIGN, known, fact))
    return histories


def plain(history: History) -> tuple[Any, ...]:
    features = [each.tolist() for each in history.features]
    return history.node, features, history.arms, history.feasible, history.outcome


def test_each_fact_leads_to_the_history_that_the_design_says() -> None:
    histories = opened()

    for fact, expected in zip(COURSE, EXPECTED, strict=True):
        known = histories.get("u")
        history = advance(DESIGN, known, fact)
        assert plain(history) == expected
        assert history[:2] == ("u", 1)
        histories.record(fact, known, history)

    assert histories.facts.of_unit("u") == COURSE
    assert histories.count == 1 + len(COURSE)


@pytest.mark.parametrize("count", range(1, len(COURSE)))
def test_advancing_changes_nothing(count: int) -> None:
    histories, twin = told(*COURSE[:count]), told(*COURSE[:count])

    for _ in range(2):
        assert plain(advance(DESIGN, histories.get("u"), COURSE[count])) == EXPECTED[count]

    assert histories.count == count + 1
    assert repr(histories.get("u")) == repr(twin.get("u"))


def test_a_unit_that_has_ended_is_told_again_as_it_was() -> None:
    record = told(*COURSE).get("u")

    assert record is not None
    assert not told(*COURSE).in_flight
    assert plain(record.history) == EXPECTED[-1]
    assert [dict(context) for context in record.reported] == [{"start1": 12.0}, {"start2": 9.0, "end1": 8.0}]
    assert [dict(context) for context in record.contexts] == [{"start1": 13.0}, {"start2": 9.0, "end1": 8.0}]
    assert [decision.arm for decision in told(*COURSE).decisions("u")] == ["ssri", "ssri"]
    assert record.outcome == -8.0
    assert record.amendments == (COURSE[4], COURSE[5], COURSE[7])
    assert record.ended
    assert not record.left


def test_a_unit_in_flight_is_the_same_object_until_it_ends() -> None:
    histories = told(*COURSE[:3])

    record = histories.get("u")

    assert record is histories.in_flight["u"] is histories.get("u")
    assert record.awaited == 2
    assert not record.ended
    assert histories.get("nobody") is None


def test_a_leaver_has_no_arm_to_come_and_no_features_where_columns_are_missing() -> None:
    histories = told(*COURSE[:2], Responded("u", "second", Values(("end1",), (3.0,))))
    record = histories.in_flight["u"]

    assert record.left
    assert plain(record.history) == (1, [[1.0, 12.0]], (0,), (), None)


def test_a_withdrawn_unit_waits_for_nothing() -> None:
    gone = Withdrawn("u", "moved away")

    record = told(*COURSE[:3], gone).get("u")

    assert record is not None
    assert record.withdrawn == gone
    assert record.ended
    assert record.history.feasible == ()


def test_units_come_in_the_order_of_their_rounds_whether_they_have_ended_or_not() -> None:
    later = [Enrolled(f"v{t}", t, Values(("start1",), (1.0,))) for t in (2, 3)]

    histories = told(COURSE[0], *later, *COURSE[1:])

    assert len(histories) == 3
    assert [record.history.unit for record in histories] == ["u", "v2", "v3"]
    assert list(histories.in_flight) == ["v2", "v3"]


def test_the_history_on_record_is_the_one_that_the_session_decides_by() -> None:
    session = dtr.Session(DESIGN, dtr.Greedy())
    session.enroll("u", {"start1": 12.0})

    record = session._belief.histories.get("u")

    assert record is not None
    assert plain(record.history) == (1, [[1.0, 12.0]], (0,), (), None)


@given(st.text(min_size=1), st.text(min_size=1))
def test_an_id_looks_like_a_known_one_if_both_fold_to_the_same(one: str, other: str) -> None:
    histories = opened()
    histories.add_name(one)

    assert (histories.look_alike(other) is not None) == (folded(one) == folded(other))
    assert histories.known_id(one) == one
    assert histories.known_id(other) in (other, normalize("NFC", other))


def test_what_is_no_text_is_no_known_id() -> None:
    number: Any = 7

    assert opened().known_id(number) is number


# -- the tally ---------------------------------------------------------------------------------------------------------

floats = st.floats(allow_nan=False, allow_infinity=False)
POLICIES: list[Any] = [dtr.UniformRandom(), dtr.DTRBandit(q=1, delta=0.5, schedule="permuted"), dtr.Greedy()]


# -- sums ------------------------------------------------------------------------------------------------------


@given(floats)
@example(5e-324)
@example(-5e-324)
@example(2.2250738585072014e-308)
@example(1.7976931348623157e308)
@example(-0.0)
def test_a_float_is_a_whole_number_of_the_smallest(number: float) -> None:
    assert Fraction(whole(number), 2**SCALE) == Fraction(number)


@given(st.lists(st.tuples(floats, st.booleans()), max_size=30), st.randoms(use_true_random=False))
def test_a_sum_is_exact_whatever_comes_and_goes_in_whatever_order(
    numbers: list[tuple[float, bool]], order: Any
) -> None:
    tally, changes = Tally(), [(None, number) for number, _ in numbers]
    changes += [(number, None) for number, goes in numbers if goes]  # type: ignore[misc]  # the other way
    order.shuffle(changes)

    for before, after in changes:
        tally.count_outcome(before, after)

    left = [Fraction(number) for number, goes in numbers if not goes]
    assert tally.outcomes == len(left)
    assert Fraction(tally.total, 2**SCALE) == sum(left)


@given(st.lists(st.floats(-1e100, 1e100), max_size=30))
def test_a_mean_is_rounded_once(numbers: list[float]) -> None:
    tally = Tally()

    for number in numbers:
        tally.count_outcome(None, number)

    exact = sum(map(Fraction, numbers)) / len(numbers) if numbers else None
    assert tally.mean_outcome == (None if exact is None else float(exact))


def test_a_correction_counts_in_the_place_of_what_it_corrects() -> None:
    tally = Tally()
    for before, after in ((None, 0.1), (None, 1e16), (0.1, 0.2), (1e16, 0.3)):
        tally.count_outcome(before, after)

    assert (tally.outcomes, tally.mean_outcome) == (2, float((Fraction(0.2) + Fraction(0.3)) / 2))


# -- counts ----------------------------------------------------------------------------------------------------


def naive_state(record: UnitRecord) -> int:
    """Say where a unit stands, from what its record has."""
    if record.voided is not None:
        return VOIDED
    if record.outcome is not None:
        return LEFT_AND_COMPLETED if record.left else COMPLETED
    if record.withdrawn is not None:
        return WITHDRAWN
    if record.left or len(record.reported) == 2:
        return AWAITS_OUTCOME
    return AWAITS_STAGE


def naive_count(histories: Histories) -> dict[str, object]:
    """Count all that a tally counts, over the records of all units."""
    records = list(histories)
    valid = [record.history.outcome for record in records if record.voided is None]
    outcomes = [Fraction(outcome) for outcome in valid if outcome is not None]
    amendments = Counter(type(each) for record in records for each in record.amendments)
    return {
        "states": Counter(map(naive_state, records)),
        "given": Counter(pair for record in records for pair in enumerate(record.history.arms)),
        "reasons": Counter(decision.reason for unit in histories.names for decision in histories.decisions(unit)),
        "overridden": amendments[Overridden],
        "corrected": amendments[Corrected],
        "excluded": sum(bool(record.exclusions) for record in records),
        "unblinded": sum(bool(record.unblinded) for record in records),
        "outcomes": len(outcomes),
        "total": sum(outcomes) * 2**SCALE,
    }


def counts(tally: Tally) -> dict[str, object]:
    found = {name: getattr(tally, name) for name in ("states", "given", "reasons")}
    return {**{name: +counter for name, counter in found.items()}, **{n: getattr(tally, n) for n in Tally.COUNTS}}


@seeded(40)
def test_a_tally_is_a_naive_count_over_all_units_after_any_course(seed: int) -> None:
    session = random_session(POLICIES[seed % 3], seed, 0, taught=seed % 2 == 1)
    rng = np.random.default_rng(seed)

    for _ in range(15):
        go_on(session, rng, 10)

        assert counts(session.histories.tally) == naive_count(session.histories)


def test_courses_have_facts_of_every_kind() -> None:
    kinds = Counter(type(event).__name__ for seed in range(10) for event in random_session(POLICIES[0], seed, 150).log)

    others = {"Ended", "Taught", "Upgraded"}  # after which nothing more is counted, or before
    assert set(kinds) >= {kind.__name__ for kind in get_args(Event)} - others


def test_a_void_unit_whose_story_is_looked_at_counts_once() -> None:
    session = dtr.Session(THREE_ARMS, dtr.UniformRandom())
    for unit, outcome in (("u1", 5.0), ("u2", 7.0)):
        session.enroll(unit, {"x": 0.0})
        session.respond(unit, {"r": -2.0})
        session.complete(unit, outcome)
    session.void("u1", reason="twice")

    session.unblind("u1", reason="an event")
    session.unblind("u1", reason="another event")

    assert session.summary().mean_outcome == 7.0
    assert session.histories.tally.outcomes == 1
    assert counts(session.histories.tally) == naive_count(session.histories)


def test_a_withdrawn_unit_has_no_outcome_and_one_that_is_void_after_its_end_changes_state() -> None:
    session = dtr.Session(THREE_ARMS, dtr.UniformRandom())
    for unit in ("u1", "u2", "u3"):
        session.enroll(unit, {"x": 0.0})
    session.withdraw("u1", reason="moved away")
    session.respond("u2", {"r": -2.0})
    session.complete("u2", 2.5)
    session.void("u2", reason="twice")

    tally = session.histories.tally

    assert +tally.states == {WITHDRAWN: 1, VOIDED: 1, AWAITS_STAGE: 1}
    assert (tally.outcomes, tally.total, tally.mean_outcome) == (0, 0, None)


@seeded(8)
def test_a_copy_stays_as_it_is_and_is_the_same_as_plain_values(seed: int) -> None:
    session = random_session(POLICIES[seed % 3], seed, 100)
    tally = session.histories.tally

    copy, before = tally.copy(), naive_count(session.histories)
    go_on(session, np.random.default_rng(seed), 60)

    assert counts(copy) == before != counts(tally)
    assert list(copy.reasons) == list(tally.reasons)[: len(copy.reasons)]  # ties keep their order in a summary
    assert Tally.from_dict(tally.to_dict()).to_dict() == tally.to_dict()


@pytest.mark.parametrize("before", [(0, 1), (1, 1), (1,)])
@pytest.mark.parametrize("after", [(0, 1), (1, 0), (0,)])
def test_arms_count_in_the_place_of_others(before: tuple[int, ...], after: tuple[int, ...]) -> None:
    if len(before) != len(after):
        with pytest.raises(ValueError, match=r"shorter|longer"):
            Tally().count_arms(before, after)
        return
    tally = Tally()
    tally.given.update(enumerate(before))

    tally.count_arms(before, after)

    assert +tally.given == Counter(enumerate(after))
