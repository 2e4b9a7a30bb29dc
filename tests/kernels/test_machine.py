"""Machine code of kernels: made, packed, unpacked and installed."""

from __future__ import annotations

import re

import numpy as np
import pytest

from dtrbandit.kernels.arrays import Vector
from dtrbandit.kernels.borrowed import Table
from dtrbandit.kernels.compile import Entry, kernel
from dtrbandit.kernels.machine import Workshop, compile_here, install, pack, unpack
from dtrbandit.kernels.sources import PACKAGE


@kernel
def halved(x: float) -> float:
    return x / 2


@kernel(entry="float64[::1]")
def divide(numbers: Vector) -> float:
    share: float = halved(numbers[0]) / numbers[1]
    return share


@kernel(entry="float64, table")
def halve(x: float, table: Table) -> float:  # noqa: ARG001  # what a table is for does not matter here
    return halved(x)


def test_packed_machine_code_gives_the_same_bits_when_it_is_unpacked() -> None:
    entry, numbers = Entry(divide.plain, "float64[::1]"), np.array([1.0, 3.0])
    plain = entry.call(numbers)

    install(entry, unpack(pack(Workshop().compile(entry))))

    assert entry.compiled
    assert entry.call(numbers).hex() == plain.hex()


def test_plain_functions_stay_as_they_are() -> None:
    own, code = divide.plain.__globals__["halved"], divide.plain.__code__

    compile_here([Entry(divide.plain, "float64[::1]")])

    assert divide.plain.__globals__["halved"] is own is halved
    assert divide.plain.__code__ is code
    assert not divide.compiled


def test_machine_code_refuses_arguments_of_other_types() -> None:
    entry = Entry(divide.plain, "float64[::1]")
    compile_here([entry])

    with pytest.raises(TypeError, match="No matching definition"):
        entry.call(np.zeros(2, dtype=np.int64))


def test_an_entry_of_numbers_and_a_table_is_called_without_a_look_at_types() -> None:
    halving = Entry(halve.plain, "float64, table")
    compile_here([halving])

    assert not halving.takes_arrays
    assert halving.call(3.0, np.zeros(1, dtype=np.int64)) == 1.5
    with pytest.raises(TypeError):
        halving.call("three", np.zeros(1, dtype=np.int64))
    with pytest.raises(TypeError):
        halving.call(3.0)


def test_the_only_place_that_says_njit_is_the_workshop() -> None:
    said = [path.name for path in PACKAGE.rglob("*.py") if re.search(r"\bnjit\(", path.read_text())]

    assert said == ["machine.py"]
