"""Looks at the difference of two regimes while a trial runs: which units have a score, and when one may look.

Units count in the order of their enrolment, up to the first that has not ended. A unit's score is the difference of its
augmented scores for the two regimes (``values/augmented.py``), with known probabilities, and with outcome models from
units that had ended before. There are two ways:

*Free rounds*, where every probability on record is inside (0, 1): the scores of ``values/adaptive.py``. One may look
after each unit.

*Forced rounds*, under ``DTRBandit`` without a floor, whose free arms are certain. The probability of an arm is its
share of the plans that agree so far. Within a block the plans come in an order, or without replacement, so that only
whole blocks are balanced. Outcome models are settled before a block begins, and one may look at its end.

Which way it is follows from the policy, not from what happened: no sequence changes from one to the other.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal, NamedTuple, TypedDict

import numpy as np
from numpy.typing import NDArray

from dtrbandit.design.spec import Design
from dtrbandit.design.values import real, shown, whole
from dtrbandit.errors import DesignError, NotEstimable
from dtrbandit.evaluation.cohort.cohort import Cohort
from dtrbandit.evaluation.cohort.origin import recorded_of
from dtrbandit.evaluation.looks.contrast import Contrast, regimes_of
from dtrbandit.evaluation.looks.sequence import Looks, sequence
from dtrbandit.evaluation.propensities.fitted import FittedModel
from dtrbandit.evaluation.propensities.risk_sets import RiskSet, risk_sets
from dtrbandit.evaluation.values.adaptive import predictable_scores, recorded_models, require_overlap
from dtrbandit.evaluation.values.adherence import decisions, inverse_weights, regime_risk_sets
from dtrbandit.evaluation.values.augmented import OutcomeModel
from dtrbandit.evaluation.values.permuted_blocks import scheduled_probabilities
from dtrbandit.kernels.arrays import Mask, Matrix, Vector
from dtrbandit.policies.dtr_bandit import DTRBandit
from dtrbandit.policies.fixed_regime import FixedRegime
from dtrbandit.policies.registry import policy_from_dict
from dtrbandit.record.events import Assigned, Event, Opened, Voided
from dtrbandit.words import counted

ALPHA = 0.05
TIGHTEST = 500
LOST = (
    "Left out: {units} that dropped out. That is right only if who is lost depends neither on arms nor on anything "
    "that outcomes depend on."
)
BARRED = (
    "Left out: {units} to whom an arm was closed or contraindicated. The difference is that of units that could have "
    "every arm."
)
Dropouts = Literal["refuse", "complete"]


class LookOptions(TypedDict, total=False):
    """What ``monitor`` may be told beside the contrast."""

    outcome_model: OutcomeModel | None
    dropouts: Dropouts
    alpha: float
    tightest: int


def monitor(
    log: Iterable[Event] | Cohort,
    contrast: Contrast,
    *,
    design: Design | None = None,
    outcome_model: OutcomeModel | None = None,
    dropouts: Dropouts = "refuse",
    alpha: float = ALPHA,
    tightest: int = TIGHTEST,
) -> Looks:
    """Return the difference of two regimes with limits that hold at every look, however often one looks.

    Parameters
    ----------
    log
        Of a trial that may be under way, or its cohort. It is read, and nothing is written.
    contrast
        Two regimes that were settled before the trial, by name or as a pair; or two arms of a design of one stage.
    design
        Needed only where it holds Python functions, which a log cannot.
    outcome_model
        The terms of the regressions behind the scores; by default those of the design. They move no mean.
    dropouts
        What becomes of units without an outcome: ``"refuse"``, or ``"complete"``, without them. That is right only if
        who is lost depends neither on arms nor on anything that outcomes depend on.
    alpha, tightest
        1 − the confidence, and the number of scores at which limits are to be tightest. Settle them, and the
        contrast, before the first look.

    Raises
    ------
    NotEstimable
        Free arms were certain and no forced block is whole; or units were lost.

    Examples
    --------
    >>> import dtrbandit as dtr
    >>> design = dtr.Design([dtr.Stage("dose", ("low", "high"), "1")])
    >>> session = dtr.Session(design, dtr.UniformRandom(), seed=1)
    >>> for unit in range(100):
    ...     arm = session.enroll(f"u{unit}", {}).arm
    ...     session.complete(f"u{unit}", float(arm == "high") + unit % 5)
    >>> looks = monitor(session.log, ("high", "low"))
    >>> bool(looks.low[-1] <= 1 <= looks.high[-1])
    True
    """
    model = OutcomeModel() if outcome_model is None else outcome_model
    if not isinstance(model, OutcomeModel):
        raise DesignError(f"outcome_model must be an OutcomeModel, found {shown(model)}")
    alpha = real(alpha, "monitor: alpha")
    if not 0 < alpha < 0.5:
        raise DesignError(f"monitor: alpha must be above 0 and below 0.5, found {shown(alpha)}")
    tightest = whole(tightest, "monitor: tightest", low=1)
    ended = _whole_cohort(log, design)
    model.require_places(ended)
    regimes = regimes_of(contrast, ended.design)
    cohort, left_out = _usable(ended, dropouts)
    found = _looked(ended, cohort, list(regimes.values()), model)
    at = np.searchsorted(found.units, found.looks, side="right")  # scores by each look
    counts = np.cumsum(np.vstack([np.zeros((1, 2), dtype=np.int64), found.followed]), axis=0)[at]
    mean, low, high = sequence(found.scores, at, counts, alpha=alpha, tightest=tightest)
    origin, _ = recorded_of(cohort)
    about = (found.about, *left_out, *origin.describe(len(cohort)))
    first, second = regimes
    return Looks((first, second), found.looks, at, counts, mean, low, high, alpha, tightest, about)


class _Found(NamedTuple):
    """The scores of a cohort, in order.

    Attributes
    ----------
    scores
        The difference of each unit with a score, (T,).
    units
        Their numbers among all units that ended, from 1, (T,).
    followed
        Whether each followed one regime and not the other, (T, 2).
    looks
        After how many units one may look, (L,).
    """

    scores: Vector
    units: NDArray[np.int64]
    followed: NDArray[np.int64]
    looks: NDArray[np.int64]
    about: str


# -- what is asked ------------------------------------------------------------------------------------------------


def _whole_cohort(log: Iterable[Event] | Cohort, design: Design | None) -> Cohort:
    """Return all units of a log that count; a cohort of some of them has gaps, and is refused."""
    if not isinstance(log, Cohort):
        return Cohort.from_log(log, design=design)
    origin, _ = recorded_of(log)
    assert origin.log is not None  # what is recorded comes from a log
    cohort = Cohort.from_log(origin.log, design=log.design)
    if cohort.units != log.units:
        raise DesignError(
            f"monitor needs all {counted(len(cohort), 'unit')} of the log in order, and this cohort has {len(log):,} "
            "of them; give the log itself, or Cohort.from_log(log)"
        )
    return cohort


def _usable(cohort: Cohort, dropouts: object) -> tuple[Cohort, tuple[str, ...]]:
    """Return the units that may have a score, with the arms decided, and what to say of the others."""
    if dropouts not in ("refuse", "complete"):
        raise DesignError(f"monitor: dropouts must be 'refuse' or 'complete', found {shown(dropouts)}")
    scheduled = cohort.as_scheduled()
    lost, barred, words = scheduled.dropped_out, _excluded(scheduled), []
    if lost.any() and dropouts == "refuse":
        raise NotEstimable(
            f"{lost.sum():,} of {len(cohort):,} units dropped out, and how probable that was is not known. If who is "
            'lost depends neither on arms nor on anything that outcomes depend on, monitor(..., dropouts="complete") '
            "looks at the others"
        )
    if (lost | barred).all():
        raise NotEstimable(f"none of {counted(len(cohort), 'unit')} has an outcome and could have every arm; wait")
    if lost.any():
        words.append(LOST.format(units=counted(int(lost.sum()), "unit")))
    if barred.any():
        words.append(BARRED.format(units=counted(int(barred.sum()), "unit")))
    return scheduled.of(~(lost | barred)), tuple(words)


def _excluded(cohort: Cohort) -> Mask:
    """Return which units could not have some arm when they were decided, (n,)."""
    if cohort.excluded is None:
        return np.zeros(len(cohort), dtype=np.bool_)
    found: Mask = np.any([own.any(axis=1) for own in cohort.excluded], axis=0)
    return found


# -- scores -------------------------------------------------------------------------------------------------------


def _looked(ended: Cohort, cohort: Cohort, regimes: Sequence[FixedRegime], model: OutcomeModel) -> _Found:
    """Return the scores of those units of a cohort that have one; ``ended`` are all that have ended."""
    place_of = {unit: number for number, unit in enumerate(ended.units, 1)}
    numbers = np.array([place_of[unit] for unit in cohort.units], dtype=np.int64)
    origin, _ = recorded_of(cohort)
    assert origin.log is not None  # what is recorded comes from a log
    opened = origin.log[0]
    assert isinstance(opened, Opened)
    if opened.policy.get("name") == DTRBandit.__name__ and "function" not in opened.policy:
        policy = policy_from_dict(opened.policy)
        if isinstance(policy, DTRBandit) and not policy.floor:
            found = _forced_rounds(cohort, regimes, model, _Blocks.of(ended, policy.q))
            return found._replace(units=numbers[found.units])
    found = _free_rounds(cohort, regimes, model)
    return found._replace(units=numbers[found.units], looks=numbers[found.units])


def _free_rounds(cohort: Cohort, regimes: Sequence[FixedRegime], model: OutcomeModel) -> _Found:
    """Return the scores of free rounds by recorded probabilities; one may look after each."""
    origin, recorded = recorded_of(cohort)
    models = tuple(recorded_models(cohort))
    free: Mask = ~np.any(recorded.forced, axis=1)
    scores, followed = [], []
    for regime in regimes:
        at_risk = regime_risk_sets(cohort, decisions(cohort, regime), models)
        require_overlap(cohort, at_risk, models, free)
        scores.append(predictable_scores(cohort, at_risk, model))
        followed.append(inverse_weights(cohort, at_risk) > 0)
    found = _differences(scores, followed, free)
    words = f"Scores are of free rounds, by the probabilities of arms that {origin.policy} recorded when it decided."
    rest = len(cohort) - len(found.units)
    words += f" {counted(rest, 'unit')} of forced or first rounds only teach outcome models." if rest else ""
    return found._replace(about=words)


def _forced_rounds(cohort: Cohort, regimes: Sequence[FixedRegime], model: OutcomeModel, blocks: _Blocks) -> _Found:
    """Return the scores of whole forced blocks by the shares of plans; one may look at their ends."""
    origin, recorded = recorded_of(cohort)
    rounds = np.array([blocks.rounds[unit] for unit in cohort.units])
    forced = recorded.forced[:, 0] & ~recorded.chosen_freely.any(axis=1)
    whole_ones, known = np.zeros(len(cohort), dtype=np.bool_), np.zeros(len(cohort), dtype=np.int64)
    ended = np.sort(recorded.ended)
    for first, last in blocks.spans:
        own = (first <= rounds) & (rounds <= last)
        whole_ones |= own
        known[own & forced] = np.searchsorted(ended, recorded.enrolled[own].min()) if own.any() else 0
    models = tuple(FittedModel(each, _shares_of_plans(cohort, each), None) for each in _choices(cohort))
    scores, followed = [], []
    for regime in regimes:
        at_risk = regime_risk_sets(cohort, decisions(cohort, regime), models)
        scores.append(predictable_scores(cohort, at_risk, model, known))
        followed.append(inverse_weights(cohort, at_risk) > 0)
    found = _differences(scores, followed, forced & whole_ones)
    words = (
        f"Scores are of {counted(len(blocks.spans), 'whole block')} of forced rounds of {origin.policy}, whose free "
        "arms are certain given the past; other units only teach outcome models. One can look at the end of a block."
    )
    freed = int((whole_ones & ~forced).sum())
    words += f" {counted(freed, 'unit')} of these blocks could not follow the plan after an override." if freed else ""
    return found._replace(looks=np.array(blocks.looks), about=words)


def _differences(scores: Sequence[Vector], followed: Sequence[Mask], may: Mask) -> _Found:
    """Return the scores of the units that may have one; they are numbered by their rows."""
    difference = scores[0] - scores[1]
    (rows,) = np.nonzero(may & np.isfinite(difference))
    only = np.stack([followed[0] & ~followed[1], followed[1] & ~followed[0]], axis=1)[rows]
    return _Found(difference[rows], rows, only.astype(np.int64), rows, "")


# -- forced blocks ------------------------------------------------------------------------------------------------


class _Blocks(NamedTuple):
    """The forced blocks all of whose units have ended.

    Attributes
    ----------
    rounds
        The round of each unit.
    spans
        The first and the last round of each block.
    looks
        How many units had ended up to the end of each block.
    """

    rounds: dict[str, int]
    spans: list[tuple[int, int]]
    looks: list[int]

    @classmethod
    def of(cls, ended: Cohort, q: int) -> _Blocks:
        """Return the whole blocks of a log whose units ``ended``, or refuse where there are none."""
        rounds, first_open = _rounds(ended)
        size = len(ended.design.arm_plans) * q
        blocks = [2**n * size for n in range(first_open.bit_length()) if 2**n * size < first_open]
        if not blocks:
            raise NotEstimable(
                "the free arms of DTRBandit are certain given the past: no weight exists for the arm not given, "
                f"and no forced block is whole yet: the first ends with round {size:,}, and all before round "
                f"{first_open:,} have ended. Wait for it"
            )
        looks = [sum(rounds[unit] <= last for unit in ended.units) for last in blocks]
        return cls(rounds, [(last - size + 1, last) for last in blocks], looks)


def _rounds(ended: Cohort) -> tuple[dict[str, int], int]:
    """Return the round of each unit of a log, and the first round whose unit has not ended or has not come."""
    origin, _ = recorded_of(ended)
    assert origin.log is not None  # what is recorded comes from a log
    rounds, last = dict[str, int](), 0
    for event in origin.log:
        if isinstance(event, Assigned):
            rounds[event.decision.unit] = event.decision.round
            last = max(last, event.decision.round)
        elif isinstance(event, Voided):
            rounds.pop(event.unit, None)
    return rounds, last + 1 if origin.waiting is None else rounds[origin.waiting.first]


def _choices(cohort: Cohort) -> Iterable[RiskSet]:
    return (each for each in risk_sets(cohort) if each.kind == "choice")


def _shares_of_plans(cohort: Cohort, risk_set: RiskSet) -> Matrix:
    """Return the share of plans with each option among those that agree with a unit's arms so far, (r, K)."""
    labels = cohort.design.stages[risk_set.m].arms
    shares = scheduled_probabilities(cohort.design, cohort.arms[risk_set.rows, : risk_set.m])
    return shares[:, [labels.index(option) for option in risk_set.options]]
