"""Snapshots: what goes in comes out, whatever is changed is refused, and what was restored answers as before."""

from __future__ import annotations

import json
from dataclasses import fields
from datetime import UTC, datetime
from hashlib import sha256
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays_of

import dtrbandit as dtr
from dtrbandit.record import Enrolled, Histories, Opened, Upgraded, snapshot
from dtrbandit.record.answers import answer_to
from dtrbandit.record.histories import UnitRecord, advance
from dtrbandit.record.snapshot import DIGEST, LENGTH, MAGIC, VERSION, Snapshot, frozen, joined, parted, restore
from dtrbandit.record.values import Values
from dtrbandit.summary import standing, summarise
from effort import seeded
from policies.states import every_policy
from random_course import DESIGN, go_on, next_command, random_session
from record.plain_histories import all_of, plain
from small_session import DESIGN as TWO_STAGES

DTYPES = ["<f8", "<f4", "<i8", "<i4", "<i2", "|i1", "|u1", "<u2", "<u4", "<u8", "|b1", ">f8"]
plain_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
headers = st.dictionaries(
    st.text(min_size=1).filter(lambda name: name not in ("version", "arrays")), plain_values, max_size=4
)
arrays = st.dictionaries(
    st.text(),
    st.sampled_from(DTYPES).flatmap(
        lambda kind: arrays_of.arrays(kind, arrays_of.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=4))
    ),
    max_size=4,
)


def small() -> Snapshot:
    return Snapshot({"sequence": 3, "é": [None, "text"]}, {"beta": np.array([1.5]), "rows": np.zeros((0, 2), np.int64)})


@given(headers, arrays)
def test_what_goes_in_comes_out_bit_for_bit(header: dict[str, Any], content: dict[str, Any]) -> None:
    found = Snapshot.from_bytes(Snapshot(header, content).to_bytes())

    assert found.header == header
    assert list(found.arrays) == list(content)
    for name, array in content.items():
        own = found.arrays[name]
        assert (own.dtype, own.shape, own.tobytes()) == (array.dtype, array.shape, array.tobytes())


@pytest.mark.parametrize("kind", DTYPES)
@pytest.mark.parametrize("shape", [(), (0,), (3,), (0, 5), (5, 0), (2, 3, 4)], ids=str)
def test_every_kind_and_shape_of_array_comes_out(kind: str, shape: tuple[int, ...]) -> None:
    array = np.arange(np.prod(shape, dtype=int)).reshape(shape).astype(kind)

    found = Snapshot.from_bytes(Snapshot({}, {"before": np.ones(3, "|i1"), "own": array}).to_bytes()).arrays["own"]

    assert (found.dtype.str, found.shape) == (kind, shape)
    assert found.tolist() == array.tolist()


def test_arrays_whose_entries_do_not_lie_side_by_side_come_out_in_order() -> None:
    array = np.arange(24.0).reshape(4, 6)

    found = Snapshot.from_bytes(Snapshot({}, {"part": array[::2, 1::2], "other": array.T}).to_bytes())

    assert found.arrays["part"].tolist() == array[::2, 1::2].tolist()
    assert found.arrays["other"].tolist() == array.T.tolist()


def test_numbers_that_are_no_number_or_infinite_come_out() -> None:
    numbers = np.array([np.nan, -np.nan, np.inf, -np.inf, -0.0, 5e-324])

    assert Snapshot.from_bytes(Snapshot({}, {"x": numbers}).to_bytes()).arrays["x"].tobytes() == numbers.tobytes()


def test_arrays_begin_where_a_processor_reads_them_at_once_and_cannot_be_written_to() -> None:
    content = Snapshot({"name": "x"}, {"odd": np.ones(3, "|i1"), "beta": np.arange(5.0)}).to_bytes()

    found = Snapshot.from_bytes(content)

    assert (len(MAGIC) + LENGTH + int.from_bytes(content[len(MAGIC) : len(MAGIC) + LENGTH], "little")) % 8 == 0
    with pytest.raises(ValueError, match="read-only"):
        found.arrays["beta"][0] = 2.0


