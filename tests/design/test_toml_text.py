"""The reader of TOML: lines of entries, and what is told of a file or a name that is wrong."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest

from dtrbandit.design.toml_text import TomlText, from_table, table_at, toml_tables, unknown
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


# -- tables with a name and parameters; whole files are tried in tests/simulation/test_study_toml.py ---------------


@dataclass(frozen=True)
class Coin:
    weights: tuple[float, ...]
    times: int = 1

    def __post_init__(self) -> None:
        if self.times < 1:
            raise DesignError(f"Coin: times must be at least 1, found {self.times}")


def read(text: str) -> object:
    return from_table(TomlText(Path("file.toml"), text), {"Coin": Coin}, "thing", "thing")


def test_a_table_becomes_what_its_name_says_with_its_parameters() -> None:
    assert read('[thing]\nname = "Coin"\nweights = [0.5, 0.5]') == Coin((0.5, 0.5))


REFUSED = {
    "no table": ("thing = 1", "line 1: thing must be a table"),
    "no name": ("[thing]\nweights = []", "'name' is missing"),
    "an unknown name": ('[thing]\nname = "Coyn"', "line 2: unknown thing 'Coyn', did you mean 'Coin'"),
    "an unknown parameter": ('[thing]\nname = "Coin"\nweigths = []', "line 3: unknown parameter of Coin 'weigths'"),
    "a missing parameter": ('[thing]\nname = "Coin"', "the parameter 'weights' is missing"),
    "a refused parameter": ('[thing]\nname = "Coin"\nweights = []\ntimes = 0', "line 4: Coin: times must be"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_an_error_names_the_line(case: str) -> None:
    text, message = REFUSED[case]

    with pytest.raises(DesignError, match=f"file.toml, line.*{message}" if "line" not in message else message):
        read(text)


def test_a_table_is_found_by_its_keys() -> None:
    assert table_at(TomlText(Path("file.toml"), "[a.b]\nx = 1"), "a", "b") == {"x": 1}
