"""Results of a user's own data: printed and written as JSON like the others, without claims."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest

from dtrbandit.cli.result import ExplainedTable, Result
from dtrbandit.cli.show import show
from dtrbandit.reproduce import Claim, Reproduction, Verdict

TABLE = ExplainedTable("Two units.", pd.DataFrame({"unit": ["u1", "u2"], "outcome": [1.5, float("nan")]}))


def test_a_table_prints_its_words_and_gives_its_rows_by_name() -> None:
    assert str(TABLE) == "Two units."
    assert TABLE.records()[0] == {"unit": "u1", "outcome": 1.5}


def test_a_result_prints_as_a_reproduction_without_claims_does(capsys: pytest.CaptureFixture[str]) -> None:
    files = (Path("a.csv"), Path("b.png"))

    show("trial", [Result("trial", TABLE, files)], as_json=False)
    own = capsys.readouterr().out
    show("trial", [Reproduction("trial", TABLE, (), files)], as_json=False)

    assert own == capsys.readouterr().out
    assert [line.rstrip() for line in own.splitlines()] == ["trial", "Two units.", "Written: a.csv", "Written: b.png"]


def test_a_document_of_a_result_has_no_claims_and_null_where_there_is_no_number(
    capsys: pytest.CaptureFixture[str],
) -> None:
    claimed = Reproduction("paper", TABLE, (Claim("it holds", "1", "0 to 2", Verdict.HOLDS),), ())

    show("both", [Result("trial", TABLE, (Path("a.csv"),)), claimed], as_json=True)

    document = json.loads(capsys.readouterr().out)
    assert document["files"] == ["a.csv"]
    assert document["table"][1] == {"study": "trial", "unit": "u2", "outcome": None}
    assert [claim["claim"] for claim in document["claims"]] == ["it holds"]
