"""When units enrol, respond, and are lost: the delays of the paper's appendix (label "section: delay")."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from dtrbandit.design.values import check_fields, each, positive, real, shown, spread, whole
from dtrbandit.errors import DesignError
from dtrbandit.kernels.arrays import Array

MANTISSA = 2.0**30  # times that agree to 30 binary digits are the same: rounding errors break no tie

Size = int | tuple[int, ...]


# -- laws of waiting times --------------------------------------------------------------------------------------


@runtime_checkable
class Duration(Protocol):
    """A law of non-negative times."""

    @property
    def mean(self) -> float:
        """Its mean."""

    @property
    def sub_exponential(self) -> bool:
        """Whether it has the tails that the theory of delay asks for (label "section: delay")."""

    def draw(self, size: Size, rng: np.random.Generator) -> Array:
        """Draw independent times."""


@dataclass(frozen=True)
class Fixed:
    """Always the same time."""

    mean: float
    sub_exponential = True

    def __post_init__(self) -> None:
        check_fields(self, real, "mean")

    def draw(self, size: Size, rng: np.random.Generator) -> Array:  # noqa: ARG002  # nothing random
        """Return the time, ``size`` times."""
        return np.full(size, self.mean)


@dataclass(frozen=True)
class Exponential:
    """Memoryless times: between enrolments, those of a Poisson process."""

    mean: float
    sub_exponential = True

    def __post_init__(self) -> None:
        check_fields(self, positive, "mean")

    def draw(self, size: Size, rng: np.random.Generator) -> Array:
        """Draw independent times."""
        return self.mean * rng.standard_exponential(size)


@dataclass(frozen=True)
class Gamma:
    """Gamma times; a larger shape makes them more regular, and shape 1 is exponential."""

    mean: float
    shape: float
    sub_exponential = True

    def __post_init__(self) -> None:
        check_fields(self, positive, "mean", "shape")

    def draw(self, size: Size, rng: np.random.Generator) -> Array:
        """Draw independent times."""
        return self.mean / self.shape * rng.standard_gamma(self.shape, size)


@dataclass(frozen=True)
class LogNormal:
    """Array with a heavy tail; ``sigma`` is the standard deviation of their logarithm."""

    mean: float
    sigma: float
    sub_exponential = False

    def __post_init__(self) -> None:
        check_fields(self, positive, "mean", "sigma")

    def draw(self, size: Size, rng: np.random.Generator) -> Array:
        """Draw independent times."""
        return np.exp(math.log(self.mean) - self.sigma**2 / 2 + self.sigma * rng.standard_normal(size))


POISSON, AT_ONCE = Exponential(1.0), Fixed(0.0)


# -- how units come and go --------------------------------------------------------------------------------------


class Timeline(NamedTuple):
    """When things happen to n units.

    Attributes
    ----------
    times
        (n, M + 1): when each unit arrives at each stage, and when its outcome comes.
    lost
        (n,): at which of these the unit is lost instead; M + 1 if it never is.
    """

    times: Array
    lost: NDArray[np.int64]


@dataclass(frozen=True, kw_only=True)
class ArrivalProcess:
    """How units come and go.

    Parameters
    ----------
    between
        The time between enrolments, I¹ in the paper. The first unit enrols after such a time.
    response, outcome
        The time from an arm to the next context (one law, or one per later stage), and from the last arm to the
        outcome.
    dropout
        The probability that a unit is lost instead of going on to the next stage or the outcome: a number, or one for
        each later stage and the outcome.

    Examples
    --------
    >>> process = ArrivalProcess(between=Fixed(1.0), response=Fixed(1.5))
    >>> process.events(2, 2, np.random.default_rng(0)).tolist()  # (stage, unit); stage 2 of 2 is the outcome
    [[0, 0], [0, 1], [1, 0], [2, 0], [1, 1], [2, 1]]
    >>> process.mean_delay(stages=2)
    1.5
    """

    between: Duration = POISSON
    response: Duration | tuple[Duration, ...] = AT_ONCE
    outcome: Duration = AT_ONCE
    dropout: float | tuple[float, ...] = 0.0

    def __post_init__(self) -> None:
        check_fields(self, _duration, "between", "outcome")
        check_fields(self, partial(each, check=_duration), "response")
        check_fields(self, partial(each, check=partial(real, high=1.0)), "dropout")

    def draw(self, n: int, stages: int, rng: np.random.Generator) -> Timeline:
        """Draw when n units enrol and go on; they are numbered in the order of enrolment."""
        n, delays = whole(n, "ArrivalProcess: n", low=0), self._delays(stages)
        dropout = spread(self.dropout, stages, "ArrivalProcess: dropout")
        enrolled = np.cumsum(self.between.draw(n, rng))
        waits = [delay.draw(n, rng) for delay in delays]
        times = np.cumsum([enrolled, *waits], axis=0).T
        goes_on = rng.random((n, stages)) >= dropout
        return Timeline(times, 1 + np.cumprod(goes_on, axis=1).sum(axis=1))

    def events(self, n: int, stages: int, rng: np.random.Generator) -> NDArray[np.int32]:
        """Return what happens to n units in order of time, (E, 2), as ``dtrbandit.courses.Courses.events``.

        A row (m, unit) says that the unit arrives at stage m < M. (M, unit): its outcome comes. A unit that leaves
        early gets its outcome when its full course would have ended. (M + 1, unit): it is lost, at the time at which
        it would have gone on. Events at the same time are in order of enrolment. So units under way go on before a new
        one enrols.
        """
        times, lost = self.draw(n, stages, rng)
        kind = np.broadcast_to(np.arange(stages + 1), times.shape)
        kind = np.where(kind == lost[:, None], stages + 1, kind)
        happens = np.arange(stages + 1) <= lost[:, None]
        order = np.argsort(_rounded(times[happens]), kind="stable")  # before: by unit, then by stage
        return np.column_stack([kind[happens], np.nonzero(happens)[0]])[order].astype(np.int32)

    def mean_delay(self, stages: int) -> float:
        """Return μ₂/μ₁: the mean time from enrolment to outcome, in mean times between enrolments."""
        total = sum(delay.mean for delay in self._delays(stages))
        if self.between.mean == 0:
            return math.inf if total else 0.0
        return total / self.between.mean

    @property
    def sub_exponential(self) -> bool:
        """Whether all times have the tails that the theory of delay asks for (label "thm: delay")."""
        responses = self.response if isinstance(self.response, tuple) else (self.response,)
        return all(duration.sub_exponential for duration in (self.between, *responses, self.outcome))

    def _delays(self, stages: int) -> tuple[Duration, ...]:
        stages = whole(stages, "ArrivalProcess: stages", low=1)
        return *spread(self.response, stages - 1, "ArrivalProcess: response"), self.outcome


def _rounded(times: Array) -> Array:
    mantissa, exponent = np.frexp(times)
    return np.ldexp(np.round(mantissa * MANTISSA), exponent)


def _duration(value: object, what: str) -> Duration:
    if not isinstance(value, Duration):
        raise DesignError(f"{what} must be a duration like Exponential(mean=1.0) or Fixed(0.0), found {shown(value)}")
    return value
