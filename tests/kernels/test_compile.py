"""Kernels and entries before machine code comes: plain functions, called as they are written."""

from __future__ import annotations

import numpy as np

from dtrbandit.kernels.compile import Entry, kernel, switch, variant
from dtrbandit.kernels.machine import compile_here


@kernel
def half(x):  # type: ignore[no-untyped-def]  # a kernel
    return x / 2


@kernel
def twice(x):  # type: ignore[no-untyped-def]  # a kernel
    return x * 2


CASES = [(half, "state"), (twice, "state"), (half, "state")]
chosen = switch("chosen", CASES, "")
choosing_twice = switch("choosing_twice", CASES, "", only=[1])


@kernel(entry="int64, float64")
def choose(kind, x):  # type: ignore[no-untyped-def]  # a kernel
    return chosen(kind, x)


@kernel(entry="float64[::1]")
def divide(numbers):  # type: ignore[no-untyped-def]  # a kernel
    return numbers[0] / numbers[1]


def doubled_at_once(x: float) -> float:
    """Run in the place of a kernel."""
    SEEN.append(x)
    return x + x


SEEN: list[float] = []


@kernel(meanwhile=doubled_at_once)
def doubled(x: float) -> float:
    total = 0.0
    for _ in range(2):
        total += x
    return total


@kernel(entry="float64")
def double(x: float) -> float:
    return doubled(x)


def test_a_function_runs_in_the_place_of_a_kernel_until_machine_code_is_there() -> None:
    entry = Entry(double.plain, "float64")
    SEEN.clear()
    plain = entry.call(1.5)

    compile_here([entry])  # numba could not compile a function that appends to a list of this module

    assert entry.call(1.5) == plain == 3.0
    assert SEEN == [1.5]


def test_a_switch_calls_the_case_of_a_number_in_both_modes() -> None:
    entry = Entry(choose.plain, "int64, float64")
    plain = [entry.call(kind, 3.0) for kind in range(3)]

    compile_here([entry])

    assert [entry.call(kind, 3.0) for kind in range(3)] == plain == [1.5, 6.0, 1.5]
    assert entry.compiled
    assert not choose.compiled


def test_a_switch_can_be_made_for_some_numbers_alone() -> None:
    some = switch("some", CASES, "", only=[1, 2])

    assert [some(kind, 3.0) for kind in (1, 2)] == [6.0, 1.5]
    assert some.__globals__.keys() & {"case_0", "case_1", "case_2"} == {"case_1", "case_2"}


def test_a_variant_calls_other_kernels_in_both_modes() -> None:
    alike = Entry(kernel(variant(choose.plain, "alike", {"chosen": choosing_twice})), choose.types)
    plain = alike.call(0, 3.0)

    compile_here([alike])

    assert alike.call(0, 3.0) == plain == 6.0
    assert alike.plain.__qualname__ == "alike"
    assert choose.plain(0, 3.0) == 1.5


def test_dividing_by_zero_is_as_silent_in_plain_python_as_in_machine_code() -> None:
    entry, zero = Entry(divide.plain, "float64[::1]"), np.array([1.0, 0.0])
    plain = entry.call(zero)

    compile_here([entry])

    assert entry.call(zero) == plain == np.inf
