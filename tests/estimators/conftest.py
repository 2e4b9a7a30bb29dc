"""Kernels are called here as they are written: as silently as an entry calls them."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest


@pytest.fixture(autouse=True)
def silent() -> Iterator[None]:
    """Let numbers overflow without a warning, as in machine code."""
    with np.errstate(all="ignore"):
        yield
