"""The value of a regime from units whose arms a policy chose by what earlier units had taught it.

=============  =============================================================================================
notation       meaning
=============  =============================================================================================
e_f            the recorded probability of what the regime wants at risk set f, given the log by then
μ_f            the mean outcome from risk set f on, if the regime is followed; from units that ended before t enrolled
Γ_t            the augmented score of unit t (``augmented.py``), with e and μ as above
=============  =============================================================================================

Given everything before unit t enrolled, Γ_t has the regime's value as its mean, whatever μ is and whatever other units
do meanwhile. So h_t (Γ_t − value) are martingale differences, for weights h_t that were settled before t came, and

    V̂ = Σ_t h_t Γ_t / Σh,    se² = Σ_t h_t² (Γ_t − V̂)² / (Σh)²

For one stage that is the adaptively weighted estimator of Hadad et al. (2021) and Zhan et al. (2021).
``past_propensities.py`` has h. That it holds for several stages and under delay, with μ and h fixed at enrolment, is
our own argument; ``benchmarks/adaptive.py`` has the coverage. Weights that use the unit's own context, such as
√e_t(x_t), would weight patients by context: they are not valid.

Units of forced rounds teach μ. In permuted order they have scores too, by the probabilities of the schedule, with μ and
h from before their block (``permuted_blocks.py``). In the paper's order they have none, because their arm was certain.
The first units have none either, until each regression has two units more than terms. With fewer, predictions can be
anything; and they are kept within the outcomes that they come from. Scores vary too little
while a rare arm was given only a few times. So the variance is the larger of theirs and the one that the recorded e
give with the residual variances τ_f² of what follows risk set f about μ_f, pooled over arms:

    se² = Σ_t h_t² v_t / (Σh)²,    v_t = Var(μ_1) + Σ_f τ_f² Π_{g<f} (D_g / e_g²) / e_f
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dtrbandit.errors import NotEstimable
from dtrbandit.evaluation.cohort.cohort import Cohort
from dtrbandit.evaluation.cohort.origin import CERTAIN, recorded_of
from dtrbandit.evaluation.induction.induction import LearnedRegime
from dtrbandit.evaluation.induction.regression import regress
from dtrbandit.evaluation.propensities.fitted import FittedModel
from dtrbandit.evaluation.propensities.model import recorded_probabilities
from dtrbandit.evaluation.propensities.risk_sets import risk_sets
from dtrbandit.evaluation.values.adherence import Arms, RegimeRiskSet, RegimeRiskSets, inverse_weights, regime_risk_sets
from dtrbandit.evaluation.values.augmented import OutcomeModel, augmented_scores, fitted_means
from dtrbandit.evaluation.values.estimate import (
    FEWEST,
    Estimate,
    Problem,
    ValueEstimator,
    of_influence,
    support_of,
    unless_few,
    without_value,
)
from dtrbandit.evaluation.values.past_propensities import PropensitiesByLevel, levels, weights_at_enrolment
from dtrbandit.evaluation.values.permuted_blocks import permuted_blocks, scheduled_probabilities
from dtrbandit.kernels.arrays import Mask, Matrix, Vector
from dtrbandit.plots import PALETTE

SPARE = 2  # units more than terms, so that the mean squared error of what a regression predicts is finite
POSSIBLE = (
    "Possible are the forced rounds alone, dtr.evaluate(cohort.forced(), ...); or, in the next trial, a policy that "
    "keeps every probability away from 0 and 1, such as EpsilonGreedy or DTRBandit(..., floor=0.05)"
)
NOTE = (
    "Scores of {scored:,} units, of whom {followed:,} followed the regime; the other {others:,} only teach outcome "
    "models. {weights} The standard error is the larger of {scores:.3g}, from the scores, and "
    "{model:.3g}, from recorded propensities and residual variances."
)
ADAPTIVE_WEIGHTS = "Weights h were settled when each unit enrolled; the largest is {times:.2g} times the smallest."
EQUAL_WEIGHTS = "Equal weights (h = 1): {why}."


class AdaptiveValue(NamedTuple):
    """The value of a regime.

    Attributes
    ----------
    influence
        φ, (n,): what each unit contributes, 0 without a score; √Σφ² is the larger standard error.
    weights
        h W of the units with a score that followed the regime, 0 of the others, (n,).
    by_scores, by_model
        The two standard errors.
    about_weights
        How the weights h came about, in a sentence; and which forced blocks have no score.
    """

    value: float
    influence: Vector
    weights: Vector
    by_scores: float
    by_model: float
    about_weights: str = ""

    @property
    def note(self) -> str:
        """What to keep in mind about the value."""
        scored, followed = int((self.influence != 0).sum()), int((self.weights > 0).sum())
        return NOTE.format(
            scored=scored,
            followed=followed,
            others=len(self.influence) - scored,
            weights=self.about_weights,
            scores=self.by_scores,
            model=self.by_model,
        )


def adaptive_value(cohort: Cohort, decided: Arms, model: OutcomeModel, past: PropensitiesByLevel) -> AdaptiveValue:
    """Return the value of a regime that gives the arms ``decided`` (n, M), from units with the arms scheduled.

    A regime that nobody followed has NaN.
    """
    _, recorded = recorded_of(cohort)
    models = tuple(recorded_models(cohort))
    at_risk = regime_risk_sets(cohort, decided, models)
    blocks = permuted_blocks(cohort)
    drawn = blocks.scored | ~np.any(recorded.forced, axis=1)
    require_overlap(cohort, at_risk, models, drawn)
    scores = predictable_scores(cohort, at_risk, model, bounded=True)
    scored = drawn & np.isfinite(scores)
    weights = np.where(scored, inverse_weights(cohort, at_risk), 0.0)
    if not (weights > 0).any():
        return AdaptiveValue(np.nan, np.zeros(len(cohort)), weights, np.nan, np.nan)
    settled = np.where(scored, weights_at_enrolment(cohort, decided, past), 0.0)
    share = settled / settled.sum()
    weights *= settled
    value = float(share[scored] @ scores[scored])
    influence = share * np.where(scored, scores - value, 0.0)
    by_scores = float(np.sqrt((influence**2).sum()))
    by_model = float(np.sqrt(model_variance(cohort, at_risk, models, share, model)))
    larger = max(1.0, by_model / by_scores) if by_scores > 0 else 1.0
    about_weights = f"{_about_weights(settled[scored], past.why)} {blocks.note}".strip()
    return AdaptiveValue(value, influence * larger, weights, by_scores, by_model, about_weights)


def _about_weights(weights: Vector, why_equal: str) -> str:
    if why_equal:
        return EQUAL_WEIGHTS.format(why=why_equal)
    return ADAPTIVE_WEIGHTS.format(times=float(weights.max() / weights.min()))


def predictable_scores(
    cohort: Cohort,
    risk_sets: RegimeRiskSets,
    model: OutcomeModel,
    level: NDArray[np.int64] | None = None,
    *,
    bounded: bool = False,
) -> Vector:
    """Return Γ of each unit, with outcome models from units that had ended when it enrolled, (n,).

    NaN for units that enrolled before enough others had taught what follows each option that the regime wants.
    ``level`` (n,) says on how many units, the first that ended, the models of each unit rest.
    ``bounded`` keeps what they predict within the outcomes that they come from.
    """
    _, recorded = recorded_of(cohort)
    scores = np.full(len(cohort), np.nan)
    level, last = levels(cohort) if level is None else level, np.sort(recorded.ended)
    for known in np.unique(level).tolist():
        teachers = (recorded.ended <= last[known - 1]).astype(float) if known else np.zeros(len(cohort))
        own = level == known
        try:
            scores[own] = augmented_scores(cohort, risk_sets, model, teachers, spare=SPARE, bounded=bounded).gamma[own]
        except NotEstimable:
            continue
    return scores


def model_variance(
    cohort: Cohort,
    risk_sets: RegimeRiskSets,
    models: Sequence[FittedModel],
    share: Vector,
    model: OutcomeModel,
) -> float:
    """Return se² by the recorded probabilities and residual variances, with outcome models from all units.

    ``share`` (n,) is h / Σh, 0 for units without a score.
    """
    base = cohort.outcome.copy()
    spreads: list[float] = []
    for at in reversed(risk_sets):
        rows, features = at.risk_set.rows, model.features(cohort, at.risk_set)
        spreads.insert(0, _residual_variance(at, features, base[rows]))
        base[rows] = fitted_means(at, features, base[rows], np.ones(len(rows))).mu
    reached = share**2
    total = float(np.var(base[share > 0]) * reached.sum())
    for at, own, spread in zip(risk_sets, models, spreads, strict=True):
        rows = at.risk_set.rows
        wanted = own.probabilities[np.arange(len(rows)), at.wanted]
        squared = np.where(at.taken, 1 / at.probability**2, 0.0)
        known = np.isfinite(own.probabilities).all(axis=1)  # of three arms that of the arm given alone: then 1 / e
        inverse = np.where(known, 1 / np.maximum(wanted, CERTAIN), squared)  # on average, whoever had it
        total += spread * float(np.where(reached[rows] > 0, reached[rows] * inverse, 0.0).sum())
        reached[rows] *= squared
    return total


def _residual_variance(at: RegimeRiskSet, features: Matrix, targets: Vector) -> float:
    """Return the variance of targets about a regression for each option, pooled over options."""
    squares = spare = 0.0
    for option in range(len(at.risk_set.options)):
        own = at.risk_set.happened == option
        if own.any():
            fit = regress(features[own], targets[own], np.ones(int(own.sum())))
            squares += float(((targets[own] - features[own] @ fit.coefficients) ** 2).sum())
            spare += int(own.sum()) - fit.rank
    return squares / spare if spare > 0 else 0.0


def recorded_models(cohort: Cohort) -> Iterator[FittedModel]:
    """Give each choice of arms with its recorded probabilities; in permuted forced blocks, with the schedule's."""
    in_block = permuted_blocks(cohort).scored
    for risk_set in risk_sets(cohort):
        if risk_set.kind == "choice":
            probabilities, own = recorded_probabilities(cohort, risk_set), in_block[risk_set.rows]
            labels = cohort.design.stages[risk_set.m].arms
            before = cohort.arms[risk_set.rows[own], : risk_set.m]
            columns = [labels.index(option) for option in risk_set.options]
            probabilities[own] = scheduled_probabilities(cohort.design, before)[:, columns]
            yield FittedModel(risk_set, probabilities, None)


