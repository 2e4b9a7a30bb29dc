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
from dtrbandit.evaluation.qlearning.induction import Dropouts, Sample, backward_induction, sample_of
from dtrbandit.evaluation.qlearning.influence import influences
from dtrbandit.evaluation.values.decisions import Arms
from dtrbandit.kernels.arrays import Vector


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


def teachable(cohort: Cohort, dropouts: Dropouts) -> Sample:
    """Return the sample of Q-learning, or say which arm has no unit that teaches it."""
    sample = sample_of(cohort, dropouts)
    for m, stage in enumerate(cohort.design.stages):
        for arm, label in enumerate(stage.arms):
            if not sample.weights[sample.rows[m][:, arm]].any():
                raise NotEstimable(f"nobody teaches what follows {label!r} at stage {stage.name!r}")
    return sample
