"""Propensities: how probable it was that a unit had the arms it had, and stayed (paper, section 5.3)."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from dtrbandit.design.formula import Formula
from dtrbandit.design.values import as_float, real, shown
from dtrbandit.errors import DesignError, NotEstimable
from dtrbandit.evaluation.cohort.cohort import Cohort
from dtrbandit.evaluation.cohort.origin import recorded_of
from dtrbandit.evaluation.propensities.fitted import FittedModel, FittedPropensities, as_bounds, bounded, least
from dtrbandit.evaluation.propensities.logistic import Logistic, fit_logistic
from dtrbandit.evaluation.propensities.risk_sets import (
    RiskSet,
    feature_matrix,
    formula_at,
    full_formula,
    reject_unobserved,
    require_places,
    risk_sets,
    unobserved_columns,
)
from dtrbandit.evaluation.weights import ExtremeWeights, largest_weight
from dtrbandit.kernels.arrays import Mask, Matrix, Vector
from dtrbandit.words import counted

Known = float | Mapping[str, float]
UNIFORM, RECORDED, SHARES = "uniform", "recorded", "shares"
NAMED = (UNIFORM, RECORDED, SHARES)  # probabilities that need no formula
ADAPTIVE = (
    "{policy} chose the arms of these units by what earlier ones had taught it. No model fitted afterwards knows that. "
    "Possible are: dtr.evaluate(cohort, ...), which uses the recorded propensities if they lie inside (0, 1); and the "
    "forced rounds alone, cohort.forced()"
)
ROUNDING = 1e-9  # how far known probabilities may be from a sum of 1
LARGE_SHARE, TIMES_EQUAL = 0.1, 10  # of the weight, and of the share it would have if all were equal
LARGE_DROP_OUT = 0.5  # of all weight: a drop-out only costs draws


@dataclass(frozen=True, kw_only=True)
class PropensityModel:
    """The probability of what happened to a unit, as a product over stages (paper, section 5.3).

    p = Π_m P(arm given at stage m | history, feasible arms) · P(staying until the next stage, or the outcome | history
    so far). The last factor of a unit that dropped out is 1 − P(staying). Where nobody was lost, staying is certain;
    that is usual among units that leave early. Each factor is a logistic model, multinomial for more than two arms,
    with the cohort's case weights. Where one arm is feasible, its probability is 1. Units with different sets of
    feasible arms have models of their own.

    Parameters
    ----------
    choice
        By stage: a formula, or known probabilities. These are ``"uniform"`` over the feasible arms; or
        ``{arm: probability}``, divided by the sum over the feasible arms; or one number, the probability of the arm
        given, whichever it was. With K > 2 feasible arms that number can only be 1/K. ``"recorded"`` are those of a
        log. ``"shares"`` are the shares of the arms among units with the same arms before: they are known where arms
        were given in fixed numbers, as in forced rounds. The model of a stage that is not named has an intercept, all
        columns known by then, the arms given before, and the products of each of these arms with the columns observed
        before it.
    staying
        By the stage that was to be reached, ``"outcome"`` after the last: a formula. A stage with ``enter_if`` has two
        more: ``"entry to second"``, until it was known who enters, and ``"outcome without second"``, for those who
        leave. A model that is not named has the same terms as above, of columns observed for everybody at risk.
    penalty
        λ of the L2 penalty ½λ‖β‖² on coefficients in the columns' own units, the intercept free: scikit-learn's ``C``
        is 1/λ. 0 is maximum likelihood.
    clip
        Bounds, between 0 and 1, for each fitted probability; those of all options still sum to 1. Of two options a
        probability beyond a bound is moved there. Of K > 2 every probability becomes λ + (1 − Kλ)p, λ being the lower
        bound, or more if the upper one needs it.

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
            object.__setattr__(self, "clip", as_bounds(self.clip))

    def fit(self, cohort: Cohort) -> FittedPropensities:
        """Estimate the propensities of a cohort's units."""
        if not isinstance(cohort, Cohort):
            raise DesignError(
                f"propensities are those of a Cohort, such as Cohort.from_frame gives; found {shown(cohort)}"
            )
        if cohort.dropped_out.all():
            raise NotEstimable(f"none of the {len(cohort):,} units has an outcome: nobody is left to learn from")
        if cohort.collected_by is not None:
            raise DesignError(ADAPTIVE.format(policy=cohort.collected_by))
        require_places("choice", self.choice, cohort.design)
        require_places("staying", self.staying, cohort.design)
        fitted = FittedPropensities(self, cohort, tuple(self._fitted(cohort, each) for each in risk_sets(cohort)))
        _check_weights(fitted)
        return fitted

    def _fitted(self, cohort: Cohort, risk_set: RiskSet) -> FittedModel:
        entry = (getattr(self, risk_set.kind) or {}).get(risk_set.stage)
        if risk_set.kind == "choice" and isinstance(entry, str) and entry in (RECORDED, SHARES):
            return FittedModel(risk_set, on_record(entry, cohort, risk_set), None)
        if risk_set.kind == "choice" and not _is_formula(entry):
            return FittedModel(risk_set, _known(entry, risk_set, cohort.design.stages[risk_set.m].arms), None)
        floor = 0.0 if self.clip is None else least(self.clip, len(risk_set.options), where=str(risk_set))
        formula = _default(cohort, risk_set) if entry is None else formula_at(entry, cohort, risk_set)
        _require_every_option(risk_set, cohort.weights)
        features, weights = feature_matrix(cohort, risk_set, formula), cohort.weights[risk_set.rows]
        logistic = fit_logistic(features, formula.names, risk_set.happened, weights, penalty=self.penalty)
        if self.clip is None or logistic.separating is None:
            _require_maximum(logistic, risk_set, cohort.weights)
        return FittedModel(risk_set, bounded(logistic.probabilities, floor), logistic)


