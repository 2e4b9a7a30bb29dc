"""A small Table 1 that several files look at."""

from __future__ import annotations

import pytest

from dtrbandit.reproduce import TABLE1, Reproduction, reproduce
from reproduce.small_table1 import HORIZON, PATHS


@pytest.fixture(scope="session")
def small(tmp_path_factory: pytest.TempPathFactory) -> Reproduction:
    """Run a small table once."""
    return reproduce(TABLE1, tmp_path_factory.mktemp("table1"), paths=PATHS, horizon=HORIZON, n_jobs=1)
