"""Numbers by label: a mapping that holds bytes and nothing can change."""

from __future__ import annotations

import copy
import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dtrbandit.record.values import Values, unpacked

labels = st.text(max_size=3)
floats = st.floats(allow_nan=False)
entries = st.dictionaries(labels, st.one_of(st.none(), floats))


@given(entries)
def test_it_is_the_mapping_that_it_was_made_from(given_entries: dict[str, float | None]) -> None:
    values = Values(tuple(given_entries), tuple(given_entries.values()))

    assert values == given_entries
    assert given_entries == values
    assert list(values) == list(given_entries)
    assert len(values) == len(given_entries)
    assert repr(values) == repr(given_entries)
    for copied in (copy.deepcopy(values), pickle.loads(pickle.dumps(values))):
        assert type(copied) is Values
        assert copied.labels == values.labels
        assert copied.packed == values.packed


def test_numbers_are_nan_and_entries_none_where_there_is_none() -> None:
    values = Values(("a", "b"), (1.5, None))

    assert values["b"] is None
    assert values.numbers[0] == 1.5
    assert values.numbers[1] != values.numbers[1]
    assert dict(values.pairs())["a"] == 1.5
    assert unpacked(values.packed)[0] == 1.5
    assert len(values.packed) == 16


def test_packed_numbers_are_taken_as_they_are() -> None:
    values = Values(("a", "b"), (1.5, None))

    assert Values(("a", "b"), values.packed) == values
    assert Values(("b", "a"), values.packed) != values


def test_the_order_of_labels_and_the_sign_of_zero_do_not_matter() -> None:
    assert Values(("a", "b"), (1.0, 0.0)) == Values(("b", "a"), (-0.0, 1.0))
    assert Values(("a",), (1.0,)) != Values(("a", "b"), (1.0, None))
    assert Values(("a",), (1.0,)) != 1.0


def test_an_unknown_label_is_a_key_error_and_values_have_no_hash() -> None:
    values = Values(("a",), (1.0,))

    with pytest.raises(KeyError, match="'b'"):
        values["b"]
    assert values.get("b") is None
    assert "b" not in values
    with pytest.raises(TypeError, match="unhashable"):
        hash(values)
