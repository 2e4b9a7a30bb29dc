"""Words for people."""

from __future__ import annotations

import pytest

from dtrbandit.words import counted


@pytest.mark.parametrize(
    ("count", "told"),
    [(0, "0 units"), (1, "1 unit"), (2, "2 units"), (1_001, "1,001 units"), (1_000_000, "1,000,000 units")],
)
def test_one_is_singular_and_all_else_plural(count: int, told: str) -> None:
    assert counted(count, "unit") == told
