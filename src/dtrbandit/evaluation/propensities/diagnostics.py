"""Diagnostics of propensities: balance before and after weighting, and overlap of the groups."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dtrbandit.design.formula import Formula
from dtrbandit.design.values import shown
from dtrbandit.errors import DesignError
from dtrbandit.evaluation.cohort.cohort import Cohort
from dtrbandit.evaluation.panels import BINS, names_as_they_are, panel
from dtrbandit.evaluation.propensities.risk_sets import STAYED, RiskSet, feature_matrix, main_effects
from dtrbandit.kernels.arrays import Mask, Matrix, Vector
from dtrbandit.plots import colour_of

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

    from dtrbandit.evaluation.propensities.fitted import FittedModel

ROUNDING = 1e-12  # of the largest value of a column: differences of means below are none


def balance_table(cohort: Cohort, models: tuple[FittedModel, ...]) -> pd.DataFrame:
    """Return standardised differences before and after weighting by 1 / P(what happened), model by model.

    One row per model, option and column: units to whom ``option`` happened against the ``others``. A difference of
    means is divided by √((s₁² + s₀²) / 2), where s are the standard deviations before weighting. Of two options the
    second stands for both.
    """
    import pandas as pd

    return pd.DataFrame(
        [row for model in models for row in _rows(cohort, model)],
        columns=["part", "stage", "option", "others", "column", "before", "after"],
    )


def _rows(cohort: Cohort, model: FittedModel) -> list[tuple[object, ...]]:
    risk_set, formula = model.risk_set, Formula(tuple(main_effects(cohort, model.risk_set)))
    features, case = feature_matrix(cohort, risk_set, formula), cohort.weights[risk_set.rows]
    rows: list[tuple[object, ...]] = []
    for number, option in enumerate(risk_set.options):
        chosen, others = risk_set.happened == number, ", ".join(each for each in risk_set.options if each != option)
        if (len(risk_set.options) == 2 and number == 0) or not case[chosen].any() or not case[~chosen].any():
            continue
        spread = _spread(features, case, chosen)
        before = _difference(features, case, chosen, spread)
        after = _difference(features, case / model.happened, chosen, spread)
        names = zip(formula.names, before.tolist(), after.tolist(), strict=True)
        rows += [(risk_set.kind, risk_set.stage, option, others, *each) for each in names]
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


FILLED = 0.9  # of a bin, by its bars


def plot_overlap(model: FittedModel, weights: Vector, ax: Axes | None = None, *, option: str | None = None) -> Axes:
    """Draw the distribution of the probability of ``option``, by default the last, by what happened.

    Bars of a bin stand side by side, so that equal ones are all seen. Where only one is above zero, there is nobody to
    compare with. ``weights`` are those of the units at risk.
    """
    risk_set = model.risk_set
    if option not in (None, *risk_set.options):
        raise DesignError(f"{risk_set}: there is no option {shown(option)} to draw")
    number = len(risk_set.options) - 1 if option is None else risk_set.options.index(option)
    ax = panel(ax, f"probability of {_describe_option(risk_set, risk_set.options[number])}", "share of units")
    happened = [k for k in range(len(risk_set.options)) if (risk_set.happened == k).any()]
    for position, k in enumerate(happened):
        own = risk_set.happened == k
        counts, edges = np.histogram(model.probabilities[own, number], BINS, (0.0, 1.0), weights=weights[own])
        width = np.diff(edges) * FILLED / len(happened)
        left = edges[:-1] + np.diff(edges) * (1 - FILLED) / 2 + position * width
        label = f"{risk_set.options[k]} ({own.sum():,})"
        ax.bar(left, counts / counts.sum(), width, align="edge", color=colour_of(k), label=label)
    ax.set_xlim(0, 1)
    ax.legend(frameon=False, fontsize=9)
    return names_as_they_are(ax)


def _describe_option(risk_set: RiskSet, option: str) -> str:
    """Name an option: an arm by its choice, "stayed" and "dropped out" by what could be stayed for."""
    if risk_set.kind == "choice":
        return f"{option} ({risk_set})"
    return str(risk_set) if option == STAYED else f"not {risk_set}"
