"""What machine code depends on: the code and constants that an entry reaches, and nothing else."""

from __future__ import annotations

from types import ModuleType
from typing import Any, NamedTuple

import numpy as np
import pytest

from dtrbandit.kernels.compile import LOOPS, Entry
from dtrbandit.kernels.digest import digest_of


class Pair(NamedTuple):
    """Two arrays."""

    first: Any
    second: Any


def digest(
    *, value: str = "2 * x", added: object = 1, comment: str = "", unused: int = 0, flat: bool = True, taken: str = "x"
) -> str:
    """Return the digest of an entry that calls a kernel of another module, and reads a constant and a table."""
    from dtrbandit.kernels.borrowed import Opener

    leaf, space = ModuleType("leaf"), {"ADDED": added, "UNUSED": unused, "__name__": "caller"}
    exec(f"def leaf({taken}):\n    {comment}\n    return {value}\n", leaf.__dict__)
    exec("def caller(x, table):\n    return leaf.leaf(x) + ADDED + open_pair(table).first.second[0]\n", space)
    array = np.zeros(1 if flat else (1, 1))
    space |= {"leaf": leaf, "open_pair": Opener(Pair(Pair(array, array), Pair(array, array)))}
    caller: Any = space["caller"]
    return digest_of(Entry(caller, "float64, table"))


def test_it_is_the_same_for_the_same() -> None:
    assert digest() == digest()


@pytest.mark.parametrize(
    "change",
    [{"comment": "# why"}, {"unused": 3}, {"taken": "x: float"}],
    ids=["a comment", "a constant not read", "an annotation"],
)
def test_what_machine_code_does_not_depend_on_does_not_count(change: Any) -> None:
    assert digest(**change) == digest()


def test_of_a_kernel_that_something_else_runs_in_the_place_of_the_kernel_counts(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def digest_with(loop: str, meanwhile: str) -> str:
        space: dict[str, Any] = {"__name__": "caller"}
        exec(f"def loop(x):\n    return {loop}\n", space)
        exec(f"def name(x):\n    return {meanwhile}\n", space)
        exec("def caller(x):\n    return name(x)\n", space)
        monkeypatch.setitem(LOOPS, space["name"], space["loop"])
        return digest_of(Entry(space["caller"], "float64"))

    assert digest_with("x + 1", "x + 1") == digest_with("x + 1", "1 + x")
    assert digest_with("x + 1", "x + 1") != digest_with("1 + x", "x + 1")


@pytest.mark.parametrize(
    "change",
    [{"value": "3 * x"}, {"value": "x * 2"}, {"added": 2}, {"added": 1.0}, {"flat": False}],
    ids=["a number", "an order", "a constant", "a type", "a table"],
)
def test_whatever_an_entry_reaches_counts(change: Any) -> None:
    assert digest(**change) != digest()
