"""An asymptotic confidence sequence: limits for a mean that hold at all looks together (Waudby-Smith et al. 2024).

=============  =============================================================================================
notation       meaning
=============  =============================================================================================
Γ_t            the score of the t-th unit that has one; given all before it, its mean is the difference
Γ̄_t, σ̂_t       the mean and the standard deviation of the first t scores
t*             how many scores there are when the limits are tightest, in standard errors
=============  =============================================================================================

    Γ̄_t ± σ̂_t √( 2 (tρ² + 1) / (t²ρ²) · log( √(tρ² + 1) / α ) ),    ρ² = u / t*,

u the root above 1 of log((u + 1) / α²) = u. With a probability of 1 − α, about, the true difference is within the
limits at every t from the first look on. At t* they are 1.55 times as wide as those of a single look.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from textwrap import wrap
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from dtrbandit.kernels.arrays import Vector
from dtrbandit.plots import PALETTE, plain_axes
from dtrbandit.words import counted, short_number

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

FEWEST = 10  # units that followed one regime and not the other, on each side: before that σ̂ is too uncertain
WIDTH = 100
SINGLE = 20  # so many looks, such as the ends of forced blocks, are drawn one by one
NOTHING = 1e-12  # of the largest score: a smaller standard deviation is a rounding error of 0
ADVICE = "This is advice: nothing is stopped by it, and no decision depends on it."


def tightest_root(alpha: float) -> float:
    """Return u, the root above 1 of log((u + 1) / α²) = u.

    Examples
    --------
    >>> round(tightest_root(0.05), 2)
    8.21
    """
    from scipy.special import lambertw

    return float(-lambertw(-(alpha**2) / np.e, k=-1).real) - 1.0


def reach(t: NDArray[np.int64], *, alpha: float, tightest: int) -> Vector:
    """Return how far the limits are from the mean of t scores, in standard deviations of a score."""
    scaled = t * tightest_root(alpha) / tightest  # tρ²
    found: Vector = np.sqrt(2 * (scaled + 1) / (t * scaled) * np.log(np.sqrt(scaled + 1) / alpha))
    return found


@dataclass(frozen=True, eq=False, repr=False)
class Looks:
    """The difference of two regimes at each look, with limits that hold at all looks together; printing it reads well.

    Attributes
    ----------
    names
        Of the two regimes. The difference is the value of the first minus that of the second.
    units
        The number of units that had ended by each look, in the order of their enrolment, (L,).
    scored
        How many of them had a score, (L,).
    followed
        How many of these followed one regime and not the other, (L, 2).
    difference, low, high
        (L,). Limits are NaN before the first look that has ten such units on each side.
    alpha
        With this probability, about, the true difference is outside the limits at some look.
    tightest
        At how many scores the limits were to be tightest.
    about
        Who chose the arms, which units have a score, and what is assumed.
    """

    names: tuple[str, str]
    units: NDArray[np.int64]
    scored: NDArray[np.int64]
    followed: NDArray[np.int64]
    difference: Vector
    low: Vector
    high: Vector
    alpha: float
    tightest: int
    about: tuple[str, ...]

    def to_frame(self) -> pd.DataFrame:
        """Return a row for each look."""
        import pandas as pd

        return pd.DataFrame(
            {
                "units": self.units,
                "scored": self.scored,
                "followed_first": self.followed[:, 0],
                "followed_second": self.followed[:, 1],
                "difference": self.difference,
                "low": self.low,
                "high": self.high,
            }
        )

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the difference and its limits at each look."""
        first, second = self.names
        x = f"units that had ended, in order of enrolment\n({self._level} limits that hold at every look; advice only)"
        ax = plain_axes(ax, x, "")
        ax.set_ylabel(f"{first!r} minus {second!r}", parse_math=False)
        ax.axhline(0, color="0.4", linewidth=1)
        known = np.isfinite(self.low)
        units, low, high = self.units[known], self.low[known], self.high[known]
        if not known.any():
            ax.text(0.5, 0.9, "no limits yet", transform=ax.transAxes, ha="center")
        if known.sum() > SINGLE:
            ax.fill_between(units, low, high, color=PALETTE[0], alpha=0.2, linewidth=0)
        else:
            ax.vlines(units, low, high, color=PALETTE[0], linewidth=3, alpha=0.4)
        mark = "" if known.sum() > SINGLE else "o"
        ax.plot(units, self.difference[known], color=PALETTE[0], linewidth=2 if not mark else 0, marker=mark)
        ax.set_title(self.about[0], fontsize=9, loc="left", wrap=True).set_parse_math(False)
        return ax

    @property
    def _level(self) -> str:
        return f"{100 * (1 - self.alpha):g} %"

    def __repr__(self) -> str:
        return f"<Looks at {self.names[0]!r} minus {self.names[1]!r}: {counted(len(self.units), 'look')}>"

    def __str__(self) -> str:
        return "\n".join(line for words in self._sentences() for line in wrap(words, WIDTH, subsequent_indent="  "))

    def _sentences(self) -> Iterator[str]:
        first, second = self.names
        followed = self.followed[-1].tolist() if len(self.units) else [0, 0]
        scored = int(self.scored[-1]) if len(self.units) else 0
        if len(self.units) and np.isfinite(self.low[-1]):
            low, high = (short_number(float(limit[-1])) for limit in (self.low, self.high))
            yield (
                f"The mean outcome under {first!r} minus that under {second!r} is "
                f"{short_number(float(self.difference[-1]))} ({self._level} limits {low} to {high}), from "
                f"{counted(scored, 'unit')}, of whom {followed[0]:,} followed only the first and {followed[1]:,} only "
                "the second."
            )
            yield self._about_zero()
            yield f"The limits hold at all looks together, from {FEWEST} such units on each side on. {ADVICE}"
        else:
            yield self._why_none(followed, scored)
        yield from self.about

    def _about_zero(self) -> str:
        outside = (self.low > 0) | (self.high < 0)
        if not outside.any():
            return "No look so far excluded a difference of 0."
        since = f"a difference of 0 at the look after {counted(int(self.units[outside.argmax()]), 'unit')}"
        now = "still do" if outside[-1] else "no longer do"
        return f"The limits first excluded {since}, and {now}."

    def _why_none(self, followed: list[int], scored: int) -> str:
        (first, own), (second, other) = zip(self.names, followed, strict=True)
        counts = f"of {counted(scored, 'unit')} with a score {own:,} followed only {first!r}, {other:,} only {second!r}"
        missing = [f"{FEWEST - n} for {name!r}" for name, n in ((first, own), (second, other)) if n < FEWEST]
        why = f"{FEWEST} on each side are needed; missing are {' and '.join(missing)}."
        return f"No limits yet: {counts}. {why if missing else 'Their scores do not vary.'} {ADVICE}"


def sequence(
    scores: Vector, at: NDArray[np.int64], followed: NDArray[np.int64], *, alpha: float, tightest: int
) -> tuple[Vector, Vector, Vector]:
    """Return the mean and the limits after the first ``at`` of the scores, for looks with ``followed`` (L, 2) units."""
    t = at.astype(np.float64)
    centre = scores.mean() if len(scores) else 0.0  # so that squares lose no digits
    sums, squares = (np.cumsum(np.append(0.0, (scores - centre) ** power))[at] for power in (1, 2))
    with np.errstate(divide="ignore", invalid="ignore"):
        spread = np.sqrt(np.maximum(squares - sums**2 / t, 0.0) / (t - 1))
        known = (followed >= FEWEST).all(axis=1) & (spread > NOTHING * np.abs(scores).max(initial=0.0))
        half = np.where(known, spread * reach(at, alpha=alpha, tightest=tightest), np.nan)
        mean = centre + sums / t
    return mean, mean - half, mean + half
