"""Backward induction: the regressions of all stages, the last stage first (paper, section 3.1).

========================  =================  ==============================================================
paper                     here               meaning
========================  =================  ==============================================================
β̂_{a,m}                   ``coefficients``   least-squares coefficients of arm a at stage m
Ŷ_j                       ``targets``        max over the arms feasible for unit j of the next stage's estimate;
                                             its outcome, if the unit left early or this is the last stage
========================  =================  ==============================================================
"""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dtrbandit.errors import DesignError
from dtrbandit.evaluation.cohort import Cohort
from dtrbandit.evaluation.qlearning.regression import Regression, regress
from dtrbandit.evaluation.qlearning.staying import Staying, staying_of
from dtrbandit.kernels.arrays import Mask, Matrix, Vector

Dropouts = Literal["imputed", "complete", "weighted"]
DROPOUTS: tuple[Dropouts, ...] = ("imputed", "complete", "weighted")


class Sample(NamedTuple):
    """A cohort as Q-learning sees it.

    Attributes
    ----------
    features, feasible, rows
        For each stage ψ_m (n, d_m), 0 where it is not known; the feasible arms (n, K_m); and whose row
        counts for which arm (n, K_m).
    entered
        (n, M): whose target at the stage before is the largest Q of this one, rather than the outcome.
    outcome, weights
        (n,).
    staying
        The models of staying that the weights rest on, None if they rest on none.
    """

    features: tuple[Matrix, ...]
    feasible: tuple[Mask, ...]
    rows: tuple[Mask, ...]
    entered: Mask
    outcome: Vector
    weights: Vector
    staying: Staying | None = None

    def of(self, units: NDArray[np.int64]) -> Sample:
        """Return the sample of some units, which may repeat, with the weights that they had."""
        return Sample(
            features=tuple(stage[units] for stage in self.features),
            feasible=tuple(stage[units] for stage in self.feasible),
            rows=tuple(stage[units] for stage in self.rows),
            entered=self.entered[units],
            outcome=self.outcome[units],
            weights=self.weights[units],
            staying=None if self.staying is None else self.staying.of(units),
        )

    def q_values(self, m: int, coefficients: Matrix) -> Matrix:
        """Return Q̂_m of each unit and arm, (n, K_m), −∞ where the arm is infeasible or the stage was not entered."""
        q = self.features[m] @ coefficients.T
        return np.where(self.feasible[m] & self.entered[:, m, None], q, -np.inf)


class StageFit(NamedTuple):
    """The regressions of one stage.

    Attributes
    ----------
    regressions
        One for each arm, over the units of ``rows``.
    rows
        For each arm the units whose row counts, as numbers.
    features
        (n, d_m).
    best
        (n,): the feasible arm with the largest Q̂, −1 for units that did not enter the stage.
    """

    regressions: tuple[Regression, ...]
    rows: tuple[NDArray[np.int64], ...]
    features: Matrix
    best: NDArray[np.int64]

    @property
    def coefficients(self) -> Matrix:
        """β̂ of each arm, (K_m, d_m)."""
        return np.array([fit.coefficients for fit in self.regressions])


def sample_of(cohort: Cohort, dropouts: Dropouts) -> Sample:
    """Return the rows that count, under a way to deal with units that dropped out.

    ``imputed``: a unit keeps each row whose next context was seen, as in a session (docs/readings.md, 5).
    ``complete``: a unit without an outcome has no rows. ``weighted``: neither, and the others stand for it
    by the inverse of their probability of staying.
    """
    weights, staying = cohort.weights, None
    if dropouts == "weighted":
        if cohort.propensities is None:
            raise DesignError(
                "dropouts='weighted' needs the probabilities of staying; "
                "use cohort.with_propensities(PropensityModel())"
            )
        weights = weights / cohort.propensities.staying
        staying = staying_of(cohort.propensities, cohort.weights)
    counted = [_counted(cohort, m, dropouts) for m in range(len(cohort.design.stages))]
    return Sample(
        features=tuple(np.where(np.isfinite(features), features, 0.0) for features in cohort.features),
        feasible=cohort.feasible,
        rows=tuple(
            count[:, None] & (cohort.arms[:, m, None] == np.arange(arms))
            for m, (count, arms) in enumerate(zip(counted, cohort.design.arm_counts, strict=True))
        ),
        entered=cohort.entered,
        outcome=cohort.outcome,
        weights=weights,
        staying=staying,
    )


def _counted(cohort: Cohort, m: int, dropouts: Dropouts) -> Mask:
    """Return whose row counts at stage ``m``: who had an arm there and has a known target."""
    known = ~cohort.dropped_out
    if dropouts == "imputed" and m + 1 < cohort.arms.shape[1]:
        known = known | cohort.entered[:, m + 1]
    return (cohort.arms[:, m] >= 0) & known


def backward_induction(sample: Sample, decided: NDArray[np.int64] | None = None) -> tuple[StageFit, ...]:
    """Fit every stage and arm; each arm must have a row.

    ``decided`` (n, M) are the arms of a fixed regime, in place of those with the largest Q̂.
    """
    stages: list[StageFit] = []
    targets = sample.outcome
    for m in reversed(range(len(sample.features))):
        rows = tuple(np.flatnonzero(own) for own in sample.rows[m].T)
        features, weights = sample.features[m], sample.weights
        regressions = tuple(regress(features[own], targets[own], weights[own]) for own in rows)
        q = sample.q_values(m, np.array([fit.coefficients for fit in regressions]))
        best = np.where(sample.entered[:, m], q.argmax(axis=1) if decided is None else decided[:, m], -1)
        stages.insert(0, StageFit(regressions, rows, features, best))
        targets = np.where(best >= 0, q[np.arange(len(q)), best], sample.outcome)
    return tuple(stages)
