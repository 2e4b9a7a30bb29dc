"""Values of regimes on one cohort: a table, what to keep in mind, comparisons and a forest plot."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import combinations
from textwrap import wrap
from typing import TYPE_CHECKING

import numpy as np

from dtrbandit.design.values import shown
from dtrbandit.errors import DesignError
from dtrbandit.evaluation.cohort.origin import ASSUMED
from dtrbandit.evaluation.values.augmented import AUGMENTED
from dtrbandit.evaluation.values.comparison import contenders, differences, joint_reach
from dtrbandit.evaluation.values.estimate import Estimate, ValueEstimator
from dtrbandit.evaluation.values.registry import ESTIMATORS
from dtrbandit.plots import plain_axes
from dtrbandit.words import counted, short_number

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

WIDTH = 100
FIXED = (
    "The intervals of {names} take a regime as fixed beforehand. For a regime that these "
    "units suggested they would be too short: give it as the QLearning that learned it."
)
FIXED_TOO = (
    "The intervals take a regime as fixed beforehand. For a regime that these units suggested, or the policy that "
    "learnt from them, they would be too short."
)
ESTIMAND = (
    "Estimand: the value of a regime, that is the mean outcome if all units were treated by it and none dropped out."
)
OVERLAP = "Every unit could have had the arms of each regime, and no unit acts on the outcome of another."
HEAVY = 0.1  # of all weight, carried by one unit
COLUMN_WIDTHS = (9, 11, 22, 12, 10, 9)
GAP = 0.8  # between regimes in the forest plot, in lines


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
        How the arms came about, and what is taken for granted about that, in sentences.
    given
        How many units were given each arm, by stage.
    origin_stated
        Whether anybody has told how the arms came about. Intervals assume that no policy learnt, where nobody has.
    """

    estimates: tuple[Estimate, ...]
    units: int
    dropped: int
    seed: int
    origin: tuple[str, ...] = ()
    given: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    origin_stated: bool = True

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
                "note": self._note(each),
            }
            for each in self.estimates
        ]
        return pd.DataFrame(rows)

    def differences(self, estimator: str | None = None) -> pd.DataFrame:
        """Return how the fixed regimes differ, pair by pair, with paired standard errors and 95 % intervals.

        ``joint_low`` and ``joint_high`` hold for all pairs together. Where one of the two has no interval, neither has
        their difference. ``estimator`` is ``"augmented"`` unless another is named; ``"adaptive"`` where that is what
        there is.
        """
        import pandas as pd

        own = self._comparable(estimator)
        found = differences([each for each in own if each.influence is not None], seed=self.seed)
        rows = []
        for one, other in combinations(own, 2):
            pair = (one.regime, other.regime)
            numbers = found.get(pair, (one.value - other.value, *[np.nan] * 5))
            rows.append((*pair, *numbers))
        names = ("difference", "std_error", "low", "high", "joint_low", "joint_high")
        return pd.DataFrame(rows, columns=["regime", "against", *names])

    def best(self, estimator: str | None = None) -> pd.DataFrame:
        """Return which fixed regimes may be the best, and how much each loses against the best at most (95 %).

        The comparison is among regimes that have an interval. Of the others nothing is said: ``may_be_best`` is None.
        """
        import pandas as pd

        own = self._comparable(estimator)
        if not own:
            return pd.DataFrame(columns=["regime", "value", "may_be_best", "loses_at_most"])
        found = contenders([each for each in own if each.influence is not None], seed=self.seed)
        kept, loses = zip(*(found.get(each.regime, (None, np.nan)) for each in own), strict=True)
        columns = {"regime": [each.regime for each in own], "value": [each.value for each in own]}
        return pd.DataFrame({**columns, "may_be_best": kept, "loses_at_most": loses})

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the values as a forest plot: thick lines are intervals, thin ones hold for all regimes together."""
        ax = plot_forest(self.estimates, [self.joint_interval(each) for each in self.estimates], ax)
        if not self.origin_stated:
            ax.set_xlabel(f"{ax.get_xlabel()}\n{ASSUMED}")
        return ax

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
                found[estimator] = joint_reach(own, seed=self.seed)
        return found

    @cached_property
    def _estimators(self) -> list[ValueEstimator]:
        """The estimators that found these values, in their order."""
        used = {each.estimator for each in self.estimates}
        return [each for name, each in ESTIMATORS.items() if name in used]

    @property
    def _foremost(self) -> str:
        """The estimator by which regimes are compared unless another is named."""
        return next((each.name for each in self._estimators if each.foremost), AUGMENTED.name)

    def _comparable(self, estimator: str | None) -> list[Estimate]:
        estimator = self._foremost if estimator is None else estimator
        allowed = [each.name for each in ESTIMATORS.values() if each.comparable]
        if estimator not in allowed:
            raise DesignError(f"fixed regimes are compared by one of {', '.join(allowed)}; found {shown(estimator)}")
        return [each for each in self.estimates if each.estimator == estimator and each.fixed]

    def _with_influence(self, estimator: str) -> list[Estimate]:
        return [each for each in self.estimates if each.estimator == estimator and each.influence is not None]

    # -- printed ---------------------------------------------------------------------------------------------

    def __repr__(self) -> str:
        regimes = counted(len({each.regime for each in self.estimates}), "regime")
        return f"<Values of {regimes} on {counted(self.units, 'unit')}>"

    def __str__(self) -> str:
        width = max(len("regime"), *(len(each.regime) for each in self.estimates)) + 2
        lines = [f"Values of regimes on {counted(self.units, 'unit')}, of whom {self.dropped:,} dropped out."]
        lines += ["", *self._units_given(), *wrap(ESTIMAND, WIDTH, subsequent_indent="  "), ""]
        cells = ("value", "std. error", "95 % interval", "followed by", "eff. size", "largest")
        lines.append(_line("regime", "estimator", cells, width))
        before = ""
        for each in self.estimates:
            lines.append(_line("" if each.regime == before else each.regime, each.estimator, _cells(each), width))
            before = each.regime
        remarks = list(self._remarks())
        return "\n".join([*lines, "", *self._assumed(), *([""] if remarks else []), *remarks])

    def _units_given(self) -> Iterator[str]:
        """Say how many units were given each arm, a line for each stage."""
        if not self.given:
            return
        yield "Units by stage and arm:"
        width = max(map(len, self.given)) + 2
        for stage, arms in self.given.items():
            counts = ", ".join(f"{arm} {count:,}" for arm, count in arms.items())
            yield from wrap(f"  {stage:<{width}}{counts}", WIDTH, subsequent_indent=" " * (width + 2))
        yield ""

    def _assumed(self) -> Iterator[str]:
        """Say under which assumptions the numbers are right: all of them, and those of each estimator."""
        yield "Assumptions:"
        for words in (*self.origin, OVERLAP):
            yield from wrap(f"- {words}", WIDTH, subsequent_indent="  ")
        for estimator in self._estimators:
            yield from wrap(f"- {estimator.name}: {estimator.sentence}", WIDTH, subsequent_indent="  ")
        if any(each.influence is not None for each in self.estimates):
            yield from wrap(f"- {self._about_intervals()}", WIDTH, subsequent_indent="  ")

    def _note(self, each: Estimate) -> str:
        """Return what to keep in mind about a number, where it may be read without what is printed around it."""
        assumed = "" if self.origin_stated or np.isnan(each.low) else ASSUMED
        return f"{each.note} {assumed}".strip()

    def _remarks(self) -> Iterator[str]:
        for each in self.estimates:
            if each.note:
                yield from wrap(f"{each.regime}, {each.estimator}: {each.note}", WIDTH, subsequent_indent="  ")
        shares = {each.regime: each.support.largest_weight for each in self.estimates if _is_heavy(each)}
        for regime, share in shares.items():
            words = f"{regime}: one unit carries {100 * share:.0f} % of the weight."
            words += " The values hang on that unit, and intervals may be too short."
            yield from wrap(words, WIDTH, subsequent_indent="  ")
        yield from self._compared()

    def _about_intervals(self) -> str:
        if any(each.adaptive for each in self._estimators):
            return FIXED_TOO
        *names, last = (each.name for each in self._estimators if each.comparable)
        return FIXED.format(names=f"{', '.join(names)} and {last}" if names else last)

    def _compared(self) -> Iterator[str]:
        if len(self._with_influence(self._foremost)) < 2:
            return
        best = self.best()
        names = "; ".join(best["regime"][best["may_be_best"] == True])  # noqa: E712  # None is neither
        words = f"By the {self._foremost} values these may be the best of the fixed regimes (95 %): {names}."
        unknown = best["regime"][best["may_be_best"].isna()]
        if len(unknown):
            words += f" Left out, for want of an interval: {'; '.join(unknown)}."
        yield from wrap(words, WIDTH, subsequent_indent="  ")
        reach = self._reach[self._foremost]
        yield from wrap(
            f"Intervals that hold for all fixed regimes together reach {reach:.2f} standard errors: joint_low and "
            "joint_high in to_frame(). To compare two regimes read differences(): their values share units.",
            WIDTH,
        )


def _is_heavy(each: Estimate) -> bool:
    return each.support.largest_weight > HEAVY


def _cells(each: Estimate) -> tuple[str, ...]:
    interval = f"{_number(each.low)} to {_number(each.high)}" if each.low <= each.high else "–"
    units, size, largest = each.support
    effective = f"{size:,.1f}" if size == size else "–"
    heavy = f"{100 * largest:.1f} %" if largest == largest else "–"
    return _number(each.value), _number(each.std_error), interval, f"{units:,}", effective, heavy


def _number(value: float) -> str:
    return short_number(value if value == value else None)


def _line(regime: str, estimator: str, cells: tuple[str, ...], width: int) -> str:
    numbers = "".join(f"{cell:>{column}}" for cell, column in zip(cells, COLUMN_WIDTHS, strict=True))
    return f"  {regime:<{width}}{estimator:<13}{numbers}"


# -- forest plot ------------------------------------------------------------------------------------------------


def plot_forest(estimates: Sequence[Estimate], joint: Sequence[tuple[float, float]], ax: Axes | None = None) -> Axes:
    """Draw values from above in their order, with 95 % intervals; thin lines are the ``joint`` ones.

    A hollow mark has no interval that is valid.
    """
    heights = _heights(estimates)
    fresh = ax is None
    ax = plain_axes(ax, "value", "")
    if fresh:
        ax.figure.set_size_inches(7.5, 1.4 + 0.28 * (heights[0] + 1))  # type: ignore[union-attr]  # whole: plain_axes made it
    named: set[str] = set()
    for each, (low, high), y in zip(estimates, joint, heights, strict=True):
        estimator, known = ESTIMATORS[each.estimator], bool(np.isfinite(each.low))
        colour = estimator.colour
        ax.plot([low, high], [y, y], color=colour, linewidth=1, zorder=2)
        ax.plot([each.low, each.high], [y, y], color=colour, linewidth=3, solid_capstyle="butt", zorder=3)
        ax.plot(
            [each.value], [y], estimator.mark, color=colour, markersize=6, zorder=4,
            markerfacecolor=colour if known else "white",
            label=None if each.estimator in named else _legend(estimator),
        )  # fmt: skip
        named.add(each.estimator)
    _name_regimes(ax, estimates, heights)
    _explain(ax, estimates, joint)
    return ax


def _legend(estimator: ValueEstimator) -> str:
    """Return the name of an estimator, and what it is the value of if not of the regime itself."""
    return f"{estimator.name}; {estimator.legend}" if estimator.legend else estimator.name


def _heights(estimates: Sequence[Estimate]) -> list[float]:
    """Return the height of each line, the first on top, with a gap between regimes."""
    depth, heights = 0.0, []
    for k, each in enumerate(estimates):
        depth += GAP if k and each.regime != estimates[k - 1].regime else 0.0
        heights.append(-depth)
        depth += 1.0
    return [height + depth - 1.0 for height in heights]


def _name_regimes(ax: Axes, estimates: Sequence[Estimate], heights: Sequence[float]) -> None:
    names = dict.fromkeys(each.regime for each in estimates)
    middle = [np.mean([y for each, y in zip(estimates, heights, strict=True) if each.regime == name]) for name in names]
    ax.set_yticks(middle, labels=list(names))
    for label in ax.get_yticklabels():
        label.set_parse_math(False)  # a name is shown as it is
    ax.tick_params(axis="y", length=0)
    ax.grid(False, axis="y")
    ax.set_ylim(-0.8, max(heights) + 0.8)


def _explain(ax: Axes, estimates: Sequence[Estimate], joint: Sequence[tuple[float, float]]) -> None:
    words = ["thick: 95 % interval"]
    words += ["thin: for all fixed regimes together"] if np.isfinite(joint).any() else []
    words += ["hollow: no valid interval"] if not all(np.isfinite(each.low) for each in estimates) else []
    ax.set_xlabel(f"value ({'; '.join(words)})")
    ax.legend(frameon=False, fontsize=9, loc="upper left", bbox_to_anchor=(1.0, 1.0))
