"""The reader of TOML: lines of entries, and what is told of a file or a name that is wrong."""

from __future__ import annotations

from pathlib import Path

import pytest

from dtrbandit.design.toml_text import TomlText, toml_tables, unknown
from dtrbandit.errors import DesignError

TEXT = """# a study
seed = 1
[policies]
mine = [
  'Greedy' ]

[[stage]]
name = "first"
[[stage]]
name = "second"
"""


def text(content: str = TEXT) -> TomlText:
    return TomlText(Path("study.toml"), content)


@pytest.mark.parametrize(
    ("keys", "line"),
    [
        (("seed",), 2),
        (("policies",), 3),
        (("policies", "mine"), 4),
        (("policies", "yours"), 3),
        (("stage",), 7),
        (("nothing",), 1),
    ],
)
def test_an_entry_is_found_on_its_line_and_a_missing_one_on_its_tables(keys: tuple[str, ...], line: int) -> None:
    assert text().line(*keys) == line


def test_an_error_within_an_entry_gets_file_and_line() -> None:
    with pytest.raises(DesignError, match=r"^study\.toml, line 4: no such arm$"), text().at("policies", "mine"):
        raise DesignError("no such arm")


def test_other_errors_pass_as_they_are() -> None:
    with pytest.raises(KeyError, match="arm"), text().at("policies"):
        raise KeyError("arm")


@pytest.mark.parametrize(
    ("content", "told"),
    [("a = = 3", "line 1"), ("a = 1\na = 2\n", "line 2"), ("a = " + "[" * 5000 + "]" * 5000, "nested too deeply")],
)
def test_what_is_no_toml_is_a_value_error_and_of_a_file_a_design_error(content: str, told: str) -> None:
    with pytest.raises(ValueError, match=told):
        toml_tables(content)
    with pytest.raises(DesignError, match=rf"study\.toml is not valid TOML: .*{told}"):
        _ = text(content).tables


def test_a_file_is_read_as_utf_8(tmp_path: Path) -> None:
    file = tmp_path / "design.toml"
    file.write_bytes("name = 'ä'".encode())
    assert TomlText.read(file, what="the design").tables == {"name": "ä"}

    file.write_bytes("name = 'ä'".encode("latin-1"))
    with pytest.raises(DesignError, match="save it as UTF-8"):
        TomlText.read(file, what="the design")


@pytest.mark.parametrize("name", ["missing.toml", ".", "nul\0.toml"])
def test_what_cannot_be_read_is_told_with_what_it_should_hold(tmp_path: Path, name: str) -> None:
    with pytest.raises(DesignError, match=r"cannot read the design '.*; give a TOML file"):
        TomlText.read(tmp_path / name, what="the design")


def test_an_unknown_name_is_told_with_the_one_that_was_meant_and_all_that_are_known() -> None:
    assert str(unknown("policy", "greddy", ["Greedy", "LSVIUCB"])) == (
        "unknown policy 'greddy', did you mean 'Greedy'? Known are Greedy, LSVIUCB"
    )
    assert str(unknown("policy", "xyz", ["Greedy"])) == "unknown policy 'xyz'; known are Greedy"
    assert str(unknown("policy", "xyz", [])) == "unknown policy 'xyz'; known are none"
