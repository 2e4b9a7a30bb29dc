"""Table 1 as it is printed."""

from __future__ import annotations

from dataclasses import replace

from dtrbandit.datasets.stard import COHORT_SEED
from dtrbandit.reproduce import Reproduction
from dtrbandit.reproduce.table1.printed import PrintedTable, draw
from dtrbandit.reproduce.table1.results import Results
from dtrbandit.reproduce.table1.versions import ENTRIES, PAPER
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


def results_of(small: Reproduction) -> Results:
    assert isinstance(small.table, PrintedTable)
    return small.table.results


def test_every_entry_has_its_line_and_every_column_its_marks(small: Reproduction) -> None:
    picture = draw(results_of(small))

    (ax,) = picture.axes
    assert [tick.get_text() for tick in ax.get_yticklabels()] == list(ENTRIES)
    assert f"up to round {HORIZON}" in ax.get_xlabel()
    marks = {container.get_label(): container for container in ax.containers}
    assert list(marks) == [
        "replay on 6 cohorts: 5 %, median, 95 %", "the paper",
        f"replay on this cohort, {PATHS} paths", "true, on new patients",  # too few for intervals
    ]  # fmt: skip
    paper = marks["the paper"].lines[0]  # type: ignore[attr-defined]  # of an errorbar
    assert sorted(paper.get_xdata()) == sorted(PAPER.values())


def test_what_is_not_known_has_no_marks(small: Reproduction) -> None:
    (ax,) = draw(replace(results_of(small), truth=None, cohorts=None)).axes

    labels = [str(container.get_label()) for container in ax.containers]
    assert not any("true" in label or "cohorts" in label for label in labels)
