"""The value of a regime by regression alone: Q-learning's own estimate.

For a regime that was fixed beforehand the regressions follow its arms, in place of the arms with the largest Q̂. Then
nothing has a kink, and the stacked estimating equations of ``qlearning/influence.py`` hold at every stage. V̂ is the
mean of Q̂_1 of the regime's first arm; unit i moves it by its own share, and through the coefficients β_1c:

    φ_i = w_i (Q̂_1i − V̂) / Σw + Σ_c (Σ_j w_j 1{d_j = c} ψ_1j / Σw)ᵀ φ_1ic
"""

from __future__ import annotations

import numpy as np

from dtrbandit.errors import NotEstimable
from dtrbandit.evaluation.cohort.cohort import Cohort
from dtrbandit.evaluation.induction.induction import Dropouts, LearnedRegime, Sample, backward_induction, sample_of
from dtrbandit.evaluation.induction.influence import influences
from dtrbandit.evaluation.induction.regression import LEAST_SQUARES, StageRegression
from dtrbandit.evaluation.values.adherence import Arms
from dtrbandit.evaluation.values.estimate import (
    Estimate,
    Problem,
    ValueEstimator,
    of_influence,
    unless_few,
    without_interval,
)
from dtrbandit.kernels.arrays import Vector
from dtrbandit.plots import PALETTE

FLATTERS = "It flatters, since the units that value the regime have chosen it; so there is no interval."


def regression_value(cohort: Cohort, decided: Arms) -> tuple[float, Vector]:
    """Return the mean of Q̂ of a regime's first arms, and φ, (n,); φ is NaN where some arm's rows tell too little."""
    sample = teachable(cohort, "imputed")
    stages = backward_induction(sample, decided)
    first, best, share = stages[0], stages[0].best, cohort.weights / cohort.weights.sum()
    q = np.einsum("nd,nd->n", first.features, first.coefficients[best])
    value = float(share @ q)
    influence = share * (q - value)
    for arm, moved in enumerate(np.moveaxis(influences(stages)[0], 1, 0)):
        given = best == arm
        if given.any():
            influence = influence + moved @ (share[given] @ first.features[given])
    return value, influence


def teachable(cohort: Cohort, dropouts: Dropouts, regression: StageRegression = LEAST_SQUARES) -> Sample:
    """Return the sample of Q-learning, or say which arm has no unit that teaches it."""
    sample = sample_of(cohort, dropouts, regression)
    for m, stage in enumerate(cohort.design.stages):
        for arm, label in enumerate(stage.arms):
            if not sample.weights[sample.rows[m][:, arm]].any():
                raise NotEstimable(f"nobody teaches what follows {label!r} at stage {stage.name!r}")
    return sample


def _of_fixed(problem: Problem) -> Estimate:
    support = problem.support.without_weights()
    try:
        found = regression_value(problem.cohort, problem.decided)
    except NotEstimable as error:
        return without_interval(problem.name, REGRESSION.name, np.nan, support, f"There is none: {error}.")
    followers = problem.support
    return unless_few(of_influence(problem.name, REGRESSION.name, found, support, freedom=followers.freedom), followers)


def _of_learned(problem: Problem) -> Estimate:
    assert isinstance(problem.regime, LearnedRegime)
    support = problem.support.without_weights()
    return without_interval(problem.name, REGRESSION.name, problem.regime.value_, support, FLATTERS, fixed=False)


REGRESSION = ValueEstimator(
    name="q-learning",
    sentence="regression alone; right only if the Q-functions are as the features say.",
    mark="D",
    colour=PALETTE[2],
    fixed=_of_fixed,
    learned=_of_learned,
)
