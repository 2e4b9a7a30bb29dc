"""What stands in facts: numbers by label, which nothing can change, and texts as people wrote them."""

from __future__ import annotations

import copy
import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

import dtrbandit as dtr
from dtrbandit.record.values import (
    LONGEST_SITE,
    Values,
    accept_reason,
    accept_site,
    accept_words,
    folded,
    is_unit_id,
    unpacked,
)

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


# -- texts -------------------------------------------------------------------------------------------------------------


def test_a_text_is_recorded_as_it_was_given() -> None:
    assert accept_reason(" allergy ", "u1") == " allergy "
    assert accept_words("x" * 2000, "hold") == "x" * 2000


@pytest.mark.parametrize("found", ["", "  ", None, 3, "x" * 2001])
def test_what_says_nothing_or_too_much_is_refused_with_who_said_it(found: object) -> None:
    with pytest.raises(dtr.ObservationError, match="unit 'u1': a reason must be a text of 1 to 2000 characters"):
        accept_reason(found, "u1")
    with pytest.raises(dtr.ObservationError, match="hold: a reason must be"):
        accept_words(found, "hold")


@pytest.mark.parametrize("found", ["", " u", "u ", "u\n1", "x" * 201, 7, None])
def test_what_nobody_could_type_again_is_no_id(found: object) -> None:
    assert not is_unit_id(found)
    assert is_unit_id("x" * 200)


@pytest.mark.parametrize("found", ["", " north", "no\nrth", "x" * (LONGEST_SITE + 1), 7])
def test_a_site_has_a_name_that_can_be_typed_again_or_none(found: object) -> None:
    with pytest.raises(dtr.ObservationError, match=f"a printable text of 1 to {LONGEST_SITE} characters"):
        accept_site(found)
    assert accept_site(None) is None
    assert accept_site("x" * LONGEST_SITE) == "x" * LONGEST_SITE


def test_ids_fold_without_regard_to_case_and_encoding() -> None:
    assert folded("U1") == folded("u1") == "u1"
    assert folded("stra\u00dfe") == folded("STRASSE")
    assert folded("Am\u00e9lie") == folded("AME\u0301LIE") != folded("Amelie")