def test_every_flipped_bit_is_found() -> None:
    content = small().to_bytes()
    passed = []

    for place in range(len(content)):
        for bit in range(8):
            damaged = bytearray(content)
            damaged[place] ^= 1 << bit
            try:
                Snapshot.from_bytes(bytes(damaged))
            except dtr.LogError:
                continue
            passed.append((place, bit))

    assert passed == []
    assert Snapshot.from_bytes(content).header == small().header


def test_every_truncation_and_what_was_added_is_found() -> None:
    content = small().to_bytes()

    for length in range(len(content)):
        with pytest.raises(dtr.LogError, match="damaged, or no snapshot"):
            Snapshot.from_bytes(content[:length])
    for more in (b"\0", b" ", b"\n" * 40, content):
        with pytest.raises(dtr.LogError, match="damaged, or no snapshot"):
            Snapshot.from_bytes(content + more)


def test_what_is_whole_and_no_snapshot_is_refused() -> None:
    body = b"another kind of file\n" + bytes(100)

    with pytest.raises(dtr.LogError, match="no snapshot"):
        Snapshot.from_bytes(body + sha256(body).digest())


def test_that_of_another_version_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(snapshot, "VERSION", VERSION + 1)
    content = small().to_bytes()
    monkeypatch.undo()

    with pytest.raises(dtr.LogError, match="another release wrote it"):
        Snapshot.from_bytes(content)


def test_no_code_is_in_it() -> None:
    """The header is JSON, and arrays are raw: an array of objects, which would have to be pickled, is refused."""
    content = small().to_bytes()
    start = len(MAGIC) + LENGTH
    end = start + int.from_bytes(content[len(MAGIC) : start], "little")

    assert json.loads(content[start:end])["sequence"] == 3
    assert len(content) == end + 8 + DIGEST
    objects = Snapshot({}, {"x": np.array([object()])}).to_bytes()
    with pytest.raises(ValueError, match="OBJECT"):
        Snapshot.from_bytes(objects)


@given(st.lists(st.text(st.characters(exclude_characters="\n", exclude_categories=["Cs"]), min_size=1), max_size=8))
def test_texts_are_joined_and_parted_again(texts: list[str]) -> None:
    assert parted(joined(texts)) == texts


# -- histories ---------------------------------------------------------------------------------------------------------

POLICIES: list[Any] = [dtr.DTRBandit(q=1, delta=0.5, schedule="permuted"), dtr.UniformRandom(), dtr.LSVIUCB(beta=0.5)]


def thawed(session: dtr.Session, content: bytes | None = None) -> Histories:
    """Return the histories that a session's own lead to when they are frozen, written, read and restored."""
    own = session.histories
    written = frozen(own).snapshot().to_bytes() if content is None else content
    found = Histories(own.design, own.opened)
    found.facts = own.facts  # of units that have ended
    restore(found, Snapshot.from_bytes(written))
    return found


@seeded(40)
def test_restored_histories_are_those_that_were_frozen(seed: int) -> None:
    session = random_session(POLICIES[seed % 3], seed, 0, taught=seed % 2 == 1)
    rng = np.random.default_rng(seed)

    for _ in range(6):
        go_on(session, rng, 25)

        assert all_of(thawed(session)) == all_of(session.histories)


def answered(histories: Histories, command: Any) -> Any:
    """Return what the rules say of a command: a fact, the record of its unit, and the history that it leads to."""
    try:
        fact, known, decision = answer_to(histories, command)
    except dtr.DTRError as error:
        return type(error), str(error)
    history = None if fact is None else advance(histories.design, known, fact, histories.barred)
    return plain(fact), plain(known), plain(decision), plain(history)


