"""Replay: what a policy would have earned on a cohort, and how far to trust it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from dtrbandit.intervals import Interval, interval
from dtrbandit.plots import Curve, plot_curves
from dtrbandit.rounds import POINTS, Times, cumulative, times

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

Array = NDArray[np.float64]

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

    Examples
    --------
    >>> outcomes = np.array([[1.0, 2.0, 3.0], [2.0, 3.0, 4.0]])
    >>> rows, arms, draws = np.zeros((2, 3), np.int32), np.zeros((2, 3, 1), np.int8), np.array([5, 7])
    >>> found = Replay("Greedy()", 9, 8, rows, arms, outcomes, draws, "equal weights", 8.0, 0.125)
    >>> found.value, found.std_error, found.acceptance_rate
    (2.5, 0.5, 0.5)
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

    def __post_init__(self) -> None:
        for array in (self.rows, self.arms, self.outcomes, self.draws):
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
        """The standard error of the value over paths: how paths through this cohort differ, not how cohorts do."""
        return float(interval(self.averages).std_error)

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

        One row per t, with the mean over paths, its standard error and its 95 % interval.
        """
        import pandas as pd

        rounds = times(self.horizon, at)
        return pd.DataFrame({"t": rounds, **interval(self._averages(rounds))._asdict()})

    def summary(self) -> pd.DataFrame:
        """Return the result in one row, to be stacked with those of other policies."""
        import pandas as pd

        rates = ("acceptance_rate", "expected_acceptance")
        columns = ("value", "std_error", *rates, "effective_sample_size", "largest_weight")
        paths = {"paths": len(self.rows), "horizon": self.horizon, "different_units": self.different_units}
        return pd.DataFrame([{"policy": self.policy, **{name: getattr(self, name) for name in columns}, **paths}])

    def plot(self, ax: Axes | None = None, *, paths: bool = False) -> Axes:
        """Draw the average outcome up to each round with its 95 % band; ``paths`` adds each path.

        It begins at a fiftieth of the horizon: averages of a few outcomes would fill the picture.
        """
        rounds = np.unique(np.linspace(max(1, self.horizon // 50), self.horizon, POINTS).astype(np.int64))
        singles = self._averages(rounds)
        mean, _, low, high = interval(singles)
        curve = Curve(self.policy, 0, rounds, mean, low, high, singles if paths else None)
        many = f"{_paths(len(self.rows))}{', mean and 95 % band' if len(self.rows) > 1 else ''}"
        return plot_curves([curve], ax, y=f"average outcome ({many})", zero=False)

    def __repr__(self) -> str:
        return f"<Replay of {self.policy}: {_paths(len(self.rows))} of {self.horizon:,} rounds, value {self.value:.4g}>"

    def __str__(self) -> str:
        met = self.different_units
        each = self.horizon / met
        return "\n".join(
            [
                f"{self.policy} on {self.units:,} units: {_paths(len(self.rows))} of {self.horizon:,} rounds.",
                f"Average outcome {self.value:.4g}{_in_words(interval(self.averages))}.",
                f"Rows were drawn by {self.weights_used}; {100 * self.acceptance_rate:.3g} % were accepted"
                f"{self._against_expected()}.",
                f"Effective sample size {self.effective_sample_size:,.0f} of {self.usable:,} usable units; "
                f"the heaviest has {100 * self.largest_weight:.2g} % of the weight.",
                f"A path met {met:,.0f} different units, each {each:,.1f} times on average"
                f"{'; this flatters a policy that learns.' if each > 2 else '.'}",
            ]
        )

    def _against_expected(self) -> str:
        if self.expected_acceptance is None:
            return ""
        words = f", {100 * self.expected_acceptance:.3g} % are to be expected"
        if self.acceptance_rate > FEW * self.expected_acceptance:
            return words
        return f"{words}: too few units had the arms of this policy, and those who had do not stand for all"

    def _averages(self, rounds: NDArray[np.int64]) -> Array:
        return cumulative(self.outcomes, rounds) / rounds


def _paths(count: int) -> str:
    return f"{count:,} path{'s' if count > 1 else ''}"


def _in_words(of: Interval) -> str:
    if np.isnan(of.std_error):
        return ""
    return (
        f", standard error over paths {of.std_error:.2g} (95 % interval {of.low:.4g} to {of.high:.4g}, "
        "for this cohort: others would differ more)"
    )
