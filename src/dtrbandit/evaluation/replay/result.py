"""Replay: what a policy would have earned on a cohort, and how far to trust it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from dtrbandit.intervals import (
    COHORTS,
    PATHS,
    REPLAY,
    TOO_FEW,
    Band,
    Interval,
    mean_interval,
    no_band,
    spread_band,
)
from dtrbandit.kernels.arrays import Array
from dtrbandit.plots import Curve, plot_curves
from dtrbandit.rounds import POINTS, Times, cumulative, times
from dtrbandit.words import counted

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes


FEW = 0.8  # of the acceptance rate that is to be expected


@dataclass(frozen=True, eq=False, repr=False)
class Replay:
    """The paths of a policy through a cohort (Algorithm 2).

    Attributes
    ----------
    policy
        What was replayed.
    units, usable
        How many units the cohort has, and how many of them can be accepted: not dropped out, weight above 0.
    rows
        The unit accepted in each round, as its row in the cohort, (paths, horizon).
    arms, outcomes
        Its arms (paths, horizon, M), −1 where a stage was not entered, and its outcome (paths, horizon).
    draws
        How many rows were offered along each path, (paths,).
    weights_used
        In words.
    effective_sample_size
        (Σ w)² / Σ w² over the usable units.
    largest_weight
        The share of the heaviest among them.
    expected_acceptance
        The acceptance rate of any policy, were the propensities right and the units many; None without propensities.
    resampled
        The outcomes along paths through resampled cohorts, (cohorts, paths, horizon), NaN for a cohort that could not
        be played; None if there are none.
    no_interval
        Why there is no interval over cohorts although there are resampled ones.
    learns
        Whether the policy can learn units by heart: a fixed regime cannot.
    caution
        Why the value is biased, where that shows in the data.
    drawn_from, seed, once
        A hash of the units and their weights, the seed, and whether each unit was met at most once. Replays are
        compared path by path if these are the same.

    Examples
    --------
    >>> outcomes = np.array([[1.0, 2.0, 3.0], [2.0, 3.0, 4.0]])
    >>> rows, arms, draws = np.zeros((2, 3), np.int32), np.zeros((2, 3, 1), np.int8), np.array([5, 7])
    >>> found = Replay("Greedy()", 9, 8, rows, arms, outcomes, draws, "equal weights", 8.0, 0.125)
    >>> found.value, found.acceptance_rate, found.interval
    (2.5, 0.5, 'too few paths for an interval')
    """

    policy: str
    units: int
    usable: int
    rows: NDArray[np.int32]
    arms: NDArray[np.int8]
    outcomes: Array
    draws: NDArray[np.int64]
    weights_used: str
    effective_sample_size: float
    largest_weight: float
    expected_acceptance: float | None = None
    resampled: Array | None = None
    no_interval: str | None = None
    learns: bool = True
    caution: str | None = None
    drawn_from: str = ""
    seed: int = 0
    once: bool = False

    def __post_init__(self) -> None:
        for array in (self.rows, self.arms, self.outcomes, self.draws, self.resampled):
            if array is not None:
                array.flags.writeable = False

    @property
    def horizon(self) -> int:
        """The number of rounds of each path."""
        return len(self.rows[0])

    @property
    def averages(self) -> Array:
        """The average outcome of each path, Ĝ/T, (paths,)."""
        means: Array = self.outcomes.mean(axis=1)
        return means

    @property
    def value(self) -> float:
        """The average outcome over all paths."""
        return float(self.averages.mean())

    @property
    def std_error(self) -> float:
        """The standard error of the value, over what ``interval_over`` says; NaN with too few paths."""
        return float(self._value_interval.std_error)

    @property
    def low(self) -> float:
        """The lower limit of the value's interval; NaN with too few paths."""
        return float(self._value_interval.low)

    @property
    def high(self) -> float:
        """The upper limit of the value's interval; NaN with too few paths."""
        return float(self._value_interval.high)

    @property
    def interval(self) -> str:
        """What the interval is worth: "95 %", "about 90 %" or "too few paths for an interval"."""
        return self._value_interval.level

    @property
    def interval_over(self) -> str:
        """Over what standard errors and intervals are: paths through this cohort, or cohorts."""
        return PATHS if self.resampled is None or self.no_interval is not None else COHORTS

    @property
    def interval_of(self) -> str:
        """What the interval is about."""
        return interval_of(self.interval_over, optimistic=self.is_optimistic, what="the value")

    @property
    def is_optimistic(self) -> bool:
        """Whether the policy learns, and may meet units again: replay is then above the truth."""
        return self.learns and not self.once

    @property
    def cohort_averages(self) -> Array | None:
        """The average outcome of each path through resampled cohorts, (cohorts, paths); None without an interval."""
        if self.interval_over == PATHS:
            return None
        assert self.resampled is not None
        means: Array = self.resampled.mean(axis=2)
        return means

    @property
    def acceptance_rate(self) -> float:
        """The share of the rows offered that the policy agreed with."""
        return self.rows.size / int(self.draws.sum())

    @property
    def different_units(self) -> float:
        """How many different units a path met, on average."""
        return float(np.mean([len(np.unique(path)) for path in self.rows]))

    def curve(self, at: Times = None) -> pd.DataFrame:
        """Return the average outcome up to rounds ``at``: those given, ``"all"``, or 200 evenly in log t and the last.

        One row per t, with the mean over paths, its standard error and its interval, what the interval is worth, and
        over what it is.
        """
        import pandas as pd

        rounds = times(self.horizon, at)
        mean, std_error, low, high, _ = self._interval_at(rounds)
        limits = {"mean": mean, "std_error": std_error, "low": low, "high": high}
        return pd.DataFrame({"t": rounds, **limits, "interval": self.interval, "interval_over": self.interval_over})

    def summary(self) -> pd.DataFrame:
        """Return the result in one row, to be stacked with those of other policies."""
        import pandas as pd

        of_value = ("value", "std_error", "low", "high", "interval", "interval_over", "interval_of", "caution")
        rates = ("acceptance_rate", "expected_acceptance")
        columns = (*of_value, *rates, "effective_sample_size", "largest_weight")
        paths = {"paths": len(self.rows), "horizon": self.horizon, "different_units": self.different_units}
        return pd.DataFrame([{"policy": self.policy, **{name: getattr(self, name) for name in columns}, **paths}])

    def plot(self, ax: Axes | None = None, *, paths: bool = False) -> Axes:
        """Draw the average outcome up to each round with its band; ``paths`` adds each path.

        The band is the interval of the mean. With too few paths for one it is the spread of the paths, 5 to 95 %, and
        left out where every path is drawn. Rounds begin where ``rounds_to_draw`` does: averages of a few outcomes
        would fill the picture.
        """
        rounds = rounds_to_draw(self.horizon)
        averages = self._averages(rounds)
        few = paths and self.interval == TOO_FEW
        low, high, words = no_band(averages) if few else self.band(rounds)
        curve = Curve(self.policy, 0, rounds, averages.mean(axis=0), low, high, averages if paths else None)
        ax = plot_curves([curve], ax, y=axis_label(len(self.rows), words), zero=False)
        if self.caution is not None:
            show_caution(ax)
        return ax

    def band(self, rounds: NDArray[np.int64]) -> Band:
        """Return what surrounds the average outcome up to rounds in a picture: its interval, or the spread of paths."""
        if self.interval == TOO_FEW:
            return spread_band(self._averages(rounds))
        found = self._interval_at(rounds)
        return Band(found.low, found.high, f"mean, {self.interval} band\n{self.interval_over}")

    def __repr__(self) -> str:
        return f"<Replay of {self.policy}: {self._size()}, value {self.value:.4g}>"

    def __str__(self) -> str:
        met = self.different_units
        each = self.horizon / met
        return "\n".join(
            [
                f"{self.policy} on {counted(self.units, 'unit')}: {self._size()}.",
                f"Average outcome {self.value:.4g}{self._about_interval()}",
                *(f"Caution: {self.caution}." for _ in range(self.caution is not None)),
                f"Rows were drawn by {self.weights_used}; {100 * self.acceptance_rate:.3g} % were accepted"
                f"{self._expected_share()}.",
                f"Effective sample size {self.effective_sample_size:,.0f} of {self.usable:,} usable units; "
                f"the heaviest has {100 * self.largest_weight:.2g} % of the weight.",
                f"A path met {met:,.0f} different units, each {each:,.1f} times on average"
                f"{'; this flatters a policy that learns.' if each > 2 else '.'}",
            ]
        )

    def _size(self) -> str:
        return f"{counted(len(self.rows), 'path')} of {counted(self.horizon, 'round')}"

    def _expected_share(self) -> str:
        if self.expected_acceptance is None:
            return ""
        words = f", {100 * self.expected_acceptance:.3g} % are to be expected"
        if self.acceptance_rate > FEW * self.expected_acceptance:
            return words
        return f"{words}: too few units had the arms of this policy, so the accepted units are a biased sample"

    def _about_interval(self) -> str:
        why_none = "" if self.no_interval is None else f" There is {self.no_interval}."
        if self.interval == TOO_FEW:
            fewest, enough = REPLAY
            return (
                f". {counted(len(self.rows), 'path')} {'is' if len(self.rows) == 1 else 'are'} too few for an interval "
                f"over paths: {fewest} give one of about 90 %, {enough} one of 95 %.{why_none}"
            )
        words = f"; {self.interval} interval {self.interval_over} {self.low:.4g} to {self.high:.4g}, "
        words += f"standard error {self.std_error:.2g}. It is about {self.interval_of}."
        if self.interval_over == COHORTS:
            assert self.resampled is not None
            return f"{words} {self._about_cohorts(self.resampled)}"
        return f"{words} Other cohorts would differ more (cohorts=100, or --cohorts 100, says by how much).{why_none}"

    def _about_cohorts(self, resampled: Array) -> str:
        lost = int(np.isnan(resampled[:, 0, 0]).sum())
        left_out = f"; {lost} more could not be replayed" if lost else ""
        paths = counted(resampled.shape[1], "path")
        return f"It rests on {len(resampled) - lost} resampled cohorts of {paths} each{left_out}."

    @cached_property
    def _value_interval(self) -> Interval:
        return mean_interval(self.averages, self.cohort_averages)

    def _interval_at(self, rounds: NDArray[np.int64]) -> Interval:
        """Return the average outcome up to rounds, with its interval over what ``interval_over`` says."""
        others = None
        if self.interval_over == COHORTS:
            assert self.resampled is not None
            others = np.stack([cumulative(paths, rounds) / rounds for paths in self.resampled])
        return mean_interval(self._averages(rounds), others)

    def _averages(self, rounds: NDArray[np.int64]) -> Array:
        return cumulative(self.outcomes, rounds) / rounds


def interval_of(over: str, *, optimistic: bool, what: str) -> str:
    """Say what an interval is about."""
    if over == PATHS:
        return "replay's mean on this cohort"
    if not optimistic:
        return f"{what} in the population"
    return "replay's mean over cohorts, which differs from the truth by replay's optimism"


def show_caution(ax: Axes) -> None:
    """Write on a picture that its values are biased."""
    words = "Caution: equal weights, but units were not equally likely to have their arms"
    ax.set_title(words, loc="left", fontsize=9, color="#D55E00")


def rounds_to_draw(horizon: int) -> NDArray[np.int64]:
    """Return the rounds of a picture: from a twentieth of the horizon on, and the 20th at the earliest.

    A short path begins at its half.

    Examples
    --------
    >>> [rounds_to_draw(horizon)[0] for horizon in (10_000, 100, 7)]
    [np.int64(500), np.int64(20), np.int64(3)]
    """
    first = max(horizon // 20, min(20, horizon // 2), 1)
    return np.unique(np.linspace(first, horizon, POINTS).astype(np.int64))


def axis_label(paths: int, band: str) -> str:
    """Return the name of an axis of average outcomes."""
    return f"average outcome ({counted(paths, 'path')}{f': {band}' if band else ''})"