def _is_formula(entry: object) -> bool:
    return entry is None or (isinstance(entry, str) and entry not in NAMED)


def _known(entry: object, risk_set: RiskSet, arms: tuple[str, ...]) -> Matrix:
    """Return known probabilities of what could happen, (r, K)."""
    if not isinstance(entry, str | Mapping) and 0 < as_float(entry) <= 1:
        return _of_the_arm_given(as_float(entry), risk_set)
    return np.tile(_shares(entry, risk_set, arms), (len(risk_set.rows), 1))


def _of_the_arm_given(probability: float, risk_set: RiskSet) -> Matrix:
    """Return a matrix that has ``probability`` for what happened, whatever it was; refuse what cannot be one."""
    options = len(risk_set.options)
    if options > 2 and abs(options * probability - 1) > ROUNDING:
        each = ", ".join(f"{option!r}: ..." for option in risk_set.options)
        raise DesignError(
            f"{risk_set}: {probability:g} cannot be the probability of the arm given, whichever of {options} it was: "
            f"these would sum to {options * probability:g}. Give choice={{{risk_set.stage!r}: 'uniform'}} (--choice "
            f"'{risk_set.stage}=uniform'), or the probability of each arm, {{{each}}}"
        )
    matrix = np.full((len(risk_set.rows), options), (1 - probability) / (options - 1))
    matrix[np.arange(len(risk_set.rows)), risk_set.happened] = probability
    return matrix


def _shares(entry: object, risk_set: RiskSet, arms: tuple[str, ...]) -> Vector:
    """Return the known probabilities of the options, the same for every unit, (K,)."""
    if isinstance(entry, str):
        return np.full(len(risk_set.options), 1 / len(risk_set.options))
    if isinstance(entry, Mapping) and set(entry) == set(arms):
        shares = np.array([as_float(entry[arm]) for arm in arms])
        if (shares > 0).all() and abs(shares.sum() - 1) < ROUNDING:
            own = shares[[arms.index(option) for option in risk_set.options]]
            return np.asarray(own / own.sum())
    raise DesignError(
        f"{risk_set}: needed is a formula, 'uniform', 'recorded', 'shares', the probability of the arm given, or "
        f"probabilities above 0 of all of {list(arms)} that sum to 1; found {shown(entry)}"
    )


def _default(cohort: Cohort, risk_set: RiskSet) -> Formula:
    missing = unobserved_columns(cohort, risk_set)
    if risk_set.kind == "choice" and missing:  # only a drop-out may lack columns, those of a stage never reached
        reject_unobserved(cohort, risk_set, *next(iter(missing.items())))
    return full_formula(cohort, risk_set)


