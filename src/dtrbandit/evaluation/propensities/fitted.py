"""Fitted propensities: the probabilities, and what one looks at before using them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Literal

import numpy as np

from dtrbandit.design.formula import Matrix, Vector
from dtrbandit.design.values import shown
from dtrbandit.errors import DesignError
from dtrbandit.evaluation.cohort.cohort import Cohort
from dtrbandit.evaluation.propensities.balance import balance_table
from dtrbandit.evaluation.propensities.logistic import Logistic
from dtrbandit.evaluation.propensities.overlap import plot_overlap
from dtrbandit.evaluation.propensities.risk_sets import Fork, unobserved_columns
from dtrbandit.evaluation.weights import effective_sample_size, largest_weight

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

    from dtrbandit.evaluation.propensities.model import PropensityModel

Kind = Literal["choice", "staying"]


@dataclass(frozen=True, eq=False)
class Part:
    """One factor of the product: a fork and the probability of each of its options, (r, K).

    ``logistic`` is the model behind them, None where they are known.
    """

    fork: Fork
    probabilities: Matrix
    logistic: Logistic | None

    @property
    def happened(self) -> Vector:
        """The probability of what happened, (r,)."""
        return self.probabilities[np.arange(len(self.fork.rows)), self.fork.happened]


@dataclass(frozen=True, eq=False, repr=False)
class FittedPropensities:
    """The propensities p of a cohort's units, a product of parts (paper, section 5.3).

    Attributes
    ----------
    parts
        The factors in order of time; those that are 1 for everybody are left out.
    """

    model: PropensityModel
    cohort: Cohort
    parts: tuple[Part, ...]

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

    def part(self, stage: str, kind: Kind = "choice") -> Part:
        """Return the factor of a stage, the first if its units differ in their feasible arms."""
        found = [part for part in self.parts if part.fork.kind == kind and part.fork.stage == stage]
        if not found:
            known = ", ".join(f"{part.fork.kind} {part.fork.stage!r}" for part in self.parts) or "none"
            raise DesignError(f"there is no {kind} {shown(stage)} to speak of; found are {known}")
        return found[0]

    def balance(self) -> pd.DataFrame:
        """Return how far those who went different ways differ, before and after weighting.

        A tidy frame of standardised differences (part, stage, option, others, column, before, after). Each part is
        weighted by its own probabilities alone.
        """
        return balance_table(self.cohort, self.parts)

    def plot(
        self, stage: str | Part, ax: Axes | None = None, *, kind: Kind = "choice", option: str | None = None
    ) -> Axes:
        """Draw how probable ``option`` was, by default the last, for each way that units went at a stage.

        Where the curves overlap, units can be compared. Where units of a stage differ in their feasible arms, give
        one of ``parts`` in place of its name.
        """
        part = stage if isinstance(stage, Part) else self.part(stage, kind)
        return plot_overlap(part, self.cohort.weights[part.fork.rows], ax, option=option)

    def coefficients(self) -> pd.DataFrame:
        """Return one row per model, option but the first, and term: part, stage, option, against, term, estimate."""
        import pandas as pd

        rows = [
            (part.fork.kind, part.fork.stage, option, part.fork.options[0], term, estimate)
            for part in self.parts
            if part.logistic is not None
            for option, own in zip(part.fork.options[1:], part.logistic.coef.tolist(), strict=True)
            for term, estimate in zip(part.logistic.names, own, strict=True)
        ]
        return pd.DataFrame(rows, columns=["part", "stage", "option", "against", "term", "estimate"])

    def summary(self) -> str:
        """Say what was modelled, on whom, and what the weights are like."""
        cohort = self.cohort
        dropped, everything = int(cohort.dropped_out.sum()), cohort.weights * self.weights
        share = everything[cohort.dropped_out].sum() / everything.sum()
        lines = [f"Propensities of {len(cohort):,} units, of whom {dropped:,} dropped out."]
        lines += [f"  {line}" for part in self.parts for line in _part_in_words(part, cohort)]
        lines += [f"  {_method_in_words(self.model)}"] if any(part.logistic for part in self.parts) else []
        lines.append(
            f"Weights 1/p of the {len(cohort) - dropped:,} with an outcome: effective sample size "
            f"{self.effective_sample_size:,.1f}, largest weight {100 * self.largest_weight:.1f} % of the sum."
        )
        lines += [f"Drop-outs carry {100 * share:.1f} % of all weight."] if dropped else []
        return "\n".join(lines)

    def __str__(self) -> str:
        return self.summary()

    __repr__ = __str__

    def _product(self, kind: str) -> Vector:
        product = np.ones(len(self.cohort))
        for part in self.parts:
            if part.fork.kind == kind:
                product[part.fork.rows] *= part.happened
        return product

    def _outcome_weights(self) -> Vector:
        return (self.cohort.weights * self.weights)[~self.cohort.dropped_out]


def _part_in_words(part: Part, cohort: Cohort) -> Iterator[str]:
    fork, logistic = part.fork, part.logistic
    counts = zip(fork.options, fork.counts(np.ones(len(cohort))).tolist(), strict=True)
    yield f"{str(fork)[0].upper()}{str(fork)[1:]}: {', '.join(f'{count:,} {option}' for option, count in counts)}."
    low, high = part.happened.min(), part.happened.max()
    found = "Known probabilities" if logistic is None else "Fitted probabilities"
    yield f"  {found} of what happened: {low:.3g} to {high:.3g}."
    if logistic is None:
        return
    yield f"  Model: {' + '.join(logistic.names)}"
    if logistic.dropped:
        yield f"  Left out, determined by the others here: {', '.join(logistic.dropped)}"
    if missing := unobserved_columns(cohort, fork):
        yield f"  Not observed for all of them, so not used: {', '.join(missing)}"
    if logistic.separating is not None:
        yield "  The terms separate what happened: probabilities of 0 and 1 were clipped."


def _method_in_words(model: PropensityModel) -> str:
    method = f"L2 penalty {model.penalty:g}" if model.penalty else "Maximum likelihood"
    return f"{method}, {'no clipping' if model.clip is None else 'clipped to {:g} – {:g}'.format(*model.clip)}."
