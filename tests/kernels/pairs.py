"""Groups of arrays that tests lend to kernels."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray


class Pair(NamedTuple):
    """Two arrays of unlike types and shapes."""

    flags: NDArray[np.bool_]
    cube: NDArray[np.float64]


class Pairs(NamedTuple):
    """Two groups of arrays."""

    first: Pair
    second: Pair


EXAMPLE = Pair(np.zeros(1, dtype=np.bool_), np.zeros((1, 1, 1)))
EXAMPLES = Pairs(EXAMPLE, EXAMPLE)
