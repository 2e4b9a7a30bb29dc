"""The entries of Table 1 are the paper's, and LSVI-UCB with both treatments of leavers."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

import dtrbandit as dtr
from dtrbandit.datasets.stard import COHORT_SEED
from dtrbandit.reproduce import Reproduction
from dtrbandit.reproduce.table1.entries import DTRB, ENTRIES, ONLINE, PAPER
from reproduce.small_table1 import frame


def test_the_table_has_the_papers_twelve_entries_and_both_treatments_of_leavers(small: Reproduction) -> None:
    table = frame(small)

    assert tuple(table.index) == ENTRIES
    assert set(table.index) - set(PAPER) == {"LSVI-UCB observed"}
    assert table["paper"].dropna().to_dict() == dict(PAPER)
    assert table["std_error"].isna().to_dict() == {name: name in ("Logging", "Offline") for name in ENTRIES}
    assert table["true_value"].isna().to_dict() == {name: name == "Logging" for name in ENTRIES}
    np.testing.assert_allclose(table["optimism"], table["value"] - table["true_value"])
    assert set(table["cohort"]) == {f"simulated, seed {COHORT_SEED}"}
    assert len(small.claims) == 4


def test_dtr_bandits_six_settings_are_named_after_their_parameters() -> None:
    assert {name: (ONLINE[name].q, ONLINE[name].delta) for name in DTRB} == {  # type: ignore[attr-defined]
        f"DTRB({q}, {delta})": (q, float(delta)) for q in (1, 2) for delta in (10, 20, 50)
    }


def test_only_the_treatment_of_leavers_tells_both_lsvi_ucb_apart() -> None:
    paper, observed = ONLINE["LSVI-UCB"], ONLINE["LSVI-UCB observed"]

    assert isinstance(observed, dtr.LSVIUCB)
    assert paper == replace(observed, leavers="optimistic")
    assert observed.leavers == "observed"
