"""Verdicts follow from an interval and what is allowed."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dtrbandit.reproduce.claims import Claim, Measured, Verdict, Whose, exactly, highest, judged, together

NUMBERS = st.floats(-10, 10)


@pytest.mark.parametrize(
    ("low", "high", "verdict"),
    [
        (0.2, 0.4, Verdict.HOLDS),
        (0.6, 0.7, Verdict.REFUTED),
        (0.4, 0.6, Verdict.OPEN),
        (0.5, 0.5, Verdict.OPEN),
        (-math.inf, 0.4, Verdict.HOLDS),
        (-math.inf, math.inf, Verdict.OPEN),
        (math.nan, math.nan, Verdict.OPEN),
    ],
)
def test_one_side_is_allowed(low: float, high: float, verdict: Verdict) -> None:
    assert judged(Measured(0.5, low, high), below=0.5) == verdict
    assert judged(Measured(-0.5, -high, -low), above=-0.5) == verdict


@given(NUMBERS, NUMBERS, NUMBERS, NUMBERS)
def test_within_holds_outside_is_refuted_and_all_else_cannot_be_told(a: float, b: float, c: float, d: float) -> None:
    (low, high), (least, most) = sorted((a, b)), sorted((c, d))

    verdict = judged(Measured((low + high) / 2, low, high), above=least, below=most)

    assert (verdict is Verdict.HOLDS) == (least < low and high < most)
    assert (verdict is Verdict.REFUTED) == (high < least or most < low)


def test_parts_hold_together_and_one_that_is_refuted_refutes() -> None:
    holds, refuted, open_ = Verdict.HOLDS, Verdict.REFUTED, Verdict.OPEN

    assert together([holds, holds]) is holds
    assert together([holds, open_]) is open_
    assert together([open_, refuted, holds]) is refuted
    assert (exactly(True), exactly(False)) == (holds, refuted)


def test_only_what_holds_is_a_tick_and_a_record_keeps_the_contract() -> None:
    claims = [Claim("It learns", "1", "2", verdict, Whose.OURS) for verdict in Verdict]

    assert [claim.verdict.mark for claim in claims] == ["✓", "✗", "?"]
    assert [(claim.holds, claim.refuted) for claim in claims] == [(True, False), (False, True), (False, False)]
    assert list(claims[0].record()) == ["claim", "measured", "allowed", "holds", "verdict", "whose"]
    assert [claim.record()["verdict"] for claim in claims] == ["holds", "refuted", "cannot be told"]
    assert claims[0].record()["whose"] == "ours"
    assert Claim("", "", "", Verdict.HOLDS).record()["whose"] == "the paper's"


def test_a_number_is_shown_with_its_interval_or_with_the_reason_why_there_is_none() -> None:
    assert f"{Measured(1.25, 1.0, 1.5, 'about 90 %'):.2f}" == "1.25 (1.00 to 1.50, about 90 %)"
    assert f"{Measured(1.25, math.nan, math.nan, 'too few'):.1f}" == "1.2 (too few)"


def test_the_highest_has_the_highest_limit_or_value() -> None:
    assert highest({"a": Measured(1, 0, 3), "b": Measured(2, 1, 2.5)}) == "a"
    assert highest({"a": Measured(1, math.nan, math.nan), "b": Measured(2, math.nan, math.nan)}) == "b"
