"""How policies compare over the paths of a study, in a table."""

from __future__ import annotations

import io
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dtrbandit.intervals import interval

if TYPE_CHECKING:
    import pandas as pd
    from rich.table import Table

Array = NDArray[np.float64]

REGRET, OUTCOME = "regret", "mean reward"  # the second is an outcome; its name is public


class PolicySummary(NamedTuple):
    """A policy at the horizon: its mean over paths with standard error and 95 % interval, median, worst path.

    ``second_half`` is the share of the regret that fell into the second half of the rounds; None for outcomes.
    """

    policy: str
    mean: float
    std_error: float
    low: float
    high: float
    median: float
    worst: float
    second_half: float | None


class PairedDifference(NamedTuple):
    """A policy less the reference, path by path; both met the same units, so the interval is narrow.

    ``share_better`` is the share of the paths on which the policy did better than the reference.
    """

    policy: str
    reference: str
    mean: float
    std_error: float
    low: float
    high: float
    share_better: float


@dataclass(frozen=True)
class StudySummary:
    """How policies compare; printing it gives tables, ``to_frame`` the numbers.

    ``measure`` is ``"regret"``, or ``"mean reward"`` where the environment does not know its Q-functions.
    ``rows`` says what the rows are, such as "policy" or "setting".
    """

    measure: str
    paths: int
    horizon: int
    policies: tuple[PolicySummary, ...]
    differences: tuple[PairedDifference, ...]
    rows: str = "policy"

    def records(self) -> list[dict[str, object]]:
        """Return a row per policy, by name of column."""
        return [row._asdict() for row in self.policies]

    def to_frame(self) -> pd.DataFrame:
        """Return a row per policy, with its difference to the first."""
        import pandas as pd

        frame = pd.DataFrame(self.policies).set_index("policy")
        names = list(PairedDifference._fields)
        differences = pd.DataFrame(self.differences, columns=names).set_index("policy").drop(columns="reference")
        return frame.join(differences.add_prefix("difference_"))

    def __str__(self) -> str:
        from rich.console import Console
        from rich.table import Table

        heading = f"{self.measure.capitalize()} after {self.horizon:,} rounds, {self.paths:,} paths"
        table = Table(title=heading, title_justify="left")
        columns = ["mean", "std. error", "95 % interval", "median", "worst path"]
        columns += ["second half"] if self.measure == REGRET else []
        _add(table, [self.rows, *columns])
        for row in self.policies:
            half = [] if row.second_half is None else [f"{100 * row.second_half:.0f} %"]
            table.add_row(row.policy, *_numbers(*row[1:5]), _short(row.median), _short(row.worst), *half)
        width = max(100, 60 + max(len(row.policy) for row in self.policies))
        console = Console(file=io.StringIO(), width=width, markup=False, emoji=False)  # names are shown as they are
        console.print(table)
        if self.differences:
            heading = f"Difference from {self.differences[0].reference}, on the same units"
            pairs = Table(title=heading, title_justify="left")
            _add(pairs, [self.rows, *columns[:3], "better on"])
            for each in self.differences:
                pairs.add_row(each.policy, *_numbers(*each[2:6]), f"{100 * each.share_better:.0f} % of paths")
            console.print(pairs)
        assert isinstance(console.file, io.StringIO)
        return console.file.getvalue().rstrip()

    __repr__ = __str__


def summarise(measure: str, final: Mapping[str, Array], half: Mapping[str, Array] | None, horizon: int) -> StudySummary:
    """Return how policies compare, given each path's figure at the horizon and, for regret, at half the horizon."""
    sign = 1.0 if measure == REGRET else -1.0  # of two regrets the lower is better
    policies, differences = [], []
    reference, first = next(iter(final.items()))
    for name, values in final.items():
        worst = sign * float((sign * values).max())
        late = None if half is None else float(1.0 - half[name].sum() / values.sum()) if values.sum() else 0.0
        policies.append(PolicySummary(name, *_floats(values), float(np.median(values)), worst, late))
        if name != reference:
            better = float((sign * values < sign * first).mean())
            differences.append(PairedDifference(name, reference, *_floats(values - first), better))
    return StudySummary(measure, len(first), horizon, tuple(policies), tuple(differences))


def _floats(values: Array) -> tuple[float, float, float, float]:
    mean, std_error, low, high = (float(number) for number in interval(values))
    return mean, std_error, low, high


def _add(table: Table, headings: list[str]) -> None:
    for place, heading in enumerate(headings):
        table.add_column(heading, justify="right" if place else "left")


def _numbers(mean: float, std_error: float, low: float, high: float) -> list[str]:
    return [_short(mean), _short(std_error), f"{_short(low)} to {_short(high)}" if low == low else "–"]


def _short(number: float) -> str:
    """Return a number with the digits that a reader compares."""
    if number != number:
        return "–"
    return f"{number:,.0f}" if abs(number) >= 1000 else f"{number:,.1f}" if abs(number) >= 10 else f"{number:.3f}"
