"""The forest plot: a line per regime and estimator, with its value and interval."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from dtrbandit.evaluation.values.estimate import ADAPTIVE, AUGMENTED, CROSS_FITTED, REGRESSION, WEIGHTED, Estimate
from dtrbandit.plots import PALETTE, plain_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MARKS = {AUGMENTED: "s", WEIGHTED: "o", REGRESSION: "D", CROSS_FITTED: "^", ADAPTIVE: "v"}
GAP = 0.8  # between regimes, in lines


def plot_forest(estimates: Sequence[Estimate], joint: Sequence[tuple[float, float]], ax: Axes | None = None) -> Axes:
    """Draw values from above in their order, with 95 % intervals; thin lines are the ``joint`` ones.

    A hollow mark has no interval that is valid.
    """
    heights = _heights(estimates)
    fresh = ax is None
    ax = plain_axes(ax, "value", "")
    if fresh:
        ax.figure.set_size_inches(7.5, 1.4 + 0.28 * (heights[0] + 1))  # type: ignore[union-attr]  # whole: panel made it
    colours = dict(zip(MARKS, PALETTE, strict=False))
    told: set[str] = set()
    for each, (low, high), y in zip(estimates, joint, heights, strict=True):
        colour, known = colours[each.estimator], np.isfinite(each.low)
        ax.plot([low, high], [y, y], color=colour, linewidth=1, zorder=2)
        ax.plot([each.low, each.high], [y, y], color=colour, linewidth=3, solid_capstyle="butt", zorder=3)
        ax.plot(
            [each.value], [y], MARKS[each.estimator], color=colour, markersize=6, zorder=4,
            markerfacecolor=colour if known else "white",
            label=None if each.estimator in told else _legend(each),
        )  # fmt: skip
        told.add(each.estimator)
    _name_regimes(ax, estimates, heights)
    _explain(ax, estimates, joint)
    return ax


def _legend(estimate: Estimate) -> str:
    """Return the name of an estimator; of the cross-fitted one also whose value its interval is about."""
    if estimate.estimator == CROSS_FITTED and np.isfinite(estimate.low):
        return f"{CROSS_FITTED}; interval for\nregimes from fewer units"
    return estimate.estimator


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
