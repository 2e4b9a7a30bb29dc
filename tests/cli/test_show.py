"""Results for a reader, and as one JSON document."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import pytest

from dtrbandit.cli.show import show
from dtrbandit.reproduce import Claim, Reproduction


@dataclass(frozen=True)
class Plain:
    """A table with a number that is none."""

    def records(self) -> list[dict[str, object]]:
        return [{"policy": "[a] b", "mean": 1.5, "low": float("nan")}]

    def __str__(self) -> str:
        return "[a] b: 1.5"


HOLDS, FAILS = Claim("it [learns]", "0.9", "at least 0.8", True), Claim("it is fast", "2 h", "at most 1 h", False)
RESULT = Reproduction("first", Plain(), (HOLDS, FAILS), (Path("out/first.png"),))


def test_json_is_one_document_in_which_what_is_no_number_is_null(capsys: pytest.CaptureFixture[str]) -> None:
    show("both", [RESULT, Reproduction("second", Plain(), (), ())], as_json=True)

    row = {"policy": "[a] b", "mean": 1.5, "low": None}
    assert json.loads(capsys.readouterr().out) == {
        "name": "both",
        "files": ["out/first.png"],
        "table": [{"study": "first", **row}, {"study": "second", **row}],
        "claims": [HOLDS._asdict(), FAILS._asdict()],
    }


def test_a_reader_gets_table_claims_with_verdicts_and_files(capsys: pytest.CaptureFixture[str]) -> None:
    show("both", [RESULT], as_json=False)

    out = capsys.readouterr().out
    lines = [line.strip() for line in out.splitlines()]
    assert lines[:2] == ["first", "[a] b: 1.5"]
    assert any(line.startswith("✓") and "it [learns]" in line for line in lines)
    assert any(line.startswith("✗") and "it is fast" in line for line in lines)
    assert lines[-1] == "Written: out/first.png"


def test_without_claims_there_is_no_table_of_them(capsys: pytest.CaptureFixture[str]) -> None:
    show("one", [Reproduction("one", Plain(), (), ())], as_json=False)

    assert "Claims" not in capsys.readouterr().out
