"""The entries of Table 1 are the paper's, and LSVI-UCB with both treatments of leavers."""

from __future__ import annotations

import numpy as np
import pytest

from dtrbandit.datasets.stard import COHORT_SEED
from dtrbandit.reproduce import Reproduction
from dtrbandit.reproduce.table1.entries import ENTRIES, ONLINE, PAPER
from reproduce.small_table1 import frame


@pytest.mark.slow
def test_the_table_has_the_papers_twelve_entries_and_both_treatments_of_leavers(small: Reproduction) -> None:
    table = frame(small)

    assert tuple(table.index) == ENTRIES
    assert set(table.index) - set(PAPER) == {"LSVI-UCB observed"}
    assert table["paper"].dropna().to_dict() == dict(PAPER)
    assert table["std_error"].isna().all()  # 12 paths are too few
    assert table["true_value"].isna().to_dict() == {name: name == "Logging" for name in ENTRIES}
    np.testing.assert_allclose(table["optimism"], table["cohorts_mean"] - table["true_value"])
    assert set(table["cohort"]) == {f"simulated, seed {COHORT_SEED}"}
    assert len(small.claims) == 4


def test_all_entries_but_the_two_benchmarks_are_online() -> None:
    assert set(ENTRIES) - set(ONLINE) == {"Logging", "Offline"}
