"""Contrasts: two regimes by name, as a pair, or two arms; anything else is refused."""

from __future__ import annotations

import pytest

import dtrbandit as dtr
from dtrbandit.errors import DesignError
from dtrbandit.evaluation.looks.contrast import regimes_of

ONE = dtr.Design([dtr.Stage("dose", ("low", "high"), "1 + x")])
TWO = dtr.Design([dtr.Stage("first", ("a", "b"), "1 + x"), dtr.Stage("second", ("a", "b"), "1 + z")])
AA, AB = (dtr.FixedRegime(rule={"first": "a", "second": arm}) for arm in ("a", "b"))
TAILORED = dtr.FixedRegime(rule={"first": "a", "second": {"a": [0, 0], "b": [0, 1]}})


def test_regimes_keep_their_names() -> None:
    assert regimes_of({"keep": AA, "switch": AB}, TWO) == {"keep": AA, "switch": AB}


def test_a_pair_is_named_by_its_arms_or_its_place() -> None:
    assert list(regimes_of((AB, TAILORED), TWO)) == ["a, then b", "the second regime"]


def test_two_arms_of_one_stage_are_regimes() -> None:
    regimes = regimes_of(("high", "low"), ONE)

    assert [regime.rule for regime in regimes.values()] == [{"dose": "high"}, {"dose": "low"}]
    assert list(regimes) == ["high", "low"]


@pytest.mark.parametrize(
    ("contrast", "design", "said"),
    [
        (("a", "b"), TWO, "where there is one stage"),
        (("high", "none"), ONE, "one of its arms 'low', 'high'; found 'none'"),
        ((AA,), TWO, "two different FixedRegimes"),
        ((AA, AA), TWO, "two different FixedRegimes"),
        ({"a": AA, "b": AB, "c": TAILORED}, TWO, "two different FixedRegimes"),
        ((AA, 3), TWO, "two different FixedRegimes"),
        ("high", ONE, "two different FixedRegimes"),
        (None, ONE, "two different FixedRegimes"),
    ],
)
def test_what_is_no_contrast_is_refused(contrast: object, design: dtr.Design, said: str) -> None:
    with pytest.raises(DesignError, match=said):
        regimes_of(contrast, design)