def require_overlap(cohort: Cohort, risk_sets: RegimeRiskSets, models: Sequence[FittedModel], free: Mask) -> None:
    """Refuse choices of free rounds at which what the regime wants was certain, or impossible, or is not on record.

    With three or more feasible arms, a log does not tell the probability of an arm that was not given.
    """
    on_path = free.copy()
    for at, own in zip(risk_sets, models, strict=True):
        rows = at.risk_set.rows
        wanted = own.probabilities[np.arange(len(rows)), at.wanted]
        unknown = np.isnan(own.happened)
        settled = on_path[rows] & ((wanted <= CERTAIN) | (wanted >= 1 - CERTAIN) | unknown)
        if settled.any():
            policy = cohort.collected_by or recorded_of(cohort)[0].policy
            raise NotEstimable(
                f"{at.risk_set}: for {settled.sum():,} of {on_path[rows].sum():,} units in free rounds that had "
                f"followed the regime so far, {policy} gave its arm with probability 1 or 0: no weight "
                f"exists for the arm not given, whatever the number of units. {POSSIBLE}"
            )
        on_path[rows] &= at.taken


def _valued(problem: Problem) -> Estimate:
    cohort = problem.cohort
    if isinstance(problem.regime, LearnedRegime):
        raise NotEstimable(
            f"regime {problem.name!r} was learned from units whose arms {cohort.collected_by} chose by what earlier "
            "ones had taught it: neither cross-fitting nor an interval is valid there. Give a FixedRegime that was "
            "settled beforehand; or learn and evaluate on the forced rounds alone, cohort.forced()"
        )
    sample = problem.sample
    found = adaptive_value(cohort, problem.decided, sample.outcome_model, sample.past_propensities)
    support = support_of(found.weights)
    if support.units < FEWEST:
        return without_value(problem.name, ADAPTIVE.name, support)
    own = found.value, found.influence
    return unless_few(
        of_influence(problem.name, ADAPTIVE.name, own, support, freedom=support.freedom, note=found.note), support
    )


ADAPTIVE = ValueEstimator(
    name="adaptive",
    sentence="augmented scores with the recorded propensities and outcome models from units that had ended before; "
    "right whatever the outcome models are.",
    mark="v",
    colour=PALETTE[4],
    foremost=True,
    adaptive=_valued,
)
