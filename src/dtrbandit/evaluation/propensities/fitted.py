"""Fitted propensities: the probabilities, and what one looks at before using them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Literal

import numpy as np

from dtrbandit.design.values import as_float, shown
from dtrbandit.errors import DesignError
from dtrbandit.evaluation.cohort.cohort import Cohort
from dtrbandit.evaluation.propensities.diagnostics import balance_table, plot_overlap
from dtrbandit.evaluation.propensities.logistic import Logistic
from dtrbandit.evaluation.propensities.risk_sets import RiskSet, unobserved_columns
from dtrbandit.evaluation.weights import effective_sample_size, largest_weight
from dtrbandit.kernels.arrays import Matrix, Vector
from dtrbandit.words import counted

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

    from dtrbandit.evaluation.propensities.model import PropensityModel

Kind = Literal["choice", "staying"]
Bounds = tuple[float, float]


@dataclass(frozen=True, eq=False)
class FittedModel:
    """The model of a treatment or of censoring: one factor of the propensity.

    Attributes
    ----------
    risk_set
        The units that it is about, and what happened to them.
    probabilities
        Of each of the options, (r, K).
    logistic
        The regression that gave them; None where they were known.
    """

    risk_set: RiskSet
    probabilities: Matrix
    logistic: Logistic | None

    @property
    def happened(self) -> Vector:
        """The probability of what happened, (r,)."""
        return self.probabilities[np.arange(len(self.risk_set.rows)), self.risk_set.happened]

    @property
    def scores(self) -> Matrix:
        """The derivative of the log-likelihood of each row by the coefficients, (r, (K − 1) d); none where known."""
        if self.logistic is None:
            return np.zeros((len(self.risk_set.rows), 0))
        options = np.arange(1, len(self.risk_set.options))
        residuals = (self.risk_set.happened[:, None] == options) - self.logistic.probabilities[:, 1:]
        products: Matrix = np.einsum("rk,rd->rkd", residuals, self.logistic.features)
        return products.reshape(len(residuals), -1)

    @property
    def fork(self) -> RiskSet:
        """``risk_set``, by its name of the first release, until the next."""
        return self.risk_set


@dataclass(frozen=True, eq=False, repr=False)
class FittedPropensities:
    """The propensities p of a cohort's units, the product of one model per risk set (paper, section 5.3).

    Attributes
    ----------
    models
        Those of treatments and of censoring, in order of time; those that are 1 for everybody are left out.
    """

    model: PropensityModel
    cohort: Cohort
    models: tuple[FittedModel, ...]

    @cached_property
    def choice(self) -> Vector:
        """The probability of the arms given, (n,)."""
        return self._product("choice")

    @cached_property
    def staying(self) -> Vector:
        """The probability of having stayed, or dropped out, as each unit did, (n,)."""
        return self._product("staying")

    @cached_property
    def probability(self) -> Vector:
        """The propensity p of each unit, (n,)."""
        return self.choice * self.staying

    @property
    def scores(self) -> Matrix:
        """The scores of all models side by side, (n, q): 0 for units that are not at risk."""
        columns = []
        for model in self.models:
            own = model.scores
            columns.append(np.zeros((len(self.cohort), own.shape[1])))
            columns[-1][model.risk_set.rows] = own
        return np.hstack(columns) if columns else np.zeros((len(self.cohort), 0))

    @property
    def by_likelihood(self) -> bool:
        """Whether fitted probabilities are those of maximum likelihood, without a penalty or bounds."""
        return self.model.penalty == 0 and self.model.clip is None

    @property
    def weights(self) -> Vector:
        """1/p, (n,), without the case weights."""
        return 1.0 / self.probability

    @property
    def effective_sample_size(self) -> float:
        """(Σw)² / Σw² of the units with an outcome, w their case weights times 1/p."""
        return effective_sample_size(self._outcome_weights())

    @property
    def largest_weight(self) -> float:
        """The largest share of the weight that a unit with an outcome carries."""
        return largest_weight(self._outcome_weights())

    def model_of(self, stage: str, kind: Kind = "choice") -> FittedModel:
        """Return the model of a stage, the first if its units differ in their feasible arms."""
        found = [model for model in self.models if model.risk_set.kind == kind and model.risk_set.stage == stage]
        if not found:
            known = ", ".join(f"{each.risk_set.kind} {each.risk_set.stage!r}" for each in self.models) or "none"
            raise DesignError(f"there is no {kind} {shown(stage)} to speak of; found are {known}")
        return found[0]

    def balance(self) -> pd.DataFrame:
        """Return how far units to whom different things happened differ, before and after weighting.

        A tidy frame of standardised differences: part (``"choice"`` or ``"staying"``), stage, option, others, column,
        before, after. In each risk set the weights are those of its own model alone.
        """
        return balance_table(self.cohort, self.models)

    def plot(
        self, stage: str | FittedModel, ax: Axes | None = None, *, kind: Kind = "choice", option: str | None = None
    ) -> Axes:
        """Draw how probable ``option`` was, by default the last, for units to whom it happened and for the others.

        Where the curves overlap, units can be compared. Where units of a stage differ in their feasible arms, give
        one of ``models`` in place of its name.
        """
        model = stage if isinstance(stage, FittedModel) else self.model_of(stage, kind)
        return plot_overlap(model, self.cohort.weights[model.risk_set.rows], ax, option=option)

    def coefficients(self) -> pd.DataFrame:
        """Return one row per model, option but the first, and term: part, stage, option, against, term, estimate."""
        import pandas as pd

        rows = [
            (model.risk_set.kind, model.risk_set.stage, option, model.risk_set.options[0], term, estimate)
            for model in self.models
            if model.logistic is not None
            for option, own in zip(model.risk_set.options[1:], model.logistic.coef.tolist(), strict=True)
            for term, estimate in zip(model.logistic.names, own, strict=True)
        ]
        return pd.DataFrame(rows, columns=["part", "stage", "option", "against", "term", "estimate"])

    def summary(self) -> str:
        """Say what was modelled, on whom, and what the weights are like."""
        cohort = self.cohort
        dropped, everything = int(cohort.dropped_out.sum()), cohort.weights * self.weights
        share = everything[cohort.dropped_out].sum() / everything.sum()
        lines = [f"Propensities of {counted(len(cohort), 'unit')}, of whom {dropped:,} dropped out."]
        lines += [f"  {line}" for model in self.models for line in _describe_model(model, cohort, self.model.clip)]
        lines += [f"  {_describe_method(self.model)}"] if any(model.logistic for model in self.models) else []
        lines.append(
            f"Weights 1/p of the {len(cohort) - dropped:,} with an outcome: effective sample size "
            f"{self.effective_sample_size:,.1f}, largest weight {100 * self.largest_weight:.1f} % of the sum."
        )
        lines += [f"Drop-outs carry {100 * share:.1f} % of all weight."] if dropped else []
        return "\n".join(lines)

    def __str__(self) -> str:
        return self.summary()

    __repr__ = __str__

    # -- names of the first release, until the next ------------------------------------------------------------

    @property
    def parts(self) -> tuple[FittedModel, ...]:
        """``models``."""
        return self.models

    def part(self, stage: str, kind: Kind = "choice") -> FittedModel:
        """``model_of``."""
        return self.model_of(stage, kind)

    def _product(self, kind: str) -> Vector:
        product = np.ones(len(self.cohort))
        for model in self.models:
            if model.risk_set.kind == kind:
                product[model.risk_set.rows] *= model.happened
        return product

    def _outcome_weights(self) -> Vector:
        return (self.cohort.weights * self.weights)[~self.cohort.dropped_out]


def _describe_model(model: FittedModel, cohort: Cohort, clip: Bounds | None) -> Iterator[str]:
    risk_set, logistic = model.risk_set, model.logistic
    counts = zip(risk_set.options, risk_set.counts(np.ones(len(cohort))).tolist(), strict=True)
    happened = ", ".join(f"{count:,} {option}" for option, count in counts)
    yield f"{str(risk_set)[0].upper()}{str(risk_set)[1:]}: {happened}."
    low, high = model.happened.min(), model.happened.max()
    found = "Known probabilities" if logistic is None else "Fitted probabilities"
    yield f"  {found} of what happened: {low:.3g} to {high:.3g}."
    if logistic is None:
        return
    yield f"  Model: {' + '.join(logistic.names)}"
    if logistic.dropped:
        yield f"  Left out, determined by the others here: {', '.join(logistic.dropped)}"
    if missing := unobserved_columns(cohort, risk_set):
        yield f"  Not observed for all of them, so not used: {', '.join(missing)}"
    if logistic.separating is not None:
        yield "  The terms separate what happened: probabilities of 0 and 1 were clipped."
    if clip is not None and len(risk_set.options) > 2:
        floor = least(clip, len(risk_set.options), where=str(risk_set))
        yield f"  To keep their sum at 1, each p became {floor:g} + {1 - len(risk_set.options) * floor:g}·p."


def _describe_method(model: PropensityModel) -> str:
    method = f"L2 penalty {model.penalty:g}" if model.penalty else "Maximum likelihood"
    return f"{method}, {'no clipping' if model.clip is None else 'clipped to {:g} – {:g}'.format(*model.clip)}."


def as_bounds(clip: object) -> Bounds:
    """Return the two numbers, 0 < low < high < 1, or refuse what is none."""
    if isinstance(clip, tuple | list) and len(clip) == 2:
        low, high = (as_float(bound) for bound in clip)
        if 0 < low < high < 1:
            return low, high
    raise DesignError(f"clip must be two numbers, 0 < low < high < 1, or None; found {shown(clip)}")


def least(clip: Bounds, options: int, *, where: str) -> float:
    """Return λ, the least that each of K ``options`` may have, so that none is above ``high`` either.

    If K − 1 of them have λ, the last has 1 − (K − 1)λ. So λ is the larger of ``low`` and (1 − high) / (K − 1).
    """
    low, high = clip
    if not low < 1 / options < high:
        raise DesignError(
            f"{where}: probabilities of {options} options between clip={clip} cannot differ and sum to 1; low must be "
            f"below 1/{options}, and high above it"
        )
    return max(low, (1 - high) / (options - 1))


def bounded(probabilities: Matrix, least: float) -> Matrix:
    """Return probabilities of at least λ that sum to 1 in each row, (r, K).

    Of two options, one that has less is raised to λ, and the other falls to 1 − λ. With more options the others could
    not all keep theirs, so p → λ + (1 − Kλ)p.

    Examples
    --------
    >>> bounded(np.array([[0.02, 0.98], [0.4, 0.6]]), 0.1).tolist()
    [[0.1, 0.9], [0.4, 0.6]]
    >>> bounded(np.array([[0.0, 0.2, 0.8]]), 0.1).round(3).tolist()
    [[0.1, 0.24, 0.66]]
    """
    options = probabilities.shape[1]
    if options == 2:
        return np.clip(probabilities, least, 1 - least)
    mixed: Matrix = least + (1 - options * least) * probabilities
    return mixed
