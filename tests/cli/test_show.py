"""Results for a reader, and as one JSON document."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from pathlib import Path

import pandas as pd
import pytest

from dtrbandit.cli.show import ExplainedTable, Result, show
from dtrbandit.reproduce import Claim, Reproduction, Verdict, Whose


@dataclass(frozen=True)
class Plain:
    """A table with a number that is none."""

    def records(self) -> list[dict[str, object]]:
        return [{"policy": "[a] b", "mean": 1.5, "low": float("nan")}]

    def __str__(self) -> str:
        return "[a] b: 1.5"


CLAIMS = (
    Claim("it [learns]", "0.9", "at least 0.8", Verdict.HOLDS),
    Claim("it is fast", "2 h", "at most 1 h", Verdict.REFUTED, Whose.OURS),
    Claim("it lasts", "a year (so far)", "two years", Verdict.OPEN),
)
RESULT = Reproduction("first", Plain(), CLAIMS, (Path("out/first.png"),), "run more")


def test_json_is_one_document_in_which_what_is_no_number_is_null(capsys: pytest.CaptureFixture[str]) -> None:
    show("both", [RESULT, Reproduction("second", Plain(), (), ())], as_json=True)

    row = {"policy": "[a] b", "mean": 1.5, "low": None}
    assert json.loads(capsys.readouterr().out) == {
        "name": "both",
        "files": ["out/first.png"],
        "table": [{"study": "first", **row}, {"study": "second", **row}],
        "claims": [claim.record() for claim in CLAIMS],
    }


def test_a_reader_gets_table_claims_with_verdicts_and_files(capsys: pytest.CaptureFixture[str]) -> None:
    show("both", [RESULT], as_json=False)

    out = capsys.readouterr().out
    lines = [line.strip() for line in out.splitlines()]
    assert lines[:2] == ["first", "[a] b: 1.5"]
    assert any(line.startswith("✓") and "it [learns]" in line for line in lines)
    assert any(line.startswith("✗") and "it is fast" in line and "refuted" in line for line in lines)
    assert any(line.startswith("?") and "it lasts" in line and "cannot be told" in line for line in lines)
    assert (out.count("✓"), out.count("(our own"), out.count("(the paper's")) == (2, 1, 2)
    assert "✓ shown   ✗ the contrary is shown   ? cannot be told" in out
    assert lines[-2:] == ["run more", "Written: out/first.png"]


def test_advice_is_given_only_where_a_claim_cannot_be_told(capsys: pytest.CaptureFixture[str]) -> None:
    show("both", [replace(RESULT, claims=CLAIMS[:2])], as_json=False)

    assert "run more" not in capsys.readouterr().out


def test_without_claims_there_is_no_table_of_them(capsys: pytest.CaptureFixture[str]) -> None:
    show("one", [Reproduction("one", Plain(), (), ())], as_json=False)

    assert "Claims" not in capsys.readouterr().out


# -- results of a user's own data, without claims ----------------------------------------------------------------

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
