"""Laws of waiting times: fixed, exponential, gamma or log-normal."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from dtrbandit.design.values import positive, real

Size = int | tuple[int, ...]
Times = NDArray[np.float64]


@runtime_checkable
class Duration(Protocol):
    """A law of non-negative times."""

    @property
    def mean(self) -> float:
        """Its mean."""

    @property
    def sub_exponential(self) -> bool:
        """Whether it has the tails that the theory of delay asks for (label "section: delay")."""

    def draw(self, size: Size, rng: np.random.Generator) -> Times:
        """Draw independent times."""


@dataclass(frozen=True)
class Fixed:
    """Always the same time."""

    mean: float
    sub_exponential = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "mean", real(self.mean, "Fixed: mean"))

    def draw(self, size: Size, rng: np.random.Generator) -> Times:  # noqa: ARG002  # nothing random
        """Return the time, ``size`` times."""
        return np.full(size, self.mean)


@dataclass(frozen=True)
class Exponential:
    """Memoryless times: between enrolments, those of a Poisson process."""

    mean: float
    sub_exponential = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "mean", positive(self.mean, "Exponential: mean"))

    def draw(self, size: Size, rng: np.random.Generator) -> Times:
        """Draw independent times."""
        return self.mean * rng.standard_exponential(size)


@dataclass(frozen=True)
class Gamma:
    """Gamma times; a larger shape makes them more regular, and shape 1 is exponential."""

    mean: float
    shape: float
    sub_exponential = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "mean", positive(self.mean, "Gamma: mean"))
        object.__setattr__(self, "shape", positive(self.shape, "Gamma: shape"))

    def draw(self, size: Size, rng: np.random.Generator) -> Times:
        """Draw independent times."""
        return self.mean / self.shape * rng.standard_gamma(self.shape, size)


@dataclass(frozen=True)
class LogNormal:
    """Times with a heavy tail; ``sigma`` is the standard deviation of their logarithm."""

    mean: float
    sigma: float
    sub_exponential = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "mean", positive(self.mean, "LogNormal: mean"))
        object.__setattr__(self, "sigma", positive(self.sigma, "LogNormal: sigma"))

    def draw(self, size: Size, rng: np.random.Generator) -> Times:
        """Draw independent times."""
        return np.exp(math.log(self.mean) - self.sigma**2 / 2 + self.sigma * rng.standard_normal(size))
