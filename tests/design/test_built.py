"""Tables with a name and parameters; what whole files say is tried in tests/simulation/test_study_toml.py."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest

from dtrbandit.design.built import built, table_at
from dtrbandit.design.toml_text import TomlText
from dtrbandit.errors import DesignError


@dataclass(frozen=True)
class Coin:
    weights: tuple[float, ...]
    times: int = 1

    def __post_init__(self) -> None:
        if self.times < 1:
            raise DesignError(f"Coin: times must be at least 1, found {self.times}")


def read(text: str) -> object:
    return built(TomlText(Path("file.toml"), text), {"Coin": Coin}, "thing", "thing")


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
