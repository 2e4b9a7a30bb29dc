"""Balance: how far those who went different ways differ, before and after weighting."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dtrbandit.design.formula import Formula, Matrix, Vector
from dtrbandit.evaluation.cohort.cohort import Cohort, Mask
from dtrbandit.evaluation.propensities.risk_sets import feature_matrix, main_effects

if TYPE_CHECKING:
    import pandas as pd

    from dtrbandit.evaluation.propensities.fitted import Part

ROUNDING = 1e-12  # of the largest value of a column: differences of means below are none


def balance_table(cohort: Cohort, parts: tuple[Part, ...]) -> pd.DataFrame:
    """Return standardised differences before and after weighting by 1 / P(what happened) of the part alone.

    One row per part, option and column: those who went the way of ``option`` against ``others``, as mean difference
    divided by √((s₁² + s₀²) / 2), s the standard deviations before weighting. Of two options the second stands
    for both.
    """
    import pandas as pd

    return pd.DataFrame(
        [row for part in parts for row in _rows(cohort, part)],
        columns=["part", "stage", "option", "others", "column", "before", "after"],
    )


def _rows(cohort: Cohort, part: Part) -> list[tuple[object, ...]]:
    fork, formula = part.fork, Formula(tuple(main_effects(cohort, part.fork)))
    features, case = feature_matrix(cohort, fork, formula), cohort.weights[fork.rows]
    rows: list[tuple[object, ...]] = []
    for number, option in enumerate(fork.options):
        chosen, others = fork.happened == number, ", ".join(each for each in fork.options if each != option)
        if (len(fork.options) == 2 and number == 0) or not case[chosen].any() or not case[~chosen].any():
            continue
        spread = _spread(features, case, chosen)
        before = _difference(features, case, chosen, spread)
        after = _difference(features, case / part.happened, chosen, spread)
        names = zip(formula.names, before.tolist(), after.tolist(), strict=True)
        rows += [(fork.kind, fork.stage, option, others, *each) for each in names]
    return rows


def _spread(features: Matrix, weights: Vector, chosen: Mask) -> Vector:
    variances = [_mean((features - _mean(features, weights, who)) ** 2, weights, who) for who in (chosen, ~chosen)]
    root: Vector = np.sqrt((variances[0] + variances[1]) / 2)
    return root


def _difference(features: Matrix, weights: Vector, chosen: Mask, spread: Vector) -> Vector:
    """Return differences of means in units of ``spread``; 0 where there is no difference but that of rounding."""
    difference = _mean(features, weights, chosen) - _mean(features, weights, ~chosen)
    real = np.abs(difference) > ROUNDING * np.abs(features).max(axis=0)
    with np.errstate(divide="ignore"):
        return np.divide(difference, spread, out=np.zeros_like(difference), where=real)


def _mean(values: Matrix, weights: Vector, who: Mask) -> Vector:
    mean: Vector = np.average(values[who], axis=0, weights=weights[who])
    return mean
