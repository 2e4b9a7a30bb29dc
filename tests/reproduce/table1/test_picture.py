"""Table 1 as a picture: a line for each entry, and as many kinds of marks as there are columns."""

from __future__ import annotations

from dataclasses import replace

from dtrbandit.reproduce import Reproduction
from dtrbandit.reproduce.table1.entries import ENTRIES, PAPER
from dtrbandit.reproduce.table1.picture import draw
from dtrbandit.reproduce.table1.printed import PrintedTable
from dtrbandit.reproduce.table1.results import Results
from reproduce.small_table1 import HORIZON, PATHS


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
