"""Reasons as they are recorded."""

from __future__ import annotations

import pytest

import dtrbandit as dtr
from dtrbandit.record.reasons import accept_reason, accept_words


def test_a_text_is_recorded_as_it_was_given() -> None:
    assert accept_reason(" allergy ", "u1") == " allergy "
    assert accept_words("x" * 2000, "hold") == "x" * 2000


@pytest.mark.parametrize("found", ["", "  ", None, 3, "x" * 2001])
def test_what_says_nothing_or_too_much_is_refused_with_who_said_it(found: object) -> None:
    with pytest.raises(dtr.ObservationError, match="unit 'u1': a reason must be a text of 1 to 2000 characters"):
        accept_reason(found, "u1")
    with pytest.raises(dtr.ObservationError, match="hold: a reason must be"):
        accept_words(found, "hold")
