"""How machine code opens a table."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numba import TypingError
from numpy.typing import NDArray

from dtrbandit.kernels.borrowed import Opener
from dtrbandit.kernels.compile import kernel
from dtrbandit.kernels.machine import Workshop
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