@seeded(16)
def test_restored_histories_answer_the_same_and_change_nothing_of_it(seed: int) -> None:
    session = random_session(POLICIES[seed % 3], seed, 150, taught=seed % 2 == 1)
    restored, rng = thawed(session), np.random.default_rng(seed)
    said = [next_command(session.histories, rng) for _ in range(150)]
    said += [dtr.Enroll("u3", {"x": 0.5}), dtr.Complete("nobody", 1.0), dtr.Upgrade("why"), dtr.End("complete")]

    answers = [answered(restored, command) for command in said]

    assert answers == [answered(session.histories, command) for command in said]
    assert len({repr(answer) for answer in answers}) > 20  # 38 and more were found
    assert all_of(restored) == all_of(session.histories)


@seeded(8)
def test_what_was_frozen_stays_as_it_was_while_the_session_goes_on(seed: int) -> None:
    session = random_session(POLICIES[seed % 3], seed, 80)
    own = frozen(session.histories)
    before = own.snapshot().to_bytes()

    go_on(session, np.random.default_rng(seed), 80)

    assert own.snapshot().to_bytes() == before != frozen(session.histories).snapshot().to_bytes()


def test_the_same_histories_are_frozen_to_the_same_bytes_whichever_way_they_came_about() -> None:
    session = random_session(POLICIES[0], 3, 200, taught=True)
    resumed = dtr.Session.resume(session.log)

    own = frozen(session.histories).snapshot().to_bytes()

    assert frozen(resumed.histories).snapshot().to_bytes() == own
    assert frozen(thawed(session)).snapshot().to_bytes() == own


def test_units_of_an_earlier_trial_are_frozen_in_one_order_in_every_process() -> None:
    """They are kept in a set, whose order differs from process to process; ``verify`` compares bytes."""
    session = random_session(POLICIES[0], 1, 0, taught=True)

    assert frozen(session.histories).taught == ["e1", "e2", "u2"]


def test_texts_of_any_language_and_a_session_without_units_are_restored() -> None:
    empty = dtr.Session(DESIGN, dtr.Greedy())
    odd = dtr.Session(DESIGN, dtr.Greedy())
    odd.hold(reason='a "quoted" \\ reason, 悪い', site="süd")
    odd.enroll("患者 1", {"x": 1e-300}, exclude={"second": ["a", "c"]}, reason="allergie à l'arrivée", site="nord")

    assert all_of(thawed(empty)) == all_of(empty.histories)
    assert all_of(thawed(odd)) == all_of(odd.histories)


def test_contraindications_of_one_arrival_and_of_several_are_restored() -> None:
    session = dtr.Session(DESIGN, dtr.Greedy())
    session.enroll("both", {"x": 1.0}, exclude={"first": ["a"], "second": ["a"]}, reason="allergy")
    session.respond("both", {"z": 0.5, "r": 1.0}, exclude={"second": ["c"]}, reason="interaction")
    session.enroll("later", {"x": 1.0})
    session.respond("later", {"z": 0.5, "r": 1.0}, exclude={"second": ["b"]}, reason="pregnancy")
    session.enroll("leaver", {"x": 1.0}, exclude={"second": ["b"]}, reason="allergy")
    session.respond("leaver", {"r": -2.0})

    restored = thawed(session)

    assert all_of(restored) == all_of(session.histories)
    assert restored.in_flight["both"].history.excluded == (((0, 0), (1, 0)), ((0, 0), (1, 0), (1, 2)))
    assert restored.in_flight["later"].history.excluded == ((), ((1, 1),))
    assert restored.in_flight["leaver"].left


def test_corrections_before_and_after_the_next_arrival_are_told_apart() -> None:
    session = dtr.Session(DESIGN, dtr.Greedy())
    session.enroll("before", {"x": 1.0})
    session.correct("before", stage="first", context={"x": 2.0}, reason="typo")
    session.respond("before", {"z": 0.5, "r": 1.0})
    session.enroll("after", {"x": 1.0})
    session.respond("after", {"z": 0.5, "r": 1.0})
    session.correct("after", stage="first", context={"x": 3.0}, reason="typo")
    session.override("after", "c", reason="supply", stage="second")

    restored = thawed(session)

    assert all_of(restored) == all_of(session.histories)
    for unit, now in (("before", 2.0), ("after", 3.0)):
        record = restored.in_flight[unit]
        assert (record.reported[0]["x"], record.contexts[0]["x"]) == (1.0, now)
        assert record.history.features[0].tolist() == [1.0, now]


