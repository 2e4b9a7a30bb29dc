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
        ({"function": "f", "identity": {"values": "1", "sources": ["a"]}},
         {"function": "f", "identity": {"values": "2", "sources": ["b"]}},
         "it, 'f' has another source there than here, or uses a function that has"),
        ({"function": "f", "identity": {"g": {"values": "1", "sources": []}}},
         {"function": "f", "identity": {"g": {"values": "2", "sources": []}}},
         "it, 'f', g uses another value there than here: a default, a variable around it, a global or an attribute"),
    ],
)  # fmt: skip
def test_the_first_difference_is_named(there: object, here: object, says: str | None) -> None:
    assert difference(there, here, "it") == says


OLD = {  # as 0.1.0 described code, part by part
    "function": {"source": "0" * 32, "global np": "'numpy'", "default of f": {"source": "1" * 32}},
    "a policy": {"class": "Mine", "decide": {"source": "0" * 32}, "share": {"fget": {"source": "1" * 32}}},
    "an attribute called source": {"class": "Mine", "source": "2" * 32, "decide": {"source": "0" * 32}},
    "without a source": {"constants": "3" * 32},
}


@pytest.mark.parametrize("old", OLD.values(), ids=OLD)
def test_code_that_0_1_0_stored_is_compared_by_its_sources(old: dict[str, object]) -> None:
    here = {"values": "4" * 32, "sources": ["0" * 32, "1" * 32, "5" * 32]}
    there, now = {"function": "f", "identity": old}, {"function": "f", "identity": here}

    assert difference(there, now, "it") is None
    assert difference(now, there, "it") is None


def test_another_source_than_0_1_0_stored_is_named() -> None:
    there = {"function": "f", "identity": OLD["a policy"], "seed": 1}
    now = {"function": "f", "identity": {"values": "4" * 32, "sources": ["0" * 32]}, "seed": 2}

    assert difference(there, now, "it") == "it, 'f' has another source there than here"


def test_what_follows_code_that_0_1_0_stored_is_compared() -> None:
    there = {"function": "f", "identity": OLD["function"], "seed": 1}
    now = {"function": "f", "identity": {"values": "4" * 32, "sources": ["0" * 32, "1" * 32]}, "seed": 2}

    assert difference(there, now, "it") == "it, 'f', seed is 1 there and 2 here"
