"""What a value estimator is, what it is given, and what it returns.

An estimator is a record, ``ValueEstimator``, in a file of its own. ``registry.py`` lists them. Whatever is printed,
drawn or compared is found in the record. CONTRIBUTING.md has the recipe for a new one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from dtrbandit.evaluation.cohort.cohort import Cohort
from dtrbandit.evaluation.induction.induction import LearnedRegime
from dtrbandit.evaluation.values.adherence import (
    Arms,
    RegimeRiskSets,
    decisions,
    decisions_by,
    inverse_weights,
    regime_risk_sets,
)
from dtrbandit.evaluation.values.past_propensities import PropensitiesByLevel, past_propensities
from dtrbandit.evaluation.weights import effective_sample_size, largest_weight
from dtrbandit.intervals import student_quantile
from dtrbandit.kernels.arrays import Vector
from dtrbandit.policies.fixed_regime import FixedRegime
from dtrbandit.words import counted

if TYPE_CHECKING:
    from dtrbandit.evaluation.values.augmented import OutcomeModel

FEWEST = 5  # units with an outcome that followed a fixed regime, for its value
FEWEST_EFFECTIVE = 8.0  # of them, by their effective number, for an interval (docs/inference.md, Small trials)
FEW = (
    "There is no interval: those who followed the regime count as {effective:.1f} equal weights, and at least "
    "{least:.0f} are needed."
)
VERY_FEW = "There is no value: {followed} followed the regime to an outcome, and at least {least} are needed."
ALONE = "There is no interval: a single unit determines a term of a regression; name fewer terms, or use more data."


class Support(NamedTuple):
    """How many units with an outcome followed a regime, and how far their weights can be trusted."""

    units: int
    effective_sample_size: float
    largest_weight: float

    @property
    def freedom(self) -> float:
        """Degrees of freedom of a mean over them: their effective number less one."""
        return max(self.effective_sample_size - 1.0, 1.0)

    def without_weights(self) -> Support:
        """Return the number of units alone, for an estimator that does not weight them."""
        return Support(self.units, np.nan, np.nan)


class Estimate(NamedTuple):
    """The value of a regime by one estimator.

    Attributes
    ----------
    estimator
        The estimator's name.
    std_error, low, high
        With the 95 % interval; NaN where there is none that is valid.
    influence
        φ, (n,): what each unit contributes, for comparisons; None where there is no interval.
    note
        What to keep in mind about this number alone.
    freedom
        Degrees of freedom of Student's distribution behind the interval.
    fixed
        Whether the regime was fixed before these units were seen, so that it may be compared with others.
    """

    regime: str
    estimator: str
    value: float
    std_error: float
    low: float
    high: float
    support: Support
    influence: Vector | None = None
    note: str = ""
    freedom: float = np.inf
    fixed: bool = True


@dataclass(frozen=True, eq=False)
class Sample:
    """The units that value all regimes of one call of ``evaluate``, and how."""

    cohort: Cohort
    outcome_model: OutcomeModel
    seed: int = 0

    @cached_property
    def past_propensities(self) -> PropensitiesByLevel:
        """What the policy of the units' log would have given to past units."""
        return past_propensities(self.cohort)


@dataclass(frozen=True, eq=False)
class Problem:
    """A regime to be valued on a sample: what an estimator is given."""

    name: str
    regime: FixedRegime | LearnedRegime
    sample: Sample

    @property
    def cohort(self) -> Cohort:
        """The units."""
        return self.sample.cohort

    @cached_property
    def decided(self) -> Arms:
        """The regime's arm for each unit at each stage that it reached, (n, M), −1 elsewhere."""
        if isinstance(self.regime, LearnedRegime):
            return decisions_by(self.cohort, self.regime.coefficients_)
        return decisions(self.cohort, self.regime)

    @cached_property
    def risk_sets(self) -> RegimeRiskSets:
        """Where a unit could leave the regime's path, in order of time."""
        return regime_risk_sets(self.cohort, self.decided)

    @cached_property
    def weights(self) -> Vector:
        """W of each unit, (n,): 0 for those that did not follow the regime to an outcome."""
        return inverse_weights(self.cohort, self.risk_sets)

    @cached_property
    def support(self) -> Support:
        """The units that followed the regime."""
        return support_of(self.weights)


Valued = Callable[[Problem], Estimate]


@dataclass(frozen=True, kw_only=True)
class ValueEstimator:
    """A way to value regimes.

    Parameters
    ----------
    name
        As it is printed, and asked for in ``differences(name)``.
    sentence
        What it is, and under which assumption it is right. It is printed after "name: ".
    mark, colour
        How the picture shows it: a marker of matplotlib and its colour.
    comparable
        Whether fixed regimes may be compared by it. Their estimates then have an influence of each unit.
    foremost
        Whether regimes are compared by it unless another is named.
    legend
        Whose value it is, for the picture, if not that of the regime itself.
    fixed, learned, adaptive
        How it values a regime that was fixed beforehand; one that the same units suggested; and one from units whose
        arms a policy chose by what earlier ones had taught it. None where it does not.
    """

    name: str
    sentence: str
    mark: str
    colour: str
    comparable: bool = True
    foremost: bool = False
    legend: str = ""
    fixed: Valued | None = None
    learned: Valued | None = None
    adaptive: Valued | None = None

    def valued(self, problem: Problem) -> Estimate | None:
        """Return the value of a regime, or None if this estimator is not for such a problem."""
        if problem.cohort.collected_by is not None:
            value = self.adaptive
        else:
            value = self.learned if isinstance(problem.regime, LearnedRegime) else self.fixed
            if value is self.fixed and value is not None and problem.support.units < FEWEST:
                return without_value(problem.name, self.name, problem.support)
        return None if value is None else value(problem)


def of_influence(
    regime: str, estimator: str, found: tuple[float, Vector], support: Support, *, freedom: float, note: str = ""
) -> Estimate:
    """Return a value with the standard error and Student's interval that its influence (n,) tells."""
    value, influence = found
    error = float(np.sqrt((influence**2).sum()))
    if not np.isfinite(error):
        return without_interval(regime, estimator, value, support, f"{ALONE} {note}".strip())
    reach = student_quantile(freedom) * error
    return Estimate(regime, estimator, value, error, value - reach, value + reach, support, influence, note, freedom)


def unless_few(found: Estimate, followers: Support) -> Estimate:
    """Return an estimate, without its interval if too few followed the regime; the outcomes have no say in that."""
    if followers.effective_sample_size >= FEWEST_EFFECTIVE:
        return found
    why = FEW.format(effective=followers.effective_sample_size, least=FEWEST_EFFECTIVE)
    return without_interval(found.regime, found.estimator, found.value, found.support, f"{why} {found.note}".strip())


def without_interval(
    regime: str, estimator: str, value: float, support: Support, note: str, *, fixed: bool = True
) -> Estimate:
    """Return a value of which nothing tells how sure it is, and why."""
    return Estimate(regime, estimator, value, np.nan, np.nan, np.nan, support, None, note, np.nan, fixed)


def without_value(regime: str, estimator: str, support: Support) -> Estimate:
    """Return what stands in the place of a value where next to nobody followed a regime."""
    note = VERY_FEW.format(followed=counted(support.units, "unit"), least=FEWEST)
    return without_interval(regime, estimator, np.nan, support, note)


def support_of(weights: Vector) -> Support:
    """Return how many units have a weight, and how far these can be trusted."""
    followed = weights[weights > 0]
    if not len(followed):
        return Support(0, np.nan, np.nan)
    return Support(len(followed), effective_sample_size(followed), largest_weight(followed))
