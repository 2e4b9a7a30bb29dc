"""Bytes of many facts at once are those of each fact, one after the other."""

from __future__ import annotations

from itertools import pairwise
from struct import pack
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dtrbandit.record.blocks import in_turn, laid_out, taken_apart
from dtrbandit.record.bundle import Unusual

whole = st.integers(0, 2**32 - 1)
facts = st.lists(st.tuples(whole, whole, whole, st.lists(st.floats(), max_size=4)), min_size=1, max_size=30)


@given(facts)
def test_facts_are_laid_out_as_one_by_one_and_taken_apart_again(facts: list[tuple[Any, ...]]) -> None:
    entries = [pack("<III", *fact[:3]) + pack(f"<{len(fact[3])}d", *fact[3]) for fact in facts]
    header = np.array([fact[:3] for fact in facts], dtype=np.int64)
    widths = np.array([len(fact[3]) for fact in facts])
    numbers = np.full((len(facts), widths.max()), np.nan)
    for row, fact in zip(numbers, facts, strict=True):
        row[: len(fact[3])] = fact[3]

    joined, starts = laid_out(header, numbers, widths)
    found, numbers_of = taken_apart(entries)

    assert [joined[begin:end] for begin, end in pairwise(starts)] == entries
    assert found.tolist() == header.tolist()
    assert numbers_of(widths).tobytes() == numbers.tobytes()


def test_entries_with_texts_are_not_taken_apart() -> None:
    with pytest.raises(Unusual):
        taken_apart([pack("<III", 1, 2, 3), pack("<III", 0, 2, 3) + b"moved"])


@given(st.lists(st.integers(1, 6), min_size=1), st.lists(st.integers(0, 99), min_size=7, max_size=7))
def test_each_fact_knows_the_one_before_it_of_the_same_unit(rounds: list[int], known: list[int]) -> None:
    last, expected = dict(enumerate(known)), []
    for place, t in enumerate(rounds, 100):
        expected.append(last[t])
        last[t] = place

    before, units, places = in_turn(np.array(rounds), 100 + np.arange(len(rounds)), np.array(known, dtype=np.uint32))

    assert before.tolist() == expected
    assert dict(zip(units.tolist(), places.tolist(), strict=True)) == {t: last[t] for t in set(rounds)}
