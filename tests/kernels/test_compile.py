"""Kernels and entries before machine code comes: plain functions, called as they are written."""

from __future__ import annotations

import numpy as np

from dtrbandit.kernels.compile import Entry, kernel, switch
from dtrbandit.kernels.machine import compile_here


@kernel
def half(x):  # type: ignore[no-untyped-def]  # a kernel
    return x / 2


@kernel
def twice(x):  # type: ignore[no-untyped-def]  # a kernel
    return x * 2


chosen = switch("chosen", [(half, "state"), (twice, "state"), (half, "state")], "")


@kernel(entry="int64, float64")
def choose(kind, x):  # type: ignore[no-untyped-def]  # a kernel
    return chosen(kind, x)


@kernel(entry="float64[::1]")
def divide(numbers):  # type: ignore[no-untyped-def]  # a kernel
    return numbers[0] / numbers[1]


def test_a_switch_calls_the_case_of_a_number_in_both_modes() -> None:
    entry = Entry(choose.plain, "int64, float64")
    plain = [entry.call(kind, 3.0) for kind in range(3)]

    compile_here([entry])

    assert [entry.call(kind, 3.0) for kind in range(3)] == plain == [1.5, 6.0, 1.5]
    assert entry.compiled
    assert not choose.compiled


def test_dividing_by_zero_is_as_silent_in_plain_python_as_in_machine_code() -> None:
    entry, zero = Entry(divide.plain, "float64[::1]"), np.array([1.0, 0.0])
    plain = entry.call(zero)

    compile_here([entry])

    assert entry.call(zero) == plain == np.inf
