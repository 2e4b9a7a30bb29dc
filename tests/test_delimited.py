"""Tables in text files: cells as they are, and lines that are whole."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from dtrbandit.delimited import UNREADABLE, read_delimited
from dtrbandit.errors import DesignError


def test_every_cell_is_the_text_that_the_file_has(tmp_path: Path) -> None:
    file = tmp_path / "table.tsv"
    file.write_text('a \tb\ta\n1\tNA\t 007\n\n"x\ty"\t\t\n', encoding="utf-8-sig")

    found = read_delimited(file, "\t")

    assert found.columns.tolist() == ["a", "b", "a"]
    assert found.to_numpy().tolist() == [["1", "NA", " 007"], ["x\ty", "", ""]]


def test_a_compressed_file_is_read_alike(tmp_path: Path) -> None:
    file = tmp_path / "table.csv.gz"
    file.write_bytes(gzip.compress(b"a,b\n1,2\n"))

    assert read_delimited(file, ",").to_numpy().tolist() == [["1", "2"]]


@pytest.mark.parametrize(("line", "cells"), [("1", 1), ("1,2,3", 3)])
def test_a_line_that_is_not_whole_is_refused_with_its_number(line: str, cells: int, tmp_path: Path) -> None:
    file = tmp_path / "table.csv"
    file.write_text(f"a,b\n1,2\n{line}\n")

    with pytest.raises(DesignError, match=rf"as many cells as the header, 2; line 3 has {cells} \(lines count from 1"):
        read_delimited(file, ",")


@pytest.mark.parametrize("content", [None, b"", b"\xff\xfe\x00", b'a,b\n"1,2\n'])
def test_what_cannot_be_read_is_one_of_the_errors_that_callers_expect(content: bytes | None, tmp_path: Path) -> None:
    file = tmp_path / "table.csv"
    if content is not None:
        file.write_bytes(content)

    with pytest.raises(UNREADABLE):
        read_delimited(file, ",")
