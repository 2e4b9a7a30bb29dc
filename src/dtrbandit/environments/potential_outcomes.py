"""Potential outcomes: what would happen to each unit under each plan."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from dtrbandit.design.spec import Design

Array = NDArray[np.float64]


class PotentialOutcomes(NamedTuple):
    """n units, drawn before any policy acts (paper, section 2.1).

    Attributes
    ----------
    contexts
        ``contexts[m][column]`` is (n, K₁, …, K_{m−1}).
    outcome
        (n, K₁, …, K_M); NaN where infeasible.
    q
        ``q[m]`` is the true Q-function, (n, K₁, …, K_m), or None where it is not known.
    """

    design: Design
    contexts: tuple[Mapping[str, Array], ...]
    outcome: Array
    q: tuple[Array, ...] | None


class Environment(Protocol):
    """A source of units."""

    @property
    def design(self) -> Design:
        """The design under which it draws."""

    def draw(self, n: int, rng: np.random.Generator) -> PotentialOutcomes:
        """Draw n units."""
