"""How machine code opens a table."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numba import TypingError
from numpy.typing import NDArray

from dtrbandit.kernels import opened
from dtrbandit.kernels.borrowed import LAYOUT, Opener
from dtrbandit.kernels.compile import kernel
from dtrbandit.kernels.machine import Workshop
from dtrbandit.kernels.opened import compiled_opener
from kernels.pairs import EXAMPLES

open_pairs = Opener(EXAMPLES)


@kernel(entry="table")
def ask_for_another(table: NDArray[np.int64]) -> Any:
    """Ask for an array that was not lent."""
    first: Any = open_pairs(table).first
    return first.other


def test_an_array_that_was_not_lent_is_an_error_of_compilation() -> None:
    with pytest.raises(TypingError, match="other"):
        Workshop().compile(ask_for_another)


def test_a_numba_that_lays_arrays_out_otherwise_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(opened, "LAYOUT", (*LAYOUT, "owner"))

    with pytest.raises(NotImplementedError, match=r"lays arrays out as \('meminfo', .*; tables have .*'owner'"):
        compiled_opener(open_pairs)
