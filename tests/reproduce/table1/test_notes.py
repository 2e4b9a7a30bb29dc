"""What is said under Table 1."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from dtrbandit.reproduce import Reproduction, reproduce
from dtrbandit.reproduce.table1 import Table1
from dtrbandit.reproduce.table1.notes import describe_cohort, notes
from dtrbandit.reproduce.table1.patients import Patients
from dtrbandit.reproduce.table1.printed import PrintedTable


@pytest.mark.slow
def test_another_seed_is_said_to_be_asked_for(tmp_path: Path) -> None:
    result = reproduce(Table1(cohort_seed=4), tmp_path, paths=2, horizon=100, n_jobs=1)

    text = " ".join(str(result.table).split())
    assert "seed 4): 1,260 patients" in text
    assert "This seed was asked for." in text
    assert "2 cohorts" in text


def test_patients_are_named_by_their_seed_or_their_file() -> None:
    table = Patients.simulated(3).table

    assert describe_cohort(Patients(table, 3)) == "simulated, seed 3"
    assert describe_cohort(Patients(table, None)) == "from a file"


@pytest.mark.slow
def test_notes_say_how_far_to_trust_the_numbers(small: Reproduction) -> None:
    assert isinstance(small.table, PrintedTable)
    results = small.table.results

    told = list(notes(results))

    assert "judged by intervals over 6 simulated cohorts, which hold together with 95 %" in told[-1]
    assert any(paragraph.startswith("True is what an algorithm earns") for paragraph in told)
    assert any(paragraph.startswith("One cohort says little about levels") for paragraph in told)
    assert any(paragraph.startswith("Text is the version of the paper's text") for paragraph in told)
    without = list(notes(replace(results, truth=None, cohorts=None)))
    assert len(without) == len(told) - 2
    assert "over paths through this cohort" in without[-1]
    assert any("over 30 paths (too few paths for an interval)" in paragraph for paragraph in told)  # 2.5 times 12
