"""The types of kernels: every kernel says what it takes, in names that can be looked up."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, get_type_hints

import numpy as np
import pytest

from dtrbandit.kernels.arrays import Floats, Integers, Mask, Truth, Whole
from dtrbandit.kernels.compile import KERNELS
from dtrbandit.kernels.fill import all_entries

all_entries()
OWN = {
    f"{module}.{name}": function
    for (module, name), function in KERNELS.items()
    if module.startswith("dtrbandit.") and "<switch" not in function.__code__.co_filename
}


@pytest.mark.parametrize("name", OWN)
def test_every_kernel_says_what_it_takes_and_returns(name: str) -> None:
    function: Callable[..., Any] = OWN[name]

    known = get_type_hints(function)

    assert set(known) == {*inspect.signature(function).parameters, "return"}
    assert Any not in known.values()


def test_whole_numbers_and_truth_values_come_from_python_and_from_arrays() -> None:
    counts, flags = np.zeros(1, dtype=np.int64), np.zeros(1, dtype=np.bool_)

    assert isinstance(counts[0], Whole)
    assert isinstance(7, Whole)
    assert isinstance(flags[0], Truth)
    assert not isinstance(0.5, Whole)
    assert isinstance(True, Truth)


def test_the_arrays_of_a_policy_are_of_these_types() -> None:
    from dtrbandit.policies.builtin import EXAMPLE

    kinds = {array.dtype.kind for group in EXAMPLE for array in group}

    assert kinds == {"f", "i", "b"}  # Vector, Matrix and Floats; Integers; Mask
    assert len({Floats, Integers, Mask}) == 3
