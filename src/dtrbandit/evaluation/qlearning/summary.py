"""A Q-learning fit in tables, what to keep in mind when reading them, and the learned rule of a stage in words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import erfc, sqrt
from textwrap import wrap
from typing import NamedTuple

import numpy as np

from dtrbandit.evaluation.cohort.cohort import Cohort
from dtrbandit.evaluation.cohort.origin import assumptions
from dtrbandit.evaluation.cohort.summary import arms_given
from dtrbandit.evaluation.induction.induction import Dropouts
from dtrbandit.evaluation.induction.regression import Regression
from dtrbandit.evaluation.qlearning.bootstrap import LEVEL, XIS
from dtrbandit.evaluation.qlearning.uncertainty import ADAPTIVE, BOOTSTRAP, SANDWICH, StageIntervals, Uncertainty
from dtrbandit.evaluation.values.learned import BesideValue, LearnedValue, beside_value
from dtrbandit.kernels.arrays import Vector
from dtrbandit.words import counted, short_number

HEADINGS = ("estimate", "std. error", "z", "P>|z|", "95 % interval")
WIDTHS = (12, 12, 8, 8, 26)
ESTIMAND = (
    "Estimand: the coefficients of Q at each stage and arm. Q is the mean outcome given the history, if this arm is "
    "given now, and at each later stage the arm that is best there."
)
LINEAR = "Q is linear in the features. If it is not at a later stage, estimates of the earlier ones are biased too."
ERRORS = (
    "Standard errors are HC3 over the estimating equations of all stages together, so that those before the last "
    "stage know the error of the later ones. Units are independent, of any variance; z and P are by the normal "
    "distribution."
)
NOT_REGULAR = (
    "Stage {stage} is not regular: for {near:,} of {units:,} units ({share:.0%} by weight) two arms of a later stage "
    "cannot be told apart, and the targets have a kink there. No standard error, z or P is valid. The intervals are "
    "those of the m-out-of-n bootstrap ({resamples:,} resamples of {size}, ξ = {xi}{redrawn})."
)
NOT_REACHED = (
    " For {short} of {count} coefficients no ξ up to {most} made the double bootstrap cover 95 % (the least: "
    "{held:.1%}); their intervals may be too short."
)
NO_INTERVAL = (
    "Stage {stage} is not regular: for {near:,} of {units:,} units two arms of a later stage cannot be told apart. "
    "There are too few units for the bootstrap that is valid then: in more than 5 % of resamples some arm, or a model "
    "of staying, cannot be fitted."
)
RESTS_ON_LATER = (
    "Stage {stage} has no standard errors for {arms}: the targets rest on an arm of a later stage that has none."
)
ADAPTIVE_DATA = (
    "There are no standard errors, intervals or P: a policy chose the arms by what earlier units had taught it. Then "
    "estimates are biased and not normal, and no interval for independent units is valid. The forced rounds "
    "alone have valid intervals, if there are any: QLearning(design).fit(cohort.forced()). Values of fixed regimes: "
    "dtr.evaluate(cohort, ...)."
)
DROPPED = {
    "imputed": "{rows:,} of their {had} at stage {stage} count, those whose next context was seen",
    "complete": "none of their {had} at stage {stage} counts",
    "weighted": "none of their {had} at stage {stage} counts, and others stand for them",
}
VALID_IF = {
    "imputed": "this is right if the Q-functions are as the features say",
    "complete": "this is right only if loss depends on nothing but the features",
    "weighted": "this is right if the model of staying is; standard errors take its probabilities as known, which "
    "makes them too large rather than too small, and the bootstrap fits them anew",
}
VALUE = (
    "Estimated value of the regime: {value}, the mean over all units of the largest Q at stage {stage}. It flatters, "
    "since the units that value the regime have chosen it."
)
WIDTH = 100
INTERCEPT = "1"
TINY = 1e-4
ROUNDING = 1e-12  # of two coefficients, their difference is none


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
            units, more = counted(self.units, "unit"), counted(len(self.terms) - fit.rank, "more unit")
            return (
                f"{where}: {units} cannot determine {features}; the smallest coefficients that fit are used, without "
                f"standard errors. It takes at least {more} unlike these, or fewer terms.",
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

    cohort: Cohort
    dropouts: Dropouts
    uncertainty: Uncertainty
    value: float

    @cached_property
    def arms(self) -> tuple[ArmFit, ...]:
        """The regressions of all stages and arms."""
        design, units, found = self.cohort.design, self.cohort.units, []
        for stage, formulas, fitted in zip(design.stages, design.parsed, self.uncertainty.stages, strict=True):
            for label, rows, regression in zip(stage.arms, fitted.rows, fitted.regressions, strict=True):
                alone = tuple(units[row] for row in rows[regression.alone])
                found.append(ArmFit(stage.name, label, formulas.features.names, len(rows), regression, alone))
        return tuple(found)

    def __str__(self) -> str:
        first, width = self.arms[0].stage, max(len(term) for fit in self.arms for term in fit.terms) + 2
        lines = [f"Q-learning by {self.uncertainty.sample.regression.name}, from {counted(len(self.cohort), 'unit')}."]
        lines += ["", *self._units(), "", *wrap(ESTIMAND, WIDTH, subsequent_indent="  "), "", "Assumptions:"]
        for words in self._assumptions():
            lines += wrap(f"- {words}", WIDTH, subsequent_indent="  ")
        lines += ["", *wrap(VALUE.format(value=short_number(self.value), stage=first), WIDTH)]
        lines += self._describe_beside_value()
        for m, stage in enumerate(dict.fromkeys(fit.stage for fit in self.arms)):
            own = [fit for fit in self.arms if fit.stage == stage]
            count = sum(len(fit.terms) for fit in own)
            found = self.uncertainty.intervals(m, np.eye(count).reshape(count, len(own), -1))
            for arm, fit in enumerate(own):
                here = slice(arm * len(fit.terms), (arm + 1) * len(fit.terms))
                lines += ["", *_table(fit, found, here, width, last=m == len(self.uncertainty.stages) - 1)]
            lines += self._caveat(m, own, found)
        for fit in self.arms:
            for note in fit.notes:
                lines += ["", *wrap(f"Note: {note}", WIDTH, subsequent_indent="  ")]
        return "\n".join(lines)

    __repr__ = __str__

    @property
    def cross_fitted(self) -> LearnedValue:
        """The cross-fitted value, which does not flatter, without an interval; NaN with the reason if there is none."""
        return self._beside_value.cross_fitted

    @property
    def in_sequence(self) -> LearnedValue:
        """The value in sequence, with its interval; NaN with the reason if there is none."""
        return self._beside_value.in_sequence

    @cached_property
    def _beside_value(self) -> BesideValue:
        return beside_value(self.cohort, self.dropouts, self.uncertainty.sample.regression)

    def _describe_beside_value(self) -> list[str]:
        """Give each value that does not flatter a paragraph of its own, with its own interval."""
        paragraphs = [
            _describe_value("Cross-fitted value", self.cross_fitted),
            _describe_value("Value in sequence", self.in_sequence),
        ]
        different = dict.fromkeys(paragraphs)  # both may be missing for the same reason
        return [line for words in different for line in wrap(words, WIDTH)]

    def _units(self) -> list[str]:
        """Return a line for each stage: how many units have a row there, of those that had each arm."""
        lines, width = ["Units with a row, of those who had the arm:"], max(len(fit.stage) for fit in self.arms) + 2
        for stage, had in arms_given(self.cohort).items():
            own = [f"{fit.arm} {fit.units:,} of {had[fit.arm]:,}" for fit in self.arms if fit.stage == stage]
            lines += wrap(f"  {stage:<{width}}{', '.join(own)}", WIDTH, subsequent_indent=" " * (width + 2))
        return lines

    def _assumptions(self) -> Iterator[str]:
        """Give what the numbers rest on."""
        yield from assumptions(self.cohort)
        yield LINEAR
        yield from self._describe_dropped()
        yield ADAPTIVE_DATA if self.uncertainty.adaptive else ERRORS

    def _caveat(self, m: int, own: Sequence[ArmFit], found: StageIntervals) -> list[str]:
        """Say which interval a stage has, where it is not the usual one."""
        stage = own[0].stage
        if found.method == ADAPTIVE:
            return []
        if found.method == SANDWICH:
            errors = found.interval.std_error.reshape(len(own), -1)
            arms = [
                fit.arm for fit, each in zip(own, errors, strict=True) if np.isnan(each[0]) and fit.regression.varies
            ]
            return ["", *wrap(RESTS_ON_LATER.format(stage=stage, arms=", ".join(arms)), WIDTH)] if arms else []
        near = self.uncertainty.regularity[m]
        numbers = {"stage": stage, "near": near.near, "units": near.units, "share": near.share}
        if found.method != BOOTSTRAP:
            return ["", *wrap(NO_INTERVAL.format(**numbers), WIDTH)]
        xis = np.unique(found.xi).tolist()
        again = sum(self.uncertainty.redrawn(m, xi) for xi in xis)
        words = NOT_REGULAR.format(
            **numbers,
            size=f"{_range([self.uncertainty.size(m, xi) for xi in xis])} units",
            resamples=self.uncertainty.bootstrap.resamples,
            xi=_range(xis),
            redrawn=f"; {again:,} that did not determine an arm were drawn again" if again else "",
        )
        short = found.held < LEVEL
        if short.any():
            least = float(found.held[short].min())
            words += NOT_REACHED.format(short=short.sum(), count=len(short), most=XIS[-1], held=least)
        return ["", *wrap(words, WIDTH)]

    def _describe_dropped(self) -> Iterator[str]:
        lost = []
        for m, stage in enumerate(self.cohort.design.stages):
            dropped = self.cohort.dropped_out & (self.cohort.arms[:, m] >= 0)
            rows = int((dropped & self.uncertainty.sample.rows[m].any(axis=1)).sum())
            if dropped.any():
                had = counted(int(dropped.sum()), "row")
                lost.append(DROPPED[self.dropouts].format(stage=stage.name, had=had, rows=rows))
        if lost:
            yield f"Drop-outs, {self.dropouts}: {'; '.join(lost)}; {VALID_IF[self.dropouts]}."


def _describe_value(name: str, found: LearnedValue) -> str:
    """Return a value with its interval and note, or why there is none."""
    if np.isnan(found.value):
        return found.note
    words = f"{name}: {short_number(found.value)}"
    if found.low <= found.high:
        words += f", 95 % interval {short_number(found.low)} to {short_number(found.high)}"
    return f"{words}. {found.note}"


def _range(values: Sequence[float]) -> str:
    low, high = min(values), max(values)
    return f"{low:,}" if low == high else f"{low:,} to {high:,}"


def _table(fit: ArmFit, found: StageIntervals, here: slice, width: int, *, last: bool) -> list[str]:
    """Return the table of a stage and arm.

    R² stands at the last stage alone. The targets of an earlier one are themselves fitted, so that its R² is large
    where nothing explains the outcome.
    """
    r_squared = fit.regression.r_squared
    fitted = f", R² {r_squared:.3f}" if last and r_squared == r_squared else ""
    lines = [f"Stage {fit.stage}, {fit.arm}: {counted(fit.units, 'unit')}{fitted}", _line("", HEADINGS, width)]
    numbers = zip(*(values[here].tolist() for values in found.interval[:4]), strict=True)
    for term, row in zip(fit.terms, numbers, strict=True):
        lines.append(_line(term, _cells(*row, regular=found.method == SANDWICH), width))
    return lines


def _line(term: str, cells: tuple[str, ...], width: int) -> str:
    return f"  {term:<{width}}" + "".join(f"{cell:>{room}}" for cell, room in zip(cells, WIDTHS, strict=True))


def _cells(estimate: float, error: float, low: float, high: float, *, regular: bool) -> tuple[str, ...]:
    interval = f"{short_number(low)} to {short_number(high)}" if low < high else "–"
    if not regular:
        return short_number(estimate), "–", "–", "–", interval
    if not error > 0:  # none, or none to speak of: a perfect fit
        return short_number(estimate), short_number(error if error == error else None), "–", "–", "–"
    z = estimate / error
    chance = erfc(abs(z) / sqrt(2.0))
    p_value = f"{chance:.3f}" if chance >= 0.001 else "<0.001"
    return short_number(estimate), short_number(error), f"{z:.2f}", p_value, interval


def describe_rule(arms: tuple[str, ...], terms: tuple[str, ...], coefficients: np.ndarray) -> str:
    """Return which arm the largest Q̂ is, as a comparison of the terms.

    With two arms it is one comparison. With more, an arm's score is what its Q̂ has beyond that of the first arm.

    Examples
    --------
    >>> describe_rule(("ssri", "other"), ("1", "start"), np.array([[1.0, 0.3], [5.0, 0.0]]))
    'ssri if 0.3000·start >= 4.000; otherwise other'
    >>> print(describe_rule(("a", "b", "c"), ("1", "x"), np.array([[1.0, 2.0], [0.0, 3.0], [2.0, 2.0]])))
    the arm with the largest score: a: 0; b: -1.000 + 1.000·x; c: 1.000
    """
    if len(arms) == 1:
        return f"{arms[0]} always"
    if len(arms) > 2:
        scores = [
            f"{arm}: {_sum(terms, _less(own, coefficients[0]))}" for arm, own in zip(arms, coefficients, strict=True)
        ]
        return f"the arm with the largest score: {'; '.join(scores)}"
    lead = _less(coefficients[0], coefficients[1])
    threshold = -sum(c for term, c in zip(terms, lead, strict=True) if term == INTERCEPT)
    rest = np.array([0.0 if term == INTERCEPT else c for term, c in zip(terms, lead, strict=True)])
    if not rest.any():
        return f"{arms[0] if threshold <= 0 else arms[1]} always"
    return f"{arms[0]} if {_sum(terms, rest)} >= {_number(float(threshold))}; otherwise {arms[1]}"


def _less(own: Vector, other: Vector) -> Vector:
    """Return the difference of two arms' coefficients, 0 where it is rounding."""
    difference = own - other
    return np.where(np.abs(difference) <= ROUNDING * (np.abs(own) + np.abs(other)), 0.0, difference)


def _number(value: float) -> str:
    """Return a number in words; a small coefficient belongs to a column of large numbers, and is not 0."""
    return f"{value:.3e}" if 0 < abs(value) < TINY else short_number(value)


def _sum(terms: tuple[str, ...], coefficients: Vector) -> str:
    """Return a sum of terms in words, 0 if there is none."""
    words = ""
    for term, coefficient in zip(terms, coefficients.tolist(), strict=True):
        if coefficient:
            size = _number(abs(coefficient)) + ("" if term == INTERCEPT else f"·{term}")
            sign = ("-" if coefficient < 0 else "") if not words else (" - " if coefficient < 0 else " + ")
            words += f"{sign}{size}"
    return words or "0"
