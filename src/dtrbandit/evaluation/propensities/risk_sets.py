"""Risk sets: the units that could be given one of several arms, or could drop out, and what happened to each."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from dtrbandit.design.formula import Column, Formula, Indicator, Term, parse_formula
from dtrbandit.design.spec import Design
from dtrbandit.design.values import shown
from dtrbandit.errors import DesignError
from dtrbandit.evaluation.cohort.cohort import Cohort
from dtrbandit.kernels.arrays import Mask, Matrix, Vector

OUTCOME = "outcome"  # where a unit stays to after the last stage
ENTRY = "entry to "  # and a stage: until it was known whether enter_if lets a unit in
WITHOUT = "outcome without "  # and a stage: those who left before it
DROPPED, STAYED = "dropped out", "stayed"


@dataclass(frozen=True, eq=False)
class RiskSet:
    """The units that had the same choice of arms at stage ``m``, or that could drop out before it.

    Attributes
    ----------
    kind
        ``"choice"`` of an arm, or ``"staying"`` in the trial.
    stage
        The stage's name; ``"outcome"`` where m = M. A stage with ``enter_if`` has two more risk sets of staying:
        ``"entry to second"``, until it was known who enters; and ``"outcome without second"``, for those who do not.
    options
        What could happen.
    rows
        The units, by their row in the cohort, (r,).
    happened
        Which of the options happened to each, (r,).
    """

    kind: Literal["choice", "staying"]
    m: int
    stage: str
    options: tuple[str, ...]
    rows: NDArray[np.int64]
    happened: NDArray[np.int64]

    def __str__(self) -> str:
        if self.kind == "choice":
            return f"choice of {' or '.join(self.options)} at stage {self.stage!r}"
        if self.stage.startswith((ENTRY, WITHOUT)):
            return f"staying until {self.stage}"
        return "staying until the outcome" if self.stage == OUTCOME else f"staying until stage {self.stage!r}"

    def counts(self, weights: Vector) -> NDArray[np.int64]:
        """Return to how many units of positive weight each option happened."""
        return np.bincount(self.happened[weights[self.rows] > 0], minlength=len(self.options))


def risk_sets(cohort: Cohort) -> Iterator[RiskSet]:
    """Yield the risk sets in order of time.

    A stage has one for each set of two or more arms that was feasible for somebody. Where nobody dropped out, staying
    was certain and there is none.
    """
    for m in range(len(cohort.design.stages)):
        yield from _staying(cohort, m)
        yield from _choices(cohort, m)
    yield from _staying(cohort, len(cohort.design.stages))


def known_columns(cohort: Cohort, risk_set: RiskSet) -> dict[str, Vector]:
    """Return the columns of the stages up to that of the risk set, for its units, (r,) each."""
    contexts = cohort.contexts[: risk_set.m + 1]
    return {name: values[risk_set.rows] for context in contexts for name, values in context.items()}


def unobserved_columns(cohort: Cohort, risk_set: RiskSet) -> dict[str, Mask]:
    """Return the columns that are missing for somebody in the risk set, and for whom, (r,) each."""
    missing = {name: ~np.isfinite(values) for name, values in known_columns(cohort, risk_set).items()}
    return {name: who for name, who in missing.items() if who.any()}


def feature_matrix(cohort: Cohort, risk_set: RiskSet, formula: Formula) -> Matrix:
    """Return the features of the units at risk, (r, d)."""
    stages = cohort.design.stages[: risk_set.m]
    arms = {stage.name: cohort.arms[risk_set.rows, k].astype(np.int64) for k, stage in enumerate(stages)}
    return formula.matrix(known_columns(cohort, risk_set), arms, len(risk_set.rows))


def main_effects(cohort: Cohort, risk_set: RiskSet) -> list[Term]:
    """Return the columns observed for everybody at risk, then the arms given before as indicators."""
    columns = set(known_columns(cohort, risk_set)) - set(unobserved_columns(cohort, risk_set))
    names = [name for own in cohort.design.columns[: risk_set.m + 1] for name in own if name in columns]
    return [(Column(name),) for name in names] + [(arm,) for arms in _earlier(cohort, risk_set) for arm in arms]


def full_formula(cohort: Cohort, risk_set: RiskSet) -> Formula:
    """Return intercept, main effects, and the products of each earlier arm with the columns observed before it."""
    main, products, before = main_effects(cohort, risk_set), [], set()
    for own, arms in zip(cohort.design.columns, _earlier(cohort, risk_set), strict=False):
        before |= {Column(name) for name in own}
        products += [(*column, arm) for arm in arms for column in main if column[0] in before]
    return Formula(((), *main, *products))


def require_places(kind: str, entries: Mapping[str, object] | None, design: Design) -> None:
    """Refuse formulas for places that a design does not have: stages, and where units could drop out."""
    allowed = [stage.name for stage in design.stages]
    if kind == "staying":
        conditional = [stage.name for stage in design.stages if stage.enter_if is not None]
        allowed += [OUTCOME, *(f"{until}{name}" for name in conditional for until in (ENTRY, WITHOUT))]
    for name, entry in (entries or {}).items():
        if name not in allowed:
            raise DesignError(f"{kind}: there is no {shown(name)}; allowed are {', '.join(map(repr, allowed))}")
        if kind == "staying" and not isinstance(entry, str):
            raise DesignError(f"staying until {name!r}: needed is a formula, found {shown(entry)}")


def formula_at(text: str, cohort: Cohort, risk_set: RiskSet) -> Formula:
    """Read a formula of columns that are known at a risk set, and observed for everybody in it."""
    earlier = {stage.name: stage.arms for stage in cohort.design.stages[: risk_set.m]}
    formula = parse_formula(text, earlier=earlier, where=str(risk_set))
    known, missing = known_columns(cohort, risk_set), unobserved_columns(cohort, risk_set)
    for column in formula.columns:
        if column not in known:
            allowed = ", ".join(map(repr, known)) or "none"
            raise DesignError(f"{risk_set}: unknown column {column!r}; known by then are {allowed}")
        if column in missing:
            reject_unobserved(cohort, risk_set, column, missing[column])
    return formula


def reject_unobserved(cohort: Cohort, risk_set: RiskSet, column: str, who: Mask) -> None:
    """Refuse a column that is missing for some of the units at risk."""
    unit = cohort.units[risk_set.rows[np.argmax(who)]]
    raise DesignError(
        f"{risk_set}: column {column!r} is not observed for {who.sum()} of {len(who)} units, unit {unit!r} among them; "
        f"leave it out with {risk_set.kind}={{{risk_set.stage!r}: a formula}}"
    )


def _earlier(cohort: Cohort, risk_set: RiskSet) -> list[list[Indicator]]:
    """Return for each stage before that of the risk set the indicators of its arms but the first."""
    stages = cohort.design.stages[: risk_set.m]
    return [[Indicator(stage.name, a, arm) for a, arm in enumerate(stage.arms)][1:] for stage in stages]


def _staying(cohort: Cohort, m: int) -> Iterator[RiskSet]:
    """Yield who stayed until it was known whether they enter stage ``m``; then until their arm, or their outcome."""
    stages, has_outcome = cohort.design.stages, ~cohort.dropped_out
    arrived: Mask = np.all(cohort.arms[:, :m] >= 0, axis=1)
    if m == len(stages):
        yield from _losses(m, OUTCOME, arrived, has_outcome)
        return
    name, given, (known, admitted) = stages[m].name, cohort.arms[:, m] >= 0, cohort.admission(m)
    yield from _losses(m, f"{ENTRY}{name}", arrived, has_outcome | given | known)
    yield from _losses(m, f"{WITHOUT}{name}", arrived & known & ~admitted, has_outcome)
    yield from _losses(m, name, arrived & admitted & (given | ~has_outcome), given)


def _losses(m: int, until: str, at_risk: Mask, stayed: Mask) -> Iterator[RiskSet]:
    """Yield a risk set where some of those at risk did not stay."""
    if (at_risk & ~stayed).any():
        rows = np.flatnonzero(at_risk)
        yield RiskSet("staying", m, until, (DROPPED, STAYED), rows, stayed[rows].astype(np.int64))


def _choices(cohort: Cohort, m: int) -> Iterator[RiskSet]:
    stage, given = cohort.design.stages[m], cohort.arms[:, m] >= 0
    sets = np.unique(cohort.feasible[m][given], axis=0)[::-1]  # those with the first arms first
    for feasible in sets[sets.sum(axis=1) > 1]:
        arms = np.flatnonzero(feasible)
        rows = np.flatnonzero(given & (cohort.feasible[m] == feasible).all(axis=1))
        happened = np.searchsorted(arms, cohort.arms[rows, m])
        yield RiskSet("choice", m, stage.name, tuple(stage.arms[a] for a in arms), rows, happened)
