"""When units enrol, respond, and are lost: the delays of the paper's appendix (label "section: delay")."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dtrbandit.design.values import each, real, shown, spread, whole
from dtrbandit.environments.durations import Duration, Exponential, Fixed, Times
from dtrbandit.errors import DesignError

POISSON, AT_ONCE = Exponential(1.0), Fixed(0.0)
MANTISSA = 2.0**30  # times that agree to 30 binary digits are the same: rounding errors break no tie


class Timeline(NamedTuple):
    """When things happen to n units.

    Attributes
    ----------
    times
        (n, M + 1): when each unit arrives at each stage, and when its outcome comes.
    lost
        (n,): at which of these the unit is lost instead; M + 1 if it never is.
    """

    times: Times
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
        _duration(self.between, "ArrivalProcess: between")
        _duration(self.outcome, "ArrivalProcess: outcome")
        object.__setattr__(self, "response", each(self.response, "ArrivalProcess: response", _duration))
        object.__setattr__(self, "dropout", each(self.dropout, "ArrivalProcess: dropout", _probability))

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
        it would have gone on. Of units at the same time the one that enrolled first comes first, so those under way
        go on before a new one enrols.
        """
        times, lost = self.draw(n, stages, rng)
        what = np.broadcast_to(np.arange(stages + 1), times.shape)
        what = np.where(what == lost[:, None], stages + 1, what)
        happens = np.arange(stages + 1) <= lost[:, None]
        order = np.argsort(_rounded(times[happens]), kind="stable")  # before: by unit, then by stage
        return np.column_stack([what[happens], np.nonzero(happens)[0]])[order].astype(np.int32)

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


def _rounded(times: Times) -> Times:
    mantissa, exponent = np.frexp(times)
    return np.ldexp(np.round(mantissa * MANTISSA), exponent)


def _duration(value: object, what: str) -> Duration:
    if not isinstance(value, Duration):
        raise DesignError(f"{what} must be a duration like Exponential(mean=1.0) or Fixed(0.0), found {shown(value)}")
    return value


def _probability(value: object, what: str) -> float:
    return real(value, what, high=1.0)
