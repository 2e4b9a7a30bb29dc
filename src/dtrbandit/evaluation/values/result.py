"""Values of regimes on one cohort: a table, what to keep in mind, comparisons and a picture."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from textwrap import wrap
from typing import TYPE_CHECKING

import numpy as np

from dtrbandit.design.values import shown
from dtrbandit.errors import DesignError
from dtrbandit.evaluation.values.comparison import contenders, joint_reach
from dtrbandit.evaluation.values.estimate import (
    ADAPTIVE,
    AUGMENTED,
    CROSS_FITTED,
    REACH,
    REGRESSION,
    WEIGHTED,
    Estimate,
)
from dtrbandit.evaluation.values.forest import plot_forest
from dtrbandit.kernels.arrays import Matrix, Vector
from dtrbandit.words import counted, short_number

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

WIDTH = 100
ABOUT = {
    WEIGHTED: "weighted: the outcomes of those who followed the regime, by 1/p; right if the propensities are.",
    AUGMENTED: "augmented: weighting and regression together; right if the propensities or the outcome models are.",
    REGRESSION: "q-learning: regression alone; right only if the Q-functions are as the features say.",
    ADAPTIVE: "adaptive: augmented scores with the recorded propensities and outcome models from units that had ended "
    "before; right whatever the outcome models are.",
    CROSS_FITTED: "cross-fitted: each fifth of the units is valued by the regime that the others suggest.",
}
FIXED = (
    "The intervals of weighted, augmented and q-learning take a regime as fixed beforehand. For a regime that these "
    "units suggested they would be too short: give it as the QLearning that learned it."
)
FIXED_TOO = (
    "The intervals take a regime as fixed beforehand. For a regime that these units suggested, or the policy that "
    "learnt from them, they would be too short."
)
HEAVY = 0.1  # of all weight, carried by one unit
ROOMS = (9, 11, 20, 12, 10, 9)


@dataclass(frozen=True, eq=False, repr=False)
class Values:
    """The values of regimes, each by several estimators; printing it reads well.

    Attributes
    ----------
    estimates
        In the order of the regimes.
    units, dropped
        How many units the cohort has, and how many of them dropped out.
    seed
        Of the draws behind what holds for several regimes together.
    origin
        How the arms came about, in sentences.
    """

    estimates: tuple[Estimate, ...]
    units: int
    dropped: int
    seed: int
    origin: tuple[str, ...] = ()

    def to_frame(self) -> pd.DataFrame:
        """Return a row per regime and estimator, with 95 % intervals.

        ``units`` are those with an outcome that followed the regime. ``joint_low`` and ``joint_high`` hold for all
        fixed regimes of an estimator together. ``note`` is what to keep in mind about the number.
        """
        import pandas as pd

        names = ("regime", "estimator", "value", "std_error", "low", "high")
        rows = [
            {
                **{name: getattr(each, name) for name in names},
                **each.support._asdict(),
                **dict(zip(("joint_low", "joint_high"), self.joint_interval(each), strict=True)),
                "note": each.note,
            }
            for each in self.estimates
        ]
        return pd.DataFrame(rows)

    def differences(self, estimator: str | None = None) -> pd.DataFrame:
        """Return how the fixed regimes differ, pair by pair, with paired standard errors and 95 % intervals.

        ``estimator`` is ``"augmented"`` unless another is named; ``"adaptive"`` where that is what there is.
        """
        import pandas as pd

        rows = []
        for one, other in combinations(self._comparable(estimator), 2):
            moved = _stacked([one, other]) @ np.array([1.0, -1.0])
            difference, error = one.value - other.value, np.sqrt((moved**2).sum())
            low, high = difference - REACH * error, difference + REACH * error
            rows.append((one.regime, other.regime, difference, error, low, high))
        return pd.DataFrame(rows, columns=["regime", "against", "difference", "std_error", "low", "high"])

    def best(self, estimator: str | None = None) -> pd.DataFrame:
        """Return which fixed regimes may be the best, and how much each loses against the best at most (95 %)."""
        import pandas as pd

        own = self._comparable(estimator)
        if not own:
            return pd.DataFrame(columns=["regime", "value", "may_be_best", "loses_at_most"])
        values = np.array([each.value for each in own])
        found = contenders(values, _stacked(own), seed=self.seed)
        columns = {"regime": [each.regime for each in own], "value": values}
        return pd.DataFrame({**columns, "may_be_best": found.kept, "loses_at_most": found.loses_at_most})

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the values as a forest plot: thick lines are intervals, thin ones hold for all regimes together."""
        return plot_forest(self.estimates, [self.joint_interval(each) for each in self.estimates], ax)

    def joint_interval(self, estimate: Estimate) -> tuple[float, float]:
        """Return the interval that holds for all fixed regimes of its estimator together; NaN where there is none."""
        reach = self._reach.get(estimate.estimator) if estimate.influence is not None else None
        if reach is None:
            return float("nan"), float("nan")
        return estimate.value - reach * estimate.std_error, estimate.value + reach * estimate.std_error

    @cached_property
    def _reach(self) -> dict[str, float]:
        found = {}
        for estimator in dict.fromkeys(each.estimator for each in self.estimates):
            own = self._with_influence(estimator)
            if len(own) > 1:
                found[estimator] = joint_reach(_stacked(own), seed=self.seed)
        return found

    @property
    def _foremost(self) -> str:
        return ADAPTIVE if any(each.estimator == ADAPTIVE for each in self.estimates) else AUGMENTED

    def _comparable(self, estimator: str | None) -> list[Estimate]:
        estimator = self._foremost if estimator is None else estimator
        if estimator not in (WEIGHTED, AUGMENTED, REGRESSION, ADAPTIVE):
            allowed = ", ".join((WEIGHTED, AUGMENTED, REGRESSION, ADAPTIVE))
            raise DesignError(f"fixed regimes are compared by one of {allowed}; found {shown(estimator)}")
        return self._with_influence(estimator)

    def _with_influence(self, estimator: str) -> list[Estimate]:
        return [each for each in self.estimates if each.estimator == estimator and each.influence is not None]

    # -- in words --------------------------------------------------------------------------------------------

    def __repr__(self) -> str:
        regimes = counted(len({each.regime for each in self.estimates}), "regime")
        return f"<Values of {regimes} on {counted(self.units, 'unit')}>"

    def __str__(self) -> str:
        width = max(len("regime"), *(len(each.regime) for each in self.estimates)) + 2
        lines = [f"Values of regimes on {counted(self.units, 'unit')}, of whom {self.dropped:,} dropped out."]
        lines += [line for words in self.origin for line in wrap(words, WIDTH, subsequent_indent="  ")]
        lines.append("")
        cells = ("value", "std. error", "95 % interval", "followed by", "eff. size", "largest")
        lines.append(_line("regime", "estimator", cells, width))
        before = ""
        for each in self.estimates:
            lines.append(_line("" if each.regime == before else each.regime, each.estimator, _cells(each), width))
            before = each.regime
        return "\n".join([*lines, "", *self._in_words()])

    def _in_words(self) -> Iterator[str]:
        used = dict.fromkeys(each.estimator for each in self.estimates)
        for estimator, words in ABOUT.items():
            if estimator in used:
                yield from wrap(words, WIDTH, subsequent_indent="  ")
        for each in self.estimates:
            if each.note:
                yield from wrap(f"{each.regime}, {each.estimator}: {each.note}", WIDTH, subsequent_indent="  ")
        for each in self.estimates:
            if each.estimator in (WEIGHTED, CROSS_FITTED, ADAPTIVE) and each.support.largest_weight > HEAVY:
                words = f"{each.regime}: one unit carries {100 * each.support.largest_weight:.0f} % of the weight."
                words += " The values hang on that unit, and intervals may be too short."
                yield from wrap(words, WIDTH, subsequent_indent="  ")
        yield from self._compared()
        if any(each.influence is not None for each in self.estimates):
            yield from wrap(FIXED_TOO if self._foremost == ADAPTIVE else FIXED, WIDTH)

    def _compared(self) -> Iterator[str]:
        if len(self._comparable(None)) < 2:
            return
        best = self.best()
        names = "; ".join(best["regime"][best["may_be_best"]])
        words = f"By the {self._foremost} values these may be the best of the fixed regimes (95 %): {names}."
        yield from wrap(words, WIDTH, subsequent_indent="  ")
        reach = self._reach[self._foremost]
        yield from wrap(
            f"Intervals that hold for all fixed regimes together are {reach / REACH:.2f} times as wide: joint_low and "
            "joint_high in to_frame(). To compare two regimes read differences(): their values share units.",
            WIDTH,
        )


def _stacked(estimates: list[Estimate]) -> Matrix:
    columns: list[Vector] = [each.influence for each in estimates if each.influence is not None]
    return np.stack(columns, axis=1)


def _cells(each: Estimate) -> tuple[str, ...]:
    interval = f"{_number(each.low)} to {_number(each.high)}" if each.low <= each.high else "–"
    units, size, largest = each.support
    effective = f"{size:,.1f}" if size == size else "–"
    heavy = f"{100 * largest:.1f} %" if largest == largest else "–"
    return _number(each.value), _number(each.std_error), interval, f"{units:,}", effective, heavy


def _number(value: float) -> str:
    return short_number(value if value == value else None)


def _line(regime: str, estimator: str, cells: tuple[str, ...], width: int) -> str:
    numbers = "".join(f"{cell:>{room}}" for cell, room in zip(cells, ROOMS, strict=True))
    return f"  {regime:<{width}}{estimator:<13}{numbers}"
