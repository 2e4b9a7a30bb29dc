"""Forks: where a unit could leave the path of a regime, by another arm or by dropping out.

=============  =============================================================================================
notation       meaning
=============  =============================================================================================
f              a fork: a risk set of the cohort's propensities, in order of time
D_f            1 if a unit did there what the regime wants: the regime's arm, or staying
π_f            the probability of what the regime wants, given what was known before
=============  =============================================================================================
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dtrbandit.errors import DesignError
from dtrbandit.evaluation.cohort.cohort import Cohort
from dtrbandit.evaluation.propensities.fitted import FittedModel, FittedPropensities
from dtrbandit.evaluation.propensities.model import ADAPTIVE, PropensityModel
from dtrbandit.evaluation.propensities.risk_sets import RiskSet
from dtrbandit.evaluation.values.decisions import Arms
from dtrbandit.kernels.arrays import Mask, Vector


class Fork(NamedTuple):
    """A risk set, and what a regime wants of its units.

    Attributes
    ----------
    wanted
        Which of the options the regime wants, (r,).
    taken
        D, (r,): whether that happened.
    probability
        Of what happened, (r,): π where the wanted option was taken; it is not read elsewhere.
    """

    risk_set: RiskSet
    wanted: NDArray[np.int64]
    taken: Mask
    probability: Vector


def forks(cohort: Cohort, decided: Arms, models: Iterable[FittedModel] | None = None) -> tuple[Fork, ...]:
    """Return the forks of a cohort, in order of time, for the arms (n, M) that a regime gives.

    The probabilities are those of ``models``, by default of the cohort's propensities.
    """
    own = known_propensities(cohort).models if models is None else models
    return tuple(_fork(cohort, decided, model) for model in own)


def inverse_weights(cohort: Cohort, passed: tuple[Fork, ...]) -> Vector:
    """Return W = w Π_f D_f / π_f, (n,): 0 for units that left the regime's path or dropped out."""
    weights = np.where(cohort.dropped_out, 0.0, cohort.weights)
    for fork in passed:
        weights[fork.risk_set.rows] *= np.where(fork.taken, 1.0 / fork.probability, 0.0)
    return weights


def known_propensities(cohort: Cohort) -> FittedPropensities:
    """Return the propensities of a cohort, or say how to get them.

    Where a log says how probable each arm was, these are known.
    """
    if cohort.propensities is None and cohort.origin is not None and cohort.origin.known_choice is not None:
        stages = [stage.name for stage in cohort.design.stages]
        return PropensityModel(choice=dict.fromkeys(stages, cohort.origin.known_choice)).fit(cohort)
    if cohort.propensities is None and cohort.collected_by is not None:
        raise DesignError(ADAPTIVE.format(policy=cohort.collected_by))
    if cohort.propensities is None:
        raise DesignError(
            "the cohort has no propensities, which this mean is weighted by; "
            "use cohort.with_propensities(PropensityModel())"
        )
    return cohort.propensities


def _fork(cohort: Cohort, decided: Arms, model: FittedModel) -> Fork:
    risk_set = model.risk_set
    if risk_set.kind == "staying":
        wanted = np.ones(len(risk_set.rows), dtype=np.int64)
    else:
        labels = cohort.design.stages[risk_set.m].arms
        arms = np.array([labels.index(option) for option in risk_set.options])
        wanted = np.searchsorted(arms, decided[risk_set.rows, risk_set.m])
    return Fork(risk_set, wanted, risk_set.happened == wanted, model.happened)