def _require_every_option(risk_set: RiskSet, weights: Vector) -> None:
    """Refuse an option that happened to nobody: its probability would be 0."""
    counts = risk_set.counts(weights)
    for option, count in zip(risk_set.options, counts.tolist(), strict=True):
        if count:
            continue
        if risk_set.kind == "staying":
            raise NotEstimable(
                f"{risk_set}: all {counts.sum()} units at risk dropped out; nobody is left to learn from"
            )
        raise NotEstimable(
            f"{risk_set}: none of {counts.sum()} units received {option!r}; take it out of the design's plans, or give "
            f"known probabilities, choice={{{risk_set.stage!r}: 'uniform'}}"
        )


def _require_maximum(logistic: Logistic, risk_set: RiskSet, weights: Vector) -> None:
    """Refuse a model whose likelihood has no maximum."""
    if logistic.separating is None and logistic.converged:
        return
    counts = zip(risk_set.options, risk_set.counts(weights).tolist(), strict=True)
    happened = ", ".join(f"{count} {option}" for option, count in counts)
    found = "the iteration did not converge"
    if logistic.separating is not None:
        who = " and ".join(map(repr, logistic.separating)) or f"the terms {' + '.join(logistic.names)} together"
        verb = "separates" if len(logistic.separating) == 1 else "separate"
        found = f"{who} {verb} what happened, so that some fitted probabilities are 0 and 1"
    raise NotEstimable(
        f"{risk_set} ({happened}): {found}; use penalty=1.0, a formula "
        f"with fewer terms, {risk_set.kind}={{{risk_set.stage!r}: ...}}, or clip=(0.01, 0.99)"
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
        _warn_of(fitted, outcomes, counted(int(outcomes.sum()), "unit"), "means will hang on it")
    elif largest_weight(cohort.weights * fitted.weights) > LARGE_DROP_OUT:
        everybody = np.ones(len(cohort), dtype=np.bool_)
        whom = f"all {counted(len(cohort), 'unit')} and dropped out"
        _warn_of(fitted, everybody, whom, "replay will draw little else, in vain")


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


def on_record(entry: str, cohort: Cohort, risk_set: RiskSet) -> Matrix:
    """Return the probabilities that the entry of a ``PropensityModel`` names, (r, K)."""
    return recorded_probabilities(cohort, risk_set) if entry == RECORDED else shares(cohort, risk_set)


def recorded_probabilities(cohort: Cohort, risk_set: RiskSet) -> Matrix:
    """Return the probabilities that a log recorded for a choice, (r, K); NaN where it has none."""
    _, recorded = recorded_of(cohort)
    changed = cohort.overridden[risk_set.rows, risk_set.m]
    if changed.any():
        unit, many = cohort.units[risk_set.rows[np.argmax(changed)]], counted(int(changed.sum()), "unit")
        raise DesignError(
            f"{risk_set}: another arm than was decided was given to {many}, such as {unit!r}, and "
            "nobody recorded how probable that was; use cohort.as_scheduled(), where the arms decided count"
        )
    labels = cohort.design.stages[risk_set.m].arms
    columns = [labels.index(option) for option in risk_set.options]
    return np.asarray(recorded.propensities[risk_set.m][risk_set.rows][:, columns])


def shares(cohort: Cohort, risk_set: RiskSet) -> Matrix:
    """Return for each option its share among the units with the same arms before, (r, K).

    That is the probability where arms are given in fixed numbers, whatever the order, to units that come as they come.
    In whole forced blocks without leavers it is the number of plans with the arm over that of plans that agree so far.
    Case weights do not enter: they are about units, not about the schedule.
    """
    happened = risk_set.happened[:, None] == np.arange(len(risk_set.options))
    _, group = np.unique(cohort.arms[risk_set.rows, : risk_set.m], axis=0, return_inverse=True)
    group = group.reshape(-1)
    counts = np.zeros((int(group.max()) + 1, len(risk_set.options)))
    np.add.at(counts, group, happened)
    found: Matrix = (counts / counts.sum(axis=1, keepdims=True))[group]
    return found
