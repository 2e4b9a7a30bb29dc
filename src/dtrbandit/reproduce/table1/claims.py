"""What the paper says about Table 1, and when it holds.

The numbers are noisy, and some differences are smaller than the noise. So a claim of order fails only when the other
order is established: when the 95 % interval of the paired difference lies on the wrong side of 0. The text of what was
measured says whether the claim itself is established, or whether it cannot be told. Intervals are about paths through
this cohort; other cohorts differ more.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dtrbandit.intervals import interval
from dtrbandit.reproduce.claims import Claim
from dtrbandit.reproduce.table1.entries import DELTAS, DTRB, QS, named

Array = NDArray[np.float64]
Averages = Mapping[str, Array]

AHEAD, BEHIND, OPEN = "ahead", "behind", "cannot be told"
OFTEN = 3  # of six settings


class Lead(NamedTuple):
    """How far one is ahead of another, with its 95 % interval over paths."""

    mean: float
    low: float
    high: float

    @property
    def verdict(self) -> str:
        """Say whether it is ahead, behind, or neither can be told."""
        return AHEAD if self.low > 0 else BEHIND if self.high < 0 else OPEN

    def __str__(self) -> str:
        return f"{self.mean:+.3f} ({self.low:+.3f} to {self.high:+.3f})"


def lead(differences: Array) -> Lead:
    """Return how far one is ahead, from the difference on each path."""
    mean, _, low, high = (float(number) for number in interval(differences))
    return Lead(mean, low, high)


def claims(averages: Averages, *, logging: float, offline: float) -> tuple[Claim, ...]:
    """Measure the paper's four claims, from the average outcome of each online algorithm on each path."""
    return _all_beat_logging(averages, logging), *claims_about_dtr_bandit(averages, offline=offline)


def claims_about_dtr_bandit(averages: Averages, *, offline: float) -> tuple[Claim, Claim, Claim]:
    """Measure the three claims that are not about the logging policy."""
    return (
        _dtr_bandit_is_best(averages),
        _often_above_offline(averages, offline),
        _small_q_and_large_delta(averages),
    )


def _all_beat_logging(averages: Averages, logging: float) -> Claim:
    leads = {name: lead(values - logging) for name, values in averages.items()}
    worst = min(leads, key=lambda name: leads[name].low)
    failing = [name for name, own in leads.items() if own.low <= 0]
    return Claim(
        "All online algorithms improve on the logging policy",
        f"least: {worst} by {leads[worst]}" + (f"; not established for {', '.join(failing)}" if failing else ""),
        "each interval above 0",
        not failing,
    )


def _dtr_bandit_is_best(averages: Averages) -> Claim:
    ours = np.mean([averages[name] for name in DTRB], axis=0)
    leads = {name: lead(ours - values) for name, values in averages.items() if name not in DTRB}
    words = {AHEAD: "ahead of", BEHIND: "behind", OPEN: "not told apart from"}
    groups = {verdict: [f"{name} {own}" for name, own in leads.items() if own.verdict == verdict] for verdict in words}
    return Claim(
        "DTRBandit has the highest average reward of all online algorithms (mean of its six settings)",
        "; ".join(f"{words[verdict]} {', '.join(names)}" for verdict, names in groups.items() if names),
        "behind none: no interval below 0",
        not groups[BEHIND],
    )


def _often_above_offline(averages: Averages, offline: float) -> Claim:
    leads = [lead(averages[name] - offline) for name in DTRB]
    above = sum(own.mean > 0 for own in leads)
    sure, contrary = (sum(own.verdict == verdict for own in leads) for verdict in (AHEAD, BEHIND))
    return Claim(
        "DTRBandit is often better than the Offline benchmark",
        f"{above} of {len(DTRB)} settings are above it; by their intervals {sure} are above and {contrary} below",
        f"at least {OFTEN} of {len(DTRB)} above it",
        above >= OFTEN,
    )


def _small_q_and_large_delta(averages: Averages) -> Claim:
    q = lead(np.mean([averages[named(QS[0], d)] - averages[named(QS[-1], d)] for d in DELTAS], axis=0))
    delta = lead(np.mean([averages[named(q, DELTAS[-1])] - averages[named(q, DELTAS[0])] for q in QS], axis=0))
    words = {AHEAD: "better", BEHIND: "worse", OPEN: OPEN}
    return Claim(
        "DTRBandit gets better as q gets smaller and Δ larger",
        f"q = {QS[-1]} to {QS[0]}: {q}, {words[q.verdict]}; "
        f"Δ = {DELTAS[0]} to {DELTAS[-1]}: {delta}, {words[delta.verdict]}",
        "neither worse: no interval below 0",
        BEHIND not in (q.verdict, delta.verdict),
    )
