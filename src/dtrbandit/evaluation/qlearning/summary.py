"""A Q-learning fit in tables, and what to keep in mind when reading them."""

from __future__ import annotations

from dataclasses import dataclass
from math import erfc, sqrt
from statistics import NormalDist
from textwrap import wrap
from typing import NamedTuple

from dtrbandit.evaluation.qlearning.regression import Regression
from dtrbandit.record.events import in_words

REACH = NormalDist().inv_cdf(0.975)
HEADINGS = ("estimate", "std. error", "z", "P>|z|", "95 % interval")
WIDTHS = (12, 12, 8, 8, 26)
ERRORS = "Standard errors are HC3 (units independent, of any variance); intervals and P are by the normal distribution."
EARLIER_STAGES = (
    "Before the last stage the targets are estimates themselves: the largest Q of the next stage. Standard errors "
    "there take the later fit as known and leave its error out; and where two arms are about equally good for many "
    "units, the maximum is biased upwards and no such interval has its level (the estimates are not regular). Read "
    "them as a guide."
)
VALUE = (
    "Estimated value of the regime: {value}, the mean over all units of the largest Q at stage {stage}. It flatters, "
    "since the units that value the regime have chosen it."
)
WIDTH = 100


class ArmFit(NamedTuple):
    """The regression of one stage and arm; ``alone`` are the units that determine a coefficient alone."""

    stage: str
    arm: str
    terms: tuple[str, ...]
    units: int
    regression: Regression
    alone: tuple[str, ...]

    @property
    def notes(self) -> tuple[str, ...]:
        """What the units do not tell, in words."""
        fit, where = self.regression, f"{self.arm} at stage {self.stage}"
        if fit.rank < len(self.terms):
            names = zip(self.terms, fit.determined, strict=True)
            features = ", ".join("the intercept" if name == "1" else name for name, known in names if not known)
            missing = len(self.terms) - fit.rank
            return (
                f"{where}: {self.units} units do not determine {features}; the smallest coefficients that fit are "
                f"used, without standard errors. It takes at least {missing} more units that differ, or fewer terms.",
            )
        if self.alone:
            units = ", ".join(self.alone[:5]) + (f" and {len(self.alone) - 5} more" if len(self.alone) > 5 else "")
            return (
                f"{where}: no standard errors, since a coefficient rests on one unit alone (leverage 1: {units}). "
                "It takes more units like these; or fewer features.",
            )
        return ()


@dataclass(frozen=True)
class QLearningSummary:
    """A fit; printing it gives a table for each stage and arm. The numbers are in ``QLearning.coef_``."""

    arms: tuple[ArmFit, ...]
    value: float
    units: int

    def __str__(self) -> str:
        first, width = self.arms[0].stage, max(len(term) for fit in self.arms for term in fit.terms) + 2
        lines = [f"Q-learning by least squares, from {self.units:,} units."]
        lines += wrap(VALUE.format(value=in_words(self.value), stage=first), WIDTH)
        for fit in self.arms:
            lines += ["", *_table(fit, width)]
        lines += ["", *wrap(ERRORS, WIDTH), *(wrap(EARLIER_STAGES, WIDTH) if self.arms[-1].stage != first else [])]
        for fit in self.arms:
            for note in fit.notes:
                lines += wrap(f"Note: {note}", WIDTH, subsequent_indent="  ")
        return "\n".join(lines)

    __repr__ = __str__


def _table(fit: ArmFit, width: int) -> list[str]:
    fitted = "" if fit.regression.r_squared != fit.regression.r_squared else f", R² {fit.regression.r_squared:.3f}"
    lines = [f"Stage {fit.stage}, {fit.arm}: {fit.units:,} units{fitted}", _line("", HEADINGS, width)]
    for term, estimate, error in zip(fit.terms, fit.regression.coefficients, fit.regression.std_errors, strict=True):
        lines.append(_line(term, _cells(float(estimate), float(error)), width))
    return lines


def _line(term: str, cells: tuple[str, ...], width: int) -> str:
    return f"  {term:<{width}}" + "".join(f"{cell:>{room}}" for cell, room in zip(cells, WIDTHS, strict=True))


def _cells(estimate: float, error: float) -> tuple[str, ...]:
    if not error > 0:  # none, or none to speak of: a perfect fit
        return in_words(estimate), in_words(error if error == error else None), "–", "–", "–"
    z = estimate / error
    low, high = estimate - REACH * error, estimate + REACH * error
    chance = erfc(abs(z) / sqrt(2.0))
    p_value = f"{chance:.3f}" if chance >= 0.001 else "<0.001"
    return in_words(estimate), in_words(error), f"{z:.2f}", p_value, f"{in_words(low)} to {in_words(high)}"
