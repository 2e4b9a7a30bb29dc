"""Propensities: how probable it was that a unit had the arms it had, and stayed (paper, section 5.3)."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from dtrbandit.design.formula import Formula, Vector, parse_formula
from dtrbandit.design.parameters import real
from dtrbandit.design.values import as_float, shown
from dtrbandit.errors import DesignError, NotEstimable
from dtrbandit.evaluation.cohort.cohort import Cohort, Mask
from dtrbandit.evaluation.propensities.fitted import FittedPropensities, Part
from dtrbandit.evaluation.propensities.logistic import Logistic, fit_logistic
from dtrbandit.evaluation.propensities.risk_sets import (
    ENTRY,
    OUTCOME,
    WITHOUT,
    Fork,
    feature_matrix,
    forks,
    full_formula,
    known_columns,
    unobserved_columns,
)
from dtrbandit.evaluation.weights import ExtremeWeights, largest_weight

Known = float | Mapping[str, float]
UNIFORM = "uniform"
LARGE_SHARE, TIMES_EQUAL = 0.1, 10  # of the weight, and of the share it would have if all were equal
LARGE_DROP_OUT = 0.5  # of all weight: a drop-out only costs draws


@dataclass(frozen=True, kw_only=True)
class PropensityModel:
    """The probability of what happened to a unit, as a product over stages (paper, section 5.3).

    p = Π_m P(arm given at stage m | history, feasible arms) · P(staying until the next stage, or the outcome | history
    so far), the last factor 1 − P(staying) for a drop-out. Where nobody was lost, as is usual of those who leave early,
    staying is certain. Each factor is a logistic model, multinomial for more than two arms, with the cohort's case
    weights. Where one arm is feasible its probability is 1; units with different sets of feasible arms have models of
    their own.

    Parameters
    ----------
    choice
        By stage: a formula; or known probabilities: ``"uniform"`` over the feasible arms, ``{arm: probability}``
        (shared out among the feasible ones), or one number, that of the arm given whichever it was. A stage not
        named has an intercept, all columns known by then, the arms given before and their products with the columns
        observed before them.
    staying
        By stage that was to be reached, ``"outcome"`` after the last: a formula. Before a stage with ``enter_if``
        also ``"entry to second"``, until it was known who enters, and ``"outcome without second"``, for those who
        leave. Otherwise the same terms, of the columns that are observed for everybody at risk.
    penalty
        λ of the L2 penalty ½λ‖β‖² on coefficients in the columns' own units, the intercept free: scikit-learn's ``C``
        is 1/λ. 0 is maximum likelihood.
    clip
        Bounds, between 0 and 1, into which each fitted probability is moved.

    Examples
    --------
    >>> from dtrbandit import Design, Stage
    >>> design = Design([Stage("only", arms=("ssri", "other"), features="1 + x")])
    >>> x, arms, ones = np.array([0.0, 0, 1, 1, 1]), np.array([[0], [1], [0], [1], [1]]), np.ones(5)
    >>> cohort = Cohort(design, ("u1", "u2", "u3", "u4", "u5"), ({"x": x},), arms, ones, ones)
    >>> PropensityModel().fit(cohort).probability.round(3).tolist()
    [0.5, 0.5, 0.333, 0.667, 0.667]
    >>> PropensityModel(choice={"only": "uniform"}).fit(cohort).effective_sample_size
    5.0
    """

    choice: Mapping[str, str | Known] | None = None
    staying: Mapping[str, str] | None = None
    penalty: float = 0.0
    clip: tuple[float, float] | None = None

    def __post_init__(self) -> None:
        for name in ("choice", "staying"):
            if not isinstance(getattr(self, name) or {}, Mapping):
                raise DesignError(f"{name} must map stages to formulas, found {shown(getattr(self, name))}")
        object.__setattr__(self, "penalty", real(self.penalty, "penalty"))
        if self.clip is not None:
            object.__setattr__(self, "clip", _bounds(self.clip))

    def fit(self, cohort: Cohort) -> FittedPropensities:
        """Estimate the propensities of a cohort's units."""
        if not isinstance(cohort, Cohort):
            raise DesignError(
                f"propensities are those of a Cohort, such as Cohort.from_frame gives; found {shown(cohort)}"
            )
        if cohort.dropped_out.all():
            raise NotEstimable(f"none of the {len(cohort):,} units has an outcome: nobody is left to learn from")
        stages = [stage.name for stage in cohort.design.stages]
        _require_stages("choice", self.choice, stages)
        conditional = [stage.name for stage in cohort.design.stages if stage.enter_if is not None]
        leaving = [f"{until}{name}" for name in conditional for until in (ENTRY, WITHOUT)]
        _require_stages("staying", self.staying, [*stages, OUTCOME, *leaving])
        fitted = FittedPropensities(self, cohort, tuple(self._part(cohort, fork) for fork in forks(cohort)))
        _check_weights(fitted)
        return fitted

    def _part(self, cohort: Cohort, fork: Fork) -> Part:
        entry = (getattr(self, fork.kind) or {}).get(fork.stage)
        if fork.kind == "choice" and not _is_formula(entry):
            shares = _known(entry, fork, cohort.design.stages[fork.m].arms)
            return Part(fork, np.tile(shares, (len(fork.rows), 1)), None)
        formula = _default(cohort, fork) if entry is None else _formula(entry, cohort, fork)
        _require_everything(fork, cohort.weights)
        features, weights = feature_matrix(cohort, fork, formula), cohort.weights[fork.rows]
        logistic = fit_logistic(features, formula.names, fork.happened, weights, penalty=self.penalty)
        if self.clip is None or logistic.separating is None:
            _require_maximum(logistic, fork, cohort.weights)
        bounds = (0.0, 1.0) if self.clip is None else self.clip
        return Part(fork, np.clip(logistic.probabilities, *bounds), logistic)


