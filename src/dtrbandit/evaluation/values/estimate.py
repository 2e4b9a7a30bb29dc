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

from dtrbandit.errors import NotEstimable
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
from dtrbandit.intervals import REACH
from dtrbandit.kernels.arrays import Vector
from dtrbandit.policies.fixed_regime import FixedRegime
from dtrbandit.words import counted

if TYPE_CHECKING:
    from dtrbandit.evaluation.values.augmented import OutcomeModel

FEWEST = 5  # units with an outcome that followed a fixed regime


class Support(NamedTuple):
    """How many units with an outcome followed a regime, and how far their weights can be trusted."""

    units: int
    effective_sample_size: float
    largest_weight: float

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
        φ, (n,): what each unit contributes, for comparisons; None where regimes cannot be compared by it.
    note
        What to keep in mind about this number alone.
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
        """The units that followed the regime; too few for a fixed one are refused."""
        support = support_of(self.weights)
        return support if isinstance(self.regime, LearnedRegime) else self.enough(support)

    def enough(self, support: Support) -> Support:
        """Return ``support``, or refuse a regime that too few units followed."""
        if support.units < FEWEST:
            raise NotEstimable(
                f"regime {self.name!r}: {support.units} of {counted(len(self.cohort), 'unit')} followed it to an "
                f"outcome, and at least {FEWEST} are needed; leave it out, or use more data"
            )
        return support


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
        What its interval is about, for the picture, if not the value itself.
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
        return None if value is None else value(problem)


def of_influence(
    regime: str, estimator: str, found: tuple[float, Vector], support: Support, note: str = ""
) -> Estimate:
    """Return a value with the standard error and interval that its influence (n,) tells."""
    value, influence = found
    error = float(np.sqrt((influence**2).sum()))
    own = influence if np.isfinite(error) else None
    return Estimate(regime, estimator, value, error, value - REACH * error, value + REACH * error, support, own, note)


def without_interval(regime: str, estimator: str, value: float, support: Support, note: str) -> Estimate:
    """Return a value of which nothing tells how sure it is, and why."""
    return Estimate(regime, estimator, value, np.nan, np.nan, np.nan, support, None, note)


def support_of(weights: Vector) -> Support:
    """Return how many units have a weight, and how far these can be trusted."""
    followed = weights[weights > 0]
    if not len(followed):
        return Support(0, np.nan, np.nan)
    return Support(len(followed), effective_sample_size(followed), largest_weight(followed))
