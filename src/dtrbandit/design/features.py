"""Feature maps ψ_m: a formula, or a function that the caller wrote."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from dtrbandit.design.identity import describe
from dtrbandit.errors import DesignError
from dtrbandit.kernels.arrays import Matrix, Vector

FeatureFunction = Callable[[Mapping[str, NDArray[np.float64]]], Matrix]


class FeatureMap(Protocol):
    """What a design needs of ψ_m: its features' names, the columns it reads, and its values."""

    @property
    def names(self) -> tuple[str, ...]:
        """One name per feature."""

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns it reads."""

    def row(self, columns: Mapping[str, float], arms: Mapping[str, int]) -> tuple[float, ...]:
        """Return ψ for one unit."""

    def matrix(self, columns: Mapping[str, Vector], arms: Mapping[str, NDArray[np.int64]], n: int) -> Matrix:
        """Return ψ for n units, (n, d)."""


@dataclass(frozen=True)
class ComputedFeatures:
    """A feature map from a Python function: mapping of arrays → (n, d) array.

    The mapping holds every column known at the stage. Under the name of each earlier stage it holds the number
    of the arm given there.
    """

    function: FeatureFunction
    columns: tuple[str, ...]
    names: tuple[str, ...]

    def row(self, columns: Mapping[str, float], arms: Mapping[str, int]) -> tuple[float, ...]:
        """Return ψ for one unit."""
        one = {name: np.array([value], dtype=np.float64) for name, value in {**columns, **arms}.items()}
        return tuple(self._values(one, 1)[0].tolist())

    def matrix(self, columns: Mapping[str, Vector], arms: Mapping[str, NDArray[np.int64]], n: int) -> Matrix:
        """Return ψ for n units, (n, d)."""
        return self._values({**columns, **{name: arm.astype(np.float64) for name, arm in arms.items()}}, n)

    def _values(self, arrays: Mapping[str, Vector], n: int) -> Matrix:
        values = np.asarray(self.function(arrays), dtype=np.float64)
        if values.shape != (n, len(self.names)):
            raise DesignError(
                f"the feature function {describe(self.function)} must return an array of shape "
                f"({n}, {len(self.names)}), found {values.shape}"
            )
        return values


def computed_features(
    function: FeatureFunction, columns: tuple[str, ...], *, known: tuple[str, ...], where: str
) -> ComputedFeatures:
    """Return the feature map of a function. It is called once, with ones, to count its features."""
    trial = np.asarray(function({name: np.ones(1) for name in known}))
    if trial.ndim != 2 or trial.shape[0] != 1 or trial.shape[1] == 0:
        raise DesignError(
            f"{where}: the function {describe(function)} must map arrays of length n to an array (n, d); "
            f"for n = 1 it returned shape {trial.shape}"
        )
    names = tuple(f"{describe(function)}[{j}]" for j in range(trial.shape[1]))
    return ComputedFeatures(function, columns, names)
