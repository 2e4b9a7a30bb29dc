"""What people write, as it is recorded."""

from __future__ import annotations

import pytest

import dtrbandit as dtr
from dtrbandit.record.texts import LONGEST_SITE, accept_reason, accept_site, accept_words, folded, is_unit_id


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
