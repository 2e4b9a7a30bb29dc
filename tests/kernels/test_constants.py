"""Numbers that stand twice, for Python and for the compiler: each must be the same in both places."""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import Any

import pytest

from dtrbandit.kernels import constants

SOURCE = Path(__file__).parents[2] / "src/dtrbandit/kernels/constants.pxd"
TEXT = SOURCE.read_text(encoding="utf-8")
ENTRY = re.compile(r"    ([A-Z][A-Z0-9_]*) = (-?\d+)")
MACRO = re.compile(r"    #define (DTR_[A-Z0-9_]+) (.+)")
DECLARED = re.compile(r'    (double|long long|const char\*) ([A-Z][A-Z0-9_]*)(?: "(DTR_[A-Z0-9_]+)")?')
MADE_WHEN_BUILT = {"BUILT_FROM"}  # the build defines it
OF_MATH_H = {"INFINITY": math.inf, "NAN": math.nan}
TYPES: dict[str, type] = {"double": float, "long long": int, "const char*": bytes}


def number(text: str) -> Any:
    """Return the value of a macro: a number, or a product or difference of such."""
    assert re.fullmatch(r"[-+*(). \de]+(LL)?", text), text
    return eval(text.removesuffix("LL"), {"__builtins__": {}})


ENUMS = {name: int(value) for name, value in ENTRY.findall(TEXT)}
MACROS = {name: number(value) for name, value in MACRO.findall(TEXT)}
NAMES = {name: (kind, macro) for kind, name, macro in DECLARED.findall(TEXT)}
PYTHON = {name: value for name, value in vars(constants).items() if name.isupper()}


def test_every_line_of_the_file_for_the_compiler_is_understood() -> None:
    around = re.compile(r'cdef extern from ("<math.h>"|\*)( nogil)?:|cdef enum:|    """|')

    lost = [
        line for line in TEXT.splitlines() if not any(each.fullmatch(line) for each in (ENTRY, MACRO, DECLARED, around))
    ]

    assert lost == []


def test_both_places_have_the_same_names() -> None:
    assert set(PYTHON) == {*ENUMS, *NAMES}
    assert not ENUMS.keys() & NAMES.keys()
    assert {macro for _, macro in NAMES.values() if macro} == {*MACROS, *(f"DTR_{name}" for name in MADE_WHEN_BUILT)}


@pytest.mark.parametrize("name", ENUMS)
def test_a_whole_number_is_the_same_for_the_compiler(name: str) -> None:
    assert type(PYTHON[name]) is int
    assert PYTHON[name] == ENUMS[name]
    assert abs(ENUMS[name]) < 2**31  # an enum of C is an int


@pytest.mark.parametrize("name", NAMES)
def test_a_number_with_a_type_is_the_same_for_the_compiler(name: str) -> None:
    kind, macro = NAMES[name]

    assert type(PYTHON[name]) is TYPES[kind]
    if name not in MADE_WHEN_BUILT:
        value = MACROS[macro] if macro else OF_MATH_H[name]
        assert type(value) is TYPES[kind]
        assert repr(PYTHON[name]) == repr(value)  # which tells every float from every other, and NaN is NaN


def test_names_of_one_kind_differ() -> None:
    """Facts, where a unit left, standings, reasons, rows of a sheet, ranks: each is a case of its own."""
    c = constants
    kinds = [
        (c.NO_FACT, c.ARRIVED, c.GIVEN, c.COMPLETED, c.LEFT, c.LOST, c.AMENDED, c.VOIDED, c.CLOSED),
        (c.STAYED, c.UNKNOWN, c.VOID),
        (c.UNDER_WAY, c.GONE, c.ENDED),
        (c.FORCED, c.CLEAR, c.CLOSE, c.GREEDY, c.EXPLORE, c.OPTIMISTIC, c.UNIFORM, c.RULE, c.ONLY_FEASIBLE),
        (c.Q_TILDE, c.Q_HAT, c.PROPENSITY, c.CONTENDER),
        (c.FULL, c.SHORT, c.ILL),
    ]

    assert all(len(set(kind)) == len(kind) for kind in kinds)
    assert max(kinds[1]) < 0  # a node is 0 or more
