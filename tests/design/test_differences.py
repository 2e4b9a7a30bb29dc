"""In what two descriptions differ: the first place, by name, and what stands there."""

from __future__ import annotations

import pytest

from dtrbandit.design.differences import difference


@pytest.mark.parametrize(
    ("there", "here", "says"),
    [
        ({"a": 1}, {"a": 1}, None),
        (1, 2, "it is 1 there and 2 here"),
        ({"a": 1}, {"a": 1, "b": None}, "it, b is missing there and None here"),
        ({"a": 1, "b": 2}, {"a": 1}, "it, b is 2 there and missing here"),
        ([1, {"name": "s", "x": 1}], [1, {"name": "s", "x": 2}], "it, 's', x is 1 there and 2 here"),
        ([1, 2], [1], "it is [1, 2] there and [1] here"),
        ("ab", "ac", "it is 'ab' there and 'ac' here"),
        ({"function": "f", "identity": {"g": "1"}}, {"function": "f", "identity": {"g": "2"}},
         "it, 'f', g is '1' there and '2' here"),
    ],
)  # fmt: skip
def test_the_first_difference_is_named(there: object, here: object, says: str | None) -> None:
    assert difference(there, here, "it") == says
