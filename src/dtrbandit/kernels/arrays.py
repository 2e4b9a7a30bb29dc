"""The types of what kernels take and return, for readers and for mypy; numba finds its own.

A whole number comes from Python as ``int`` and from an array as ``np.int64``, and a truth value likewise.
"""

from __future__ import annotations

from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

Whole = int | np.int64
SameWhole = TypeVar("SameWhole", int, Whole)  # what takes an int returns an int
Truth = bool | np.bool_
Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]
Floats = NDArray[np.float64]  # of three axes or more
Integers = NDArray[np.integer[Any]]
Mask = NDArray[np.bool_]
