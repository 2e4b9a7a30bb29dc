"""What the charts show, from a ledger: allocation, outcomes, margin and diversity, each at a few dozen points."""

from __future__ import annotations

from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dtrbandit.kernels.arrays import Array
from dtrbandit.policies.dtr_bandit import DTRBandit
from dtrbandit.policies.policy import Policy
from dtrbandit.trial.ledger import COMPLETED, FORCED, FREE, FREED, VOIDED, WITHDRAWN, Ledger

BARS = 24  # of allocation
POINTS = 40  # of lines
FEWEST = 10  # outcomes for an interval
REACH = 1.959964  # of a 95 % interval


class Shares(NamedTuple):
    """How the decisions of a stage were shared out, part by part in their order: counts (parts, kinds)."""

    stage: str
    labels: tuple[str, ...]
    edges: tuple[int, ...]  # the first decision of each part, from 1, and one beyond the last
    counts: NDArray[np.int64]


class Lines(NamedTuple):
    """Values (lines, points) after so many decisions or units, NaN where there are none."""

    labels: tuple[str, ...]
    after: NDArray[np.int64]
    values: Array


class Leads(NamedTuple):
    """By how much Q̃ of the best arm exceeded the next, in parts of a stage's free decisions: 10 %, median, 90 %."""

    stage: str
    after: NDArray[np.int64]
    low: Array
    middle: Array
    high: Array
    half_delta: float | None
    beyond: int  # decisions with a lead above half of delta
    known: int  # decisions with a lead


class Mean(NamedTuple):
    """A mean outcome, its interval if one is valid, and the sentence that says why or why not."""

    units: int
    dropped: int
    mean: float | None
    low: float | None
    high: float | None
    why: str


class Benefit(NamedTuple):
    """Outcomes of free rounds beside those of forced rounds."""

    forced: Mean
    free: Mean
    running: Lines
    settled: int
    freed: int  # units of neither: an arm of their forced plan was contraindicated or closed
    waiting: str | None  # the first unit under way


def shares_of_arms(ledger: Ledger, m: int) -> Shares:
    """Return how often each arm of a stage was really given."""
    _, arms, _, _ = ledger.stages[m].columns()
    stage = ledger.design.stages[m]
    return _shares(stage.name, stage.arms, arms)


def shares_of_reasons(ledger: Ledger, m: int) -> Shares:
    """Return how often each reason led to a decision of a stage."""
    _, _, reasons, _ = ledger.stages[m].columns()
    return _shares(ledger.design.stages[m].name, tuple(ledger.reasons), reasons)


def _shares(stage: str, labels: tuple[str, ...], kinds: NDArray[np.integer[Any]]) -> Shares:
    edges = _edges(len(kinds), BARS)
    parts = [np.bincount(part[part >= 0], minlength=len(labels)) for part in np.split(kinds, edges[1:-1])]
    counts = np.array(parts, dtype=np.int64) if len(kinds) else np.zeros((0, len(labels)), dtype=np.int64)
    return Shares(stage, labels, tuple(int(edge) + 1 for edge in edges), counts)


def _edges(count: int, most: int) -> NDArray[np.int64]:
    """Return where parts of about equal size begin and the last one ends."""
    return np.unique(np.linspace(0, count, min(most, max(count, 1)) + 1).astype(np.int64))


def leads(ledger: Ledger, policy: Policy[Any], m: int) -> Leads:
    """Return |ΔQ̃| of the free decisions of a stage beside Δ/2."""
    _, _, reasons, found = ledger.stages[m].columns()
    forced = ledger.reasons.index("forced") if "forced" in ledger.reasons else -1
    free = (reasons != forced) & np.isfinite(found)
    numbers, found = np.flatnonzero(free) + 1, found[free]
    edges = _edges(len(found), BARS)
    parts = [part for part in np.split(found, edges[1:-1]) if len(part)]
    low, middle, high = (np.array([np.quantile(part, q) for part in parts]) for q in (0.1, 0.5, 0.9))
    half = half_delta(policy, m)
    beyond = 0 if half is None else int((found > half).sum())
    after = numbers[edges[1:] - 1] if len(found) else numbers
    return Leads(ledger.design.stages[m].name, after, low, middle, high, half, beyond, len(found))


