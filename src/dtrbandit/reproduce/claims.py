"""Claims of the paper about curves of regret: how each is measured, and when it holds.

Three laws can be told apart whatever their scale. Over the last two decades, at rounds evenly spaced in log t:

============  ==========================  ===================================
regret        R² of a line in log t       share of the second half of rounds
============  ==========================  ===================================
a + b log t   1                           about log 2 / log T: 8 % at 10,000
√t            0.92                        1 − √½ = 29 %
t             0.76                        50 %
============  ==========================  ===================================
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dtrbandit.intervals import Interval, interval
from dtrbandit.simulation.study import Study

Array = NDArray[np.float64]

POINTS = 100
STRAIGHT = 0.94  # R² from which a curve counts as logarithmic: more than √t has, less than a staircase of forced blocks


class Claim(NamedTuple):
    """A sentence of the paper, what was measured, what is allowed, and whether it holds."""

    claim: str
    measured: str
    allowed: str
    holds: bool


def log_rounds(horizon: int, *, decades: float) -> NDArray[np.int64]:
    """Return the rounds of the last ``decades``, evenly spaced in log t."""
    return np.unique(np.geomspace(max(horizon / 10**decades, 1), horizon, POINTS).round().astype(np.int64))


def straightness(x: Array, y: Array) -> float:
    """Return R² of a line through (x, y)."""
    return float(np.corrcoef(x, y)[0, 1] ** 2) if np.ptp(y) > 0 else 0.0


def straight_in_log(study: Study, policy: str) -> float:
    """Return R² of a line in log t through the mean regret of the last two decades."""
    rounds = log_rounds(study.horizon, decades=2)
    return straightness(np.log(rounds), study.total_regret(policy, rounds).mean(axis=0))


def straight_in_t(study: Study, policy: str) -> float:
    """Return R² of a line in t through the mean regret of the last four fifths of the rounds."""
    rounds = np.linspace(study.horizon / 5, study.horizon, POINTS).astype(np.int64)
    return straightness(rounds.astype(np.float64), study.total_regret(policy, rounds).mean(axis=0))


def logarithmic(sentence: str, r2: float, *, of: str = "") -> Claim:
    """Claim that regret grows like log T, by R² of a line in log t; ``of`` says of which curve."""
    return Claim(sentence, f"R² = {r2:.3f}{of}", f"at least {STRAIGHT} (√t: 0.92, t: 0.76)", r2 >= STRAIGHT)


def linear(
    sentence: str, study: Study, policy: str, *, least: float, share: tuple[float, float], compared: str = ""
) -> Claim:
    """Claim that regret grows like T, by R² of a line in t and the share of the second half of rounds."""
    r2, late, (low, high) = straight_in_t(study, policy), second_half(study, policy), share
    return Claim(
        sentence,
        f"R² = {r2:.4f} of a line in t; {late:.0%} in the second half",
        f"at least {least:g}; {low:.0%} to {high:.0%}{compared}",
        r2 >= least and low <= late <= high,
    )


def halves(study: Study, policy: str) -> tuple[Array, Array]:
    """Return the regret of each path in the first and in the second half of the rounds."""
    half, end = study.total_regret(policy, np.array([study.horizon // 2, study.horizon])).T
    return half, end - half


def second_half(study: Study, policy: str) -> float:
    """Return the share of the regret that falls into the second half of the rounds."""
    first, second = halves(study, policy)
    return float(second.sum() / (first.sum() + second.sum()))


def growth(study: Study, policy: str) -> Interval:
    """Return the slope of log regret in log t over the last decade: its mean over paths, with an interval."""
    rounds = log_rounds(study.horizon, decades=1)
    x = np.log(rounds) - np.log(rounds).mean()
    slopes = np.log(study.total_regret(policy, rounds)) @ x / (x @ x)
    return interval(slopes)


class Change(NamedTuple):
    """How much more regret one policy has than another: the mean over paths, its interval, the share with less."""

    mean: float
    low: float
    high: float
    lower_on: float

    def __str__(self) -> str:
        return f"{self.mean:+.1f} ({self.low:+.1f} to {self.high:+.1f})"


def change(study: Study, before: str, after: str) -> Change:
    """Return how the regret at the horizon changes between policies, path by path: the same units met both."""
    end = [study.horizon]
    differences = (study.total_regret(after, end) - study.total_regret(before, end))[:, 0]
    mean, _, low, high = (float(number) for number in interval(differences))
    return Change(mean, low, high, float((differences < 0).mean()))


def final(study: Study, policy: str) -> float:
    """Return the mean regret at the horizon."""
    return float(study.total_regret(policy, np.array([study.horizon])).mean())