def _bounds(clip: object) -> tuple[float, float]:
    if isinstance(clip, tuple | list) and len(clip) == 2:
        low, high = (as_float(bound) for bound in clip)
        if 0 < low < high < 1:
            return low, high
    raise DesignError(f"clip must be two numbers, 0 < low < high < 1, or None; found {shown(clip)}")


def _require_stages(what: str, entries: Mapping[str, object] | None, allowed: list[str]) -> None:
    for name, entry in (entries or {}).items():
        if name not in allowed:
            raise DesignError(f"{what}: there is no {shown(name)}; allowed are {', '.join(map(repr, allowed))}")
        if what == "staying" and not isinstance(entry, str):
            raise DesignError(f"staying until {name!r}: needed is a formula, found {shown(entry)}")


def _is_formula(entry: object) -> bool:
    return entry is None or (isinstance(entry, str) and entry != UNIFORM)


def _known(entry: object, fork: Fork, arms: tuple[str, ...]) -> Vector:
    """Return known probabilities of the fork's options."""
    if isinstance(entry, str):
        return np.full(len(fork.options), 1 / len(fork.options))
    if isinstance(entry, Mapping) and set(entry) == set(arms):
        shares = np.array([as_float(entry[arm]) for arm in arms])
        if (shares > 0).all() and abs(shares.sum() - 1) < 1e-9:
            own = shares[[arms.index(option) for option in fork.options]]
            return np.asarray(own / own.sum())
    if 0 < as_float(entry) <= 1:
        return np.full(len(fork.options), as_float(entry))
    raise DesignError(
        f"{fork}: needed is a formula, 'uniform', the probability of the arm given, or probabilities above 0 of all "
        f"of {list(arms)} that sum to 1; found {shown(entry)}"
    )


def _default(cohort: Cohort, fork: Fork) -> Formula:
    missing = unobserved_columns(cohort, fork)
    if fork.kind == "choice" and missing:  # a drop-out cannot know the columns of a stage never reached, others must
        _reject_unobserved(cohort, fork, *next(iter(missing.items())))
    return full_formula(cohort, fork)


def _formula(text: str, cohort: Cohort, fork: Fork) -> Formula:
    earlier = {stage.name: stage.arms for stage in cohort.design.stages[: fork.m]}
    formula = parse_formula(text, earlier=earlier, where=str(fork))
    known, missing = known_columns(cohort, fork), unobserved_columns(cohort, fork)
    for column in formula.columns:
        if column not in known:
            allowed = ", ".join(map(repr, known)) or "none"
            raise DesignError(f"{fork}: unknown column {column!r}; known by then are {allowed}")
        if column in missing:
            _reject_unobserved(cohort, fork, column, missing[column])
    return formula


