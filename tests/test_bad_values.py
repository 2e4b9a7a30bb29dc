"""Every kind of value that numpy, pandas and Python have beside numbers and texts, wherever a value comes in."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest

import dtrbandit as dtr
from test_bad_input import CONTEXT, started, unchanged

RECORD = np.array([(1.0,)], dtype=[("x", float)])[0]
VALUES: dict[str, Any] = {
    "numpy.timedelta64 of days": np.timedelta64(3, "D"),
    "numpy.timedelta64 NaT": np.timedelta64("NaT", "D"),
    "numpy.datetime64": np.datetime64("2026-11-18"),
    "numpy.datetime64 NaT": np.datetime64("NaT", "D"),
    "numpy.complex128": np.complex128(1),
    "complex": 1j,
    "numpy.void": np.void(b"abc"),
    "numpy.void of fields": RECORD,
    "numpy.str_": np.str_("3"),
    "numpy.bytes_": np.bytes_(b"3"),
    "numpy.bool_": np.bool_(True),
    "numpy.float16 NaN": np.float16("nan"),
    "numpy.longdouble": np.longdouble("1e400"),
    "numpy.int64 that no float represents": np.int64(2**53 + 1),
    "numpy.uint64 that no float represents": np.uint64(2**64 - 1),
    "Decimal": Decimal("1.5"),
    "Decimal NaN": Decimal("NaN"),
    "Decimal sNaN": Decimal("sNaN"),
    "Fraction that no float represents": Fraction(1, 3),
    "Fraction beyond the floats": Fraction(10**400),
    "datetime": datetime.datetime(2026, 11, 18),
    "date": datetime.date(2026, 11, 18),
    "timedelta": datetime.timedelta(3),
    "pandas.NA": pd.NA,
    "pandas.NaT": pd.NaT,
    "pandas.Timestamp": pd.Timestamp("2026-11-18"),
    "pandas.Timedelta": pd.Timedelta("3D"),
    "pandas.Series": pd.Series([1.0, 2.0]),
    "pandas.DataFrame": pd.DataFrame({"x": [1.0]}),
    "array of no dimension": np.array(1.0),
    "array of one number": np.array([1.0]),
    "array of two numbers": np.array([1.0, 2.0]),
    "empty array": np.array([]),
    "array of texts": np.array(["ssri", "other"]),
    "array of one text": np.array(["other"]),
    "text of no dimension": np.array("other"),
    "masked": np.ma.masked,
    "masked array": np.ma.array([1.0], mask=[True]),
    "bytes": b"3",
    "list": [1.0],
    "set": {1.0},
    "object": object(),
}
NUMBERS: dict[str, Callable[[dtr.Session, Any], object]] = {
    "enroll": lambda s, value: s.enroll("u", {**CONTEXT, "start1": value}),
    "repeated enroll": lambda s, value: s.enroll("new", {**CONTEXT, "start1": value}),
    "respond": lambda s, value: s.respond("new", {"start2": value, "end1": 8.0}),
    "enter_if": lambda s, value: s.respond("new", {"start2": 9.0, "end1": value}),
    "complete": lambda s, value: s.complete("entered", value),
    "repeated complete": lambda s, value: s.complete("done", value),
    "correct outcome": lambda s, value: s.correct("done", outcome=value, reason="typo"),
    "correct context": lambda s, value: s.correct("done", stage="first", context={"start1": value}, reason="typo"),
    "q_hat": lambda s, value: s.q_hat("first", {**CONTEXT, "start1": value}),
}
NAMES: dict[str, Callable[[dtr.Session, Any], object]] = {
    "enroll": lambda s, value: s.enroll(value, CONTEXT),
    "context": lambda s, value: s.enroll("u", value),
    "site": lambda s, value: s.enroll("u", CONTEXT, site=value),
    "exclude": lambda s, value: s.enroll("u", CONTEXT, exclude={"first": value}, reason="allergy"),
    "excluded arm": lambda s, value: s.enroll("u", CONTEXT, exclude={"first": [value]}, reason="allergy"),
    "respond": lambda s, value: s.respond("new", {"start2": 9.0, "end1": 8.0}, stage=value),
    "override": lambda s, value: s.override("new", value, reason="wrong box"),
    "overridden stage": lambda s, value: s.override("new", "other", reason="wrong box", stage=value),
    "corrected stage": lambda s, value: s.correct("done", stage=value, context={"start1": 3.0}, reason="typo"),
    "close_arm": lambda s, value: s.close_arm("first", value, reason="harm"),
    "closed stage": lambda s, value: s.close_arm(value, "other", reason="harm"),
    "reason": lambda s, value: s.hold(reason=value),
    "q_hat": lambda s, value: s.q_hat(value, CONTEXT),
    "arm of q_hat": lambda s, value: s.q_hat("second", {"start2": 9.0, "first": value}),
}
PARAMETERS: dict[str, Callable[[dtr.Session, Any], object]] = {
    "seed": lambda s, value: dtr.Session(s.design, dtr.Greedy(), seed=value),
    "q": lambda _, value: dtr.DTRBandit(q=value, delta=1.0),
    "delta": lambda _, value: dtr.DTRBandit(q=1, delta=value),
}
TEXTS = {"numpy.str_"}  # a text, which is a good name, and no number
LABELS = {"array of one text"}  # a list of arms
NUMBERS_AFTER_ALL = ("numpy.uint64", "numpy.int64", "Fraction that", "list")  # which a parameter may be


@pytest.mark.parametrize("value", VALUES)
def test_what_is_no_number_that_a_float_holds_is_refused_in_words_and_changes_nothing(value: str) -> None:
    session = started()

    with unchanged(session):
        for attempt in NUMBERS.values():
            with pytest.raises(dtr.ObservationError, match=r"(?s)found .*allowed are finite numbers"):
                attempt(session, VALUES[value])


@pytest.mark.parametrize("value", [name for name in VALUES if name not in (*TEXTS, *LABELS)])
def test_what_is_no_text_is_no_name_and_changes_nothing(value: str) -> None:
    session = started()

    with unchanged(session):
        for attempt in NAMES.values():
            with pytest.raises(dtr.DTRError):
                attempt(session, VALUES[value])


@pytest.mark.parametrize("value", [name for name in VALUES if not name.startswith(NUMBERS_AFTER_ALL)])
def test_what_is_no_number_is_no_parameter(value: str) -> None:
    session = started()

    for attempt in PARAMETERS.values():
        with pytest.raises(dtr.DesignError, match="found"):
            attempt(session, VALUES[value])


@pytest.mark.parametrize("value", [np.float32(0.5), np.int64(3), np.uint8(3), np.float16(1.5), Fraction(1, 2), 2**53])
def test_numbers_of_any_kind_that_a_float_holds_are_recorded_as_floats(value: Any) -> None:
    session = started()

    session.complete("entered", value)

    record = session.histories.get("entered")
    assert record is not None
    assert (record.history.outcome, type(record.history.outcome)) == (float(value), float)