def test_an_upgrade_keeps_its_number_in_the_log() -> None:
    opened = Opened(DESIGN.to_dict(), {"name": "Greedy"}, 0, dtr.NUMERICS - 1)
    old = dtr.Session.resume([opened])
    old.hold(reason="a move")
    old.upgrade(reason="the old release is gone")
    old.release(reason="moved")
    old.enroll("u", {"x": 1.0})

    restored = thawed(old)

    assert all_of(restored) == all_of(old.histories)
    assert restored.upgrades == [(3, Upgraded(dtr.NUMERICS, dtr.__version__, "the old release is gone"))]
    assert restored.numerics == dtr.NUMERICS


def test_a_trial_that_has_ended_is_restored_and_lets_nobody_in() -> None:
    session = random_session(POLICIES[0], 1, 60)
    session.end(reason="complete")

    restored = thawed(session)

    assert all_of(restored) == all_of(session.histories)
    assert answered(restored, dtr.Enroll("next", {"x": 0.0})) == answered(
        session.histories, dtr.Enroll("next", {"x": 0.0})
    )


@pytest.mark.parametrize("policy", every_policy(DESIGN), ids=repr)
def test_decisions_of_every_policy_are_restored_bit_for_bit(policy: Any) -> None:
    """Some have Q values for all arms, some for a few or none."""
    session = dtr.Session(DESIGN, policy, seed=2)
    for t in range(24):
        session.enroll(f"u{t}", {"x": t / 7})
        if t % 3:
            session.respond(f"u{t}", {"z": t / 9, "r": 1.0})
        if t % 3 == 2:
            session.complete(f"u{t}", float(t % 5))

    restored = thawed(session)

    assert len(restored.in_flight) == 16
    assert all_of(restored) == all_of(session.histories)


def test_the_summary_of_restored_histories_is_the_same() -> None:
    session = random_session(POLICIES[1], 5, 150)

    restored = thawed(session)

    own = summarise(standing(DESIGN, POLICIES[1], restored, None))
    assert own == summarise(standing(DESIGN, POLICIES[1], session.histories, None))
    assert str(own) == str(session.summary())


def test_restored_histories_take_the_next_fact() -> None:
    session = random_session(POLICIES[1], 5, 100)
    restored, next_round = thawed(session), len(session.histories) + 1
    fact = Enrolled("next", next_round, Values(("x",), (0.5,)))

    restored.record(fact, None, advance(DESIGN, None, fact))

    assert restored.rounds["next"] == next_round
    assert list(restored.in_flight)[-1] == "next"
    assert restored.count == session.version + 1


def test_every_field_of_a_units_record_lasts() -> None:
    session = dtr.Session(TWO_STAGES, dtr.Greedy())
    session.enroll("u", {"start1": 0.5}, site="north", exclude={"second": ["ssri"]}, reason="allergy")
    session.override("u", "other" if session.histories.decisions("u")[0].arm == "ssri" else "ssri", reason="supply")
    session.correct("u", stage="first", context={"start1": 1.5}, reason="misread")
    session.unblind("u", reason="a reaction")
    session.respond("u", {"end1": 2.0})
    record = session.histories.in_flight["u"]
    record.since = datetime(2026, 11, 18, tzinfo=UTC)
    ends = {"outcome", "withdrawn", "voided"}  # a unit in flight has none of these
    set_fields = {field.name for field in fields(UnitRecord) if getattr(record, field.name) not in ((), None, False)}
    assert set_fields == {field.name for field in fields(UnitRecord)} - ends

    other = Histories(TWO_STAGES, session.histories.opened)
    restore(other, frozen(session.histories).snapshot())

    for field in fields(UnitRecord):
        assert repr(getattr(other.in_flight["u"], field.name)) == repr(getattr(record, field.name)), field.name
