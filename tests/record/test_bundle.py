"""Facts side by side."""

from __future__ import annotations

from struct import pack

import numpy as np
import pytest

from dtrbandit.record.bundle import HeadCounter, Unusual, joined, side_by_side
from dtrbandit.record.packed import facts_of
from small_session import session_of


def test_heads_are_numbered_as_they_come() -> None:
    number_of = HeadCounter()

    assert [number_of(head) for head in [("a",), ("b",), ("a",)]] == [0, 1, 0]
    assert number_of.heads == [("a",), ("b",)]
    with pytest.raises(Unusual):
        number_of((["a"],))


def test_numbers_stand_side_by_side_and_none_is_too_many_or_too_few() -> None:
    packed = [pack("2d", 1.0, 2.0), b"", pack("2d", 3.0, 4.0)]

    found = side_by_side(np.array([0, 1, 0]), packed, [2, 0])

    assert found.tolist()[::2] == [[1.0, 2.0], [3.0, 4.0]]
    with pytest.raises(Unusual):  # as many in all, but not each
        side_by_side(np.array([0, 0]), [pack("3d", 1.0, 2.0, 3.0), pack("d", 4.0)], [2])


def test_bundles_are_joined_in_order() -> None:
    log = session_of(40)._belief.histories.log
    parts = [log.bundle(1, 70), log.bundle(70, 71), log.bundle(71, len(log))]

    found = joined(parts)

    assert list(facts_of(found, found.said)) == list(log.events(1, len(log)))
    assert len(set(found.heads)) == len(found.heads)
