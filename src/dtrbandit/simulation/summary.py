"""How policies compare over the paths of a study, in a table."""

from __future__ import annotations

import io
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from dtrbandit.intervals import (
    ENOUGH,
    FEWEST,
    TOO_FEW,
    all_pairs_reach,
    level_of,
    mean_over_paths,
    spread_of_paths,
)
from dtrbandit.kernels.arrays import Array
from dtrbandit.words import counted

if TYPE_CHECKING:
    import pandas as pd
    from rich.console import Console
    from rich.table import Table


Numbers = tuple[float, float, float, float, str, float, float, float, float]  # from mean to worst, as in both rows
REGRET, OUTCOME = "regret", "mean reward"  # the second is an outcome; its name is public


class PolicySummary(NamedTuple):
    """A policy at the horizon: its mean over paths with its interval, and the spread of the paths.

    ``interval`` says what ``low`` and ``high`` are worth; they and ``std_error`` are NaN with too few paths. ``path_5``
    and ``path_95`` have 5 % and 95 % of the paths below them. ``second_half`` is the share of the regret that fell
    into the second half of the rounds; None for outcomes.
    """

    policy: str
    mean: float
    std_error: float
    low: float
    high: float
    interval: str
    median: float
    path_5: float
    path_95: float
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
    interval: str
    median: float
    path_5: float
    path_95: float
    worst: float
    share_better: float


@dataclass(frozen=True)
class StudySummary:
    """How policies compare; printing it gives tables, ``to_frame`` the numbers.

    ``measure`` is ``"regret"``, or ``"mean reward"`` where the environment does not know its Q-functions. Differences
    are then from the policy with the best mean. ``rows`` says what the rows are, such as "policy" or "setting".
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
        """Return a row per policy, with its difference to the reference."""
        import pandas as pd

        frame = pd.DataFrame(self.policies).set_index("policy")
        names = list(PairedDifference._fields)
        differences = pd.DataFrame(self.differences, columns=names).set_index("policy")
        return frame.join(differences.add_prefix("difference_"))

    def __str__(self) -> str:
        from rich.console import Console

        width = 120 + max(len(row.policy) for row in self.policies)  # more than the tables need
        console = Console(file=io.StringIO(), width=width, markup=False, emoji=False)  # names are shown as they are
        self._print_means(console)
        if self.differences:
            self._print_differences(console)
        if level_of(self.paths) == TOO_FEW:
            console.print(
                f"{self.paths:,} {'path is' if self.paths == 1 else 'paths are'} too few for an interval of the mean: "
                f"{FEWEST} give one of about 90 %, {ENOUGH} one of 95 %.",
                soft_wrap=True,
            )
        assert isinstance(console.file, io.StringIO)
        return "\n".join(line.rstrip() for line in console.file.getvalue().splitlines()).rstrip()

    __repr__ = __str__

    def _print_means(self, console: Console) -> None:
        what = "Regret" if self.measure == REGRET else "Mean outcome"
        many = counted(self.paths, "path")
        late = ["in second half"] if self.measure == REGRET else []
        table = self._table(f"{what} after {counted(self.horizon, 'round')}, {many}", late)
        for row in self.policies:
            half = [] if row.second_half is None else [f"{100 * row.second_half:.0f} %"]
            table.add_row(row.policy, *_cells(row), *half)
        console.print(table)

    def _print_differences(self, console: Console) -> None:
        reference = self.differences[0].reference
        heading = f"Difference from {reference}, on the same units"
        table = self._table(heading, ["better on"])
        for each in self.differences:
            table.add_row(each.policy, *_cells(each), f"{100 * each.share_better:.0f} %")
        console.print(table)
        if self.measure == OUTCOME:
            held = "" if level_of(self.paths) == TOO_FEW else "; the intervals hold for all pairs of policies together"
            console.print(f"{reference} has the best mean of these paths{held}.", soft_wrap=True)

    def _table(self, heading: str, last: list[str]) -> Table:
        from rich.table import Table

        table = Table(title=heading, title_justify="left")
        level = level_of(self.paths)
        found = [] if level == TOO_FEW else [f"{level} interval"]
        for column, name in enumerate([self.rows, "mean", *found, "median", "5 – 95 % of paths", "worst path", *last]):
            table.add_column(name, justify="right" if column else "left", no_wrap=True)
        return table


class Totals(NamedTuple):
    """Each path's figure at the horizon by policy, and for regret at half the horizon, (paths,) each."""

    final: Mapping[str, Array]
    half: Mapping[str, Array] | None
    horizon: int


def summarise(totals: Totals, *, seed: int) -> StudySummary:
    """Return how policies compare by regret, or by outcome where there is none at half the horizon."""
    measure = OUTCOME if totals.half is None else REGRET
    sign = -1.0 if totals.half is None else 1.0  # of two regrets the lower is better
    first = next(iter(totals.final.values()))
    policies = []
    for name, values in totals.final.items():
        late = None if totals.half is None else _late(totals.half[name], values)
        policies.append(PolicySummary(name, *_numbers(values, sign, seed), late))
    differences = _differences(totals.final, sign, seed)
    return StudySummary(measure, len(first), totals.horizon, tuple(policies), differences)


def best_policy(outcomes: Mapping[str, Array]) -> str:
    """Return the policy with the largest mean over paths, of equal ones the first."""
    return max(outcomes, key=lambda name: float(outcomes[name].mean()))


def _differences(final: Mapping[str, Array], sign: float, seed: int) -> tuple[PairedDifference, ...]:
    """Compare with the first policy by regret. By outcome compare with the best, for all pairs together.

    The first is known beforehand. The best is chosen by the same paths, so intervals must hold for every pair.
    """
    reference = next(iter(final)) if sign > 0 else best_policy(final)
    others = [name for name in final if name != reference]
    reach = None
    if sign < 0 and others and level_of(len(final[reference])) != TOO_FEW:
        reach = all_pairs_reach(np.stack(list(final.values()), axis=1), seed=seed)
    found = []
    for name in others:
        own = final[name] - final[reference]
        row = PairedDifference(name, reference, *_numbers(own, sign, seed), float((sign * own < 0).mean()))
        if reach is not None:
            row = row._replace(low=row.mean - reach * row.std_error, high=row.mean + reach * row.std_error)
        found.append(row)
    return tuple(found)


def _late(half: Array, values: Array) -> float:
    return float(1.0 - half.sum() / values.sum()) if values.sum() else 0.0


def _numbers(values: Array, sign: float, seed: int) -> Numbers:
    """Return what a row says of a mean over paths."""
    mean, std_error, low, high, level = mean_over_paths(values, seed=seed)
    median, path_5, path_95 = map(float, spread_of_paths(values))
    worst = sign * float((sign * values).max())
    return float(mean), float(std_error), float(low), float(high), level, median, path_5, path_95, worst


def _cells(row: PolicySummary | PairedDifference) -> list[str]:
    found = [] if row.interval == TOO_FEW else [f"{_short(row.low)} to {_short(row.high)}"]
    spread = f"{_short(row.path_5)} to {_short(row.path_95)}"
    return [_short(row.mean), *found, _short(row.median), spread, _short(row.worst)]


def _short(number: float) -> str:
    """Return a number with the digits that a reader compares."""
    if number != number:
        return "–"
    return f"{number:,.0f}" if abs(number) >= 1000 else f"{number:,.1f}" if abs(number) >= 10 else f"{number:.3f}"
