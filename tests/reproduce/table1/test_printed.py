"""Table 1 as it is printed."""

from __future__ import annotations

from dtrbandit.datasets.stard import COHORT_SEED
from dtrbandit.reproduce import Reproduction
from reproduce.small_table1 import HORIZON, PATHS


def test_the_printed_table_fits_a_terminal_and_says_what_it_is(small: Reproduction) -> None:
    text = str(small.table)

    assert max(map(len, text.splitlines())) <= 79
    flat = " ".join(text.split())
    assert f"The cohort is simulated (environments.STARD, seed {COHORT_SEED})" in flat
    assert "is a choice, not a finding" in flat
    assert "this cohort 6 cohorts paper 12 paths median 5 % 95 % text true optimism" in flat
    assert "By maximum likelihood Logging is -8.4" in flat
    assert "Replay flatters a learner" in flat


def test_records_have_the_numbers_that_are_printed(small: Reproduction) -> None:
    rows, text = small.table.records(), str(small.table)

    for row in rows:
        line = next(line for line in text.splitlines() if line.startswith(f"{row['entry']} "))
        assert f"{row['value']:.3f}" in line
        assert ("–" in line) == (row["paper"] is None)
    assert {row["paths"] for row in rows} == {PATHS}
    assert {row["horizon"] for row in rows} == {HORIZON}
