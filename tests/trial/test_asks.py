"""Asks: their fingerprints, and what may stand on record with them."""

from __future__ import annotations

import numpy as np
import pytest

import dtrbandit as dtr
from dtrbandit.record import Command
from dtrbandit.trial.asks import check_label, fingerprint


def test_a_fingerprint_is_of_the_content() -> None:
    one = fingerprint(dtr.Enroll("u1", {"x": 1, "y": 2.5}))

    assert one == fingerprint(dtr.Enroll("u1", {"y": 2.5, "x": 1.0}))
    assert one == fingerprint(dtr.Enroll("u1", {"x": np.float64(1), "y": np.float64(2.5)}))
    others: list[Command] = [
        dtr.Enroll("u2", {"x": 1, "y": 2.5}),
        dtr.Enroll("u1", {"x": 2, "y": 2.5}),
        dtr.Enroll("u1", {"x": True, "y": 2.5}),
        dtr.Enroll("u1", {"x": "1", "y": 2.5}),  # type: ignore[dict-item]
        dtr.Enroll("u1", {"x": 1}),
        dtr.Respond("u1", {"x": 1, "y": 2.5}),
    ]
    assert len({one, *map(fingerprint, others)}) == len(others) + 1


def test_anything_has_a_fingerprint() -> None:
    for strange in (float("nan"), 10**400, None, object, [1, {"a": 2}]):
        assert len(fingerprint(dtr.Complete("u1", strange))) == 64  # type: ignore[arg-type]


@pytest.mark.parametrize("text", ["", "a" * 201, "a\nb", "\0", 7, b"a"])
def test_a_label_that_cannot_be_recorded_is_refused(text: object) -> None:
    with pytest.raises(dtr.ObservationError, match="an actor must be a printable text"):
        check_label(text, "an actor")


def test_a_label_may_be_missing() -> None:
    check_label(None, "an actor")
    check_label("Dr. Ü", "an actor")
