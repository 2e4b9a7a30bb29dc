"""How much tests try: the profile ``quick`` is for ``make test``, ``full`` for continuous integration.

``HYPOTHESIS_PROFILE=full`` chooses. Both draw the same examples on every run.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, TypeVar

import pytest
from hypothesis import settings

settings.register_profile("quick", derandomize=True, deadline=None, max_examples=25, database=None)
settings.register_profile("full", derandomize=True, deadline=None, max_examples=100, database=None)

Test = TypeVar("Test", bound=Callable[..., Any])
PROFILE = os.environ.get("HYPOTHESIS_PROFILE") or "quick"
settings.load_profile(PROFILE)


def scaled(full: int) -> int:
    """Return how many examples to try where ``full`` are wanted at full effort: a quarter of them, and at least two."""
    return full if PROFILE == "full" else max(2, full // 4)


def seeded(full: int) -> Callable[[Test], Test]:
    """Run a test once for each of ``scaled(full)`` seeds: what it finds hangs neither on chance nor on other modules.

    Hypothesis also draws constants that it finds in whatever modules are loaded. That is right for properties that hold
    of all inputs, and wrong where rounding or a rare event decides.
    """
    each = pytest.mark.parametrize("seed", range(scaled(full)))
    return lambda test: pytest.mark.enlarged(each(test))