def half_delta(policy: Policy[Any], m: int) -> float | None:
    """Return Δ_m/2; None for a policy that has none.

    Examples
    --------
    >>> half_delta(DTRBandit(q=1, delta=(4.0, 2.0)), 1)
    1.0
    """
    if not isinstance(policy, DTRBandit):
        return None
    return (policy.delta[m] if isinstance(policy.delta, tuple) else policy.delta) / 2


def smallest_eigenvalues(ledger: Ledger, m: int) -> Lines:
    """Return the smallest eigenvalue of each arm's Gram matrix Σψψ'/n at a stage, as units came, n those of the arm."""
    _, arms, _, _ = ledger.stages[m].columns()
    psi, stage = ledger.stages[m].matrix(), ledger.design.stages[m]
    edges = _edges(len(arms), POINTS)
    values = np.full((len(stage.arms), len(edges) - 1), np.nan)
    for a in range(len(stage.arms)):
        gram, count = np.zeros((psi.shape[1], psi.shape[1])), 0
        for k, (begin, end) in enumerate(pairwise(edges.tolist())):
            rows = psi[begin:end][arms[begin:end] == a]
            gram, count = gram + rows.T @ rows, count + len(rows)
            if count:
                values[a, k] = max(0.0, float(np.linalg.eigvalsh(gram)[0])) / count
    return Lines(stage.arms, edges[1:], values)


def benefit(ledger: Ledger) -> Benefit:
    """Return mean outcomes of free and of forced rounds, in the order of enrolment before the first under way."""
    settled = ledger.settled()
    outcomes = np.array(ledger.outcomes[:settled], dtype=np.float64)
    ends, rounds = np.array(ledger.ends[:settled]), np.array(ledger.forced[:settled])
    kinds = [(rounds == kind) & (ends != VOIDED) for kind in (FORCED, FREE)]
    lines = [_running(np.where(kind & (ends == COMPLETED), outcomes, np.nan), settled) for kind in kinds]
    forced, free = (
        mean(
            outcomes[kind & (ends == COMPLETED)],
            int((kind & (ends == WITHDRAWN)).sum()),
            is_forced,
            closed=bool(ledger.closed),
        )
        for kind, is_forced in zip(kinds, (True, False), strict=True)
    )
    labels = "forced rounds", "free rounds"
    running = Lines(labels, _edges(settled, POINTS)[1:], np.array(lines).reshape(2, -1))
    waiting = ledger.names[settled] if settled < ledger.units else None
    freed = int(((rounds == FREED) & (ends != VOIDED)).sum())
    return Benefit(forced, free, running, settled, freed, waiting)


def _running(outcomes: Array, settled: int) -> Array:
    """Return the mean of what is known up to each of some rounds."""
    known = np.isfinite(outcomes)
    sums, counts = np.cumsum(np.where(known, outcomes, 0.0)), np.cumsum(known)
    at = _edges(settled, POINTS)[1:] - 1
    with np.errstate(invalid="ignore"):
        return np.array(sums[at] / counts[at]) if settled else np.array([])


def mean(outcomes: Array, dropped: int, forced: bool, *, closed: bool = False) -> Mean:
    """Return a mean outcome with Student's interval where it is valid: forced rounds are a randomised trial.

    ``closed``: an arm was closed, so that what is scheduled may depend on outcomes.
    """
    n = len(outcomes)
    average = float(outcomes.mean()) if n else None
    if not forced:
        why = "No interval: earlier outcomes chose these arms, and no interval for their mean was shown to be valid."
    elif dropped:
        why = f"No interval: {dropped} of {n + dropped} dropped out, and a mean of the others may be off."
    elif closed:
        why = "No interval: an arm was closed, perhaps for its outcomes, and forced rounds go on without it."
    elif n < FEWEST:
        why = f"No interval: it takes {FEWEST} outcomes of forced rounds."
    elif np.ptp(outcomes) == 0:
        why = "No interval: all these outcomes are equal, so that they do not show how much outcomes vary."
    else:
        from scipy.stats import t

        reach = float(t.ppf(0.975, n - 1)) * float(outcomes.std(ddof=1)) / np.sqrt(n)
        why = "95 % interval: forced rounds depend on the round's number and on chance alone, never on outcomes."
        return Mean(n, dropped, average, float(outcomes.mean() - reach), float(outcomes.mean() + reach), why)
    return Mean(n, dropped, average, None, None, why)