def _reject_unobserved(cohort: Cohort, fork: Fork, column: str, who: Mask) -> None:
    unit = cohort.units[fork.rows[np.argmax(who)]]
    raise DesignError(
        f"{fork}: column {column!r} is not observed for {who.sum()} of {len(who)} units, unit {unit!r} among them; "
        f"leave it out with {fork.kind}={{{fork.stage!r}: a formula}}"
    )


def _require_everything(fork: Fork, weights: Vector) -> None:
    """Refuse an option that nobody took: its probability would be 0."""
    counts = fork.counts(weights)
    for option, count in zip(fork.options, counts.tolist(), strict=True):
        if count:
            continue
        if fork.kind == "staying":
            raise NotEstimable(f"{fork}: all {counts.sum()} units at risk dropped out; nobody is left to learn from")
        raise NotEstimable(
            f"{fork}: none of {counts.sum()} units received {option!r}; take it out of the design's plans, or give "
            f"known probabilities, choice={{{fork.stage!r}: 'uniform'}}"
        )


def _require_maximum(logistic: Logistic, fork: Fork, weights: Vector) -> None:
    """Refuse a model whose likelihood has no maximum."""
    if logistic.separating is None and logistic.converged:
        return
    counts = zip(fork.options, fork.counts(weights).tolist(), strict=True)
    found = "the iteration did not converge"
    if logistic.separating is not None:
        who = " and ".join(map(repr, logistic.separating)) or f"the terms {' + '.join(logistic.names)} together"
        verb = "separates" if len(logistic.separating) == 1 else "separate"
        found = f"{who} {verb} what happened, so that some fitted probabilities are 0 and 1"
    raise NotEstimable(
        f"{fork} ({', '.join(f'{count} {option}' for option, count in counts)}): {found}; use penalty=1.0, a formula "
        f"with fewer terms, {fork.kind}={{{fork.stage!r}: ...}}, or clip=(0.01, 0.99)"
    )


def _check_weights(fitted: FittedPropensities) -> None:
    """Refuse infinite weights, and warn when one unit carries much of them."""
    cohort = fitted.cohort
    with np.errstate(divide="ignore", over="ignore"):
        infinite = ~np.isfinite(fitted.weights)
    if infinite.any():
        unit = cohort.units[int(np.argmax(infinite))]
        raise NotEstimable(
            f"unit {unit!r} (of {infinite.sum()} such) has propensity {fitted.probability[infinite][0]:.3g}, hence an "
            "infinite weight; use penalty=1.0, fewer terms, or clip=(0.01, 0.99)"
        )
    outcomes = ~cohort.dropped_out
    if fitted.largest_weight > max(LARGE_SHARE, TIMES_EQUAL / outcomes.sum()):
        _warn_of(fitted, outcomes, f"{outcomes.sum():,} units", "means will hang on it")
    elif largest_weight(cohort.weights * fitted.weights) > LARGE_DROP_OUT:
        everybody = np.ones(len(cohort), dtype=np.bool_)
        _warn_of(
            fitted, everybody, f"all {len(cohort):,} units and dropped out", "replay will draw little else, in vain"
        )


def _warn_of(fitted: FittedPropensities, among: Mask, whom: str, consequence: str) -> None:
    """Warn of the heaviest unit ``among`` some."""
    weights = np.where(among, fitted.cohort.weights * fitted.weights, 0.0)
    heaviest = int(np.argmax(weights))
    warnings.warn(
        f"unit {fitted.cohort.units[heaviest]!r} carries {100 * largest_weight(weights):.0f} % of the weight of {whom}"
        f", its propensity being {fitted.probability[heaviest]:.2g}; {consequence}. "
        "Look at plot() and balance(); use penalty=1.0, fewer terms, or clip=(0.05, 0.95)",
        ExtremeWeights,
        stacklevel=4,
    )
