"""What the paper says about Table 1, and what becomes of it here.

Each claim is about differences. With averages on many cohorts a difference is taken cohort by cohort, with averages on
many paths through one cohort path by path; its interval is Student's, over cohorts or over paths. The intervals of one
claim hold together with 95 %. One is ahead if its interval lies above 0, behind if it lies below, and cannot be told if
it holds 0. True averages on simulated paths are skewed, and have intervals as those of studies do (``intervals``).

- All improve on Logging: shown if each is ahead, refuted if one is behind.
- DTRBandit is best: shown if the mean of its six settings is ahead of every other algorithm, refuted if behind one.
- Often above Offline: shown if three of six settings are ahead or more, refuted if four or more are behind.
- Consistently well: shown if each of the six settings is ahead of the mean of the other online algorithms, refuted if
  one is behind it. It says nothing of the best of them: that is the claim above.
- Small q, large Δ: shown if both changes are ahead, refuted if one is behind.

What is neither shown nor refuted cannot be told. This was fixed before any of it was computed, but for two things: at
first each interval had 95 % by itself, and "consistently well" was added later, before its own numbers were seen.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import isnan
from typing import NamedTuple

import numpy as np

from dtrbandit.intervals import Interval, interval, mean_over_paths, over_paths
from dtrbandit.kernels.arrays import Array
from dtrbandit.reproduce.claims import Claim, Verdict, bonferroni_level, together
from dtrbandit.reproduce.table1.versions import DELTAS, DTRB, LOGGING, OFFLINE, ONLINE, QS, named

Averages = Mapping[str, Array]

AHEAD, BEHIND, OPEN = Verdict.HOLDS, Verdict.REFUTED, Verdict.OPEN  # of the claim that one is ahead of another
OFTEN = 3  # of six settings


class Lead(NamedTuple):
    """How far one is ahead of another, with its interval; NaN limits if there is none."""

    mean: float
    low: float
    high: float

    @property
    def verdict(self) -> Verdict:
        """Say whether it is ahead, behind, or neither can be told."""
        return AHEAD if self.low > 0 else BEHIND if self.high < 0 else OPEN

    def __str__(self) -> str:
        return f"{self.mean:+.2f} " + ("(no interval)" if isnan(self.low) else f"({self.low:+.2f} to {self.high:+.2f})")


Compare = Callable[[Array, float], Lead]  # from differences, at a level


def by_cohort(differences: Array, level: float) -> Lead:
    """Return how far one is ahead, from the difference on each cohort."""
    return _lead(interval(differences, level=level))


def by_path(differences: Array, level: float) -> Lead:
    """Return how far one is ahead, from the difference on each path of replay; no limits with too few paths."""
    return _lead(over_paths(differences, level=level))


def by_truth(differences: Array, level: float) -> Lead:
    """Return how far one is truly ahead, from the difference on each simulated path; no limits with too few paths."""
    return _lead(mean_over_paths(differences, seed=0, level=level))


def _lead(found: Interval) -> Lead:
    return Lead(float(found.estimate), float(found.low), float(found.high))


def claims(averages: Averages, compare: Compare) -> tuple[Claim, ...]:
    """Measure the paper's five claims, from the average of each entry on each cohort, or on each path."""
    where = "in replay over cohorts" if compare is by_cohort else "in replay on this cohort"
    found = _all_beat_logging(averages, compare), *claims_about_dtr_bandit(averages, compare)
    return tuple(claim._replace(claim=f"{claim.claim}, {where}") for claim in found)


def claims_about_dtr_bandit(averages: Averages, compare: Compare) -> tuple[Claim, Claim, Claim, Claim]:
    """Measure the four claims that are not about the logging policy."""
    return (
        _dtr_bandit_is_best(averages, compare),
        _often_above_offline(averages, compare),
        _small_q_and_large_delta(averages, compare),
        _consistently_well(averages, compare),
    )


def _all_beat_logging(averages: Averages, compare: Compare) -> Claim:
    level = bonferroni_level(len(ONLINE))
    leads = {name: compare(averages[name] - averages[LOGGING], level) for name in ONLINE}
    worst = min(leads, key=lambda name: leads[name].low)
    open_ones = [name for name, own in leads.items() if own.verdict == OPEN and name != worst]
    return Claim(
        "All online algorithms improve on the logging policy",
        f"least sure: {worst} by {leads[worst]}" + (f"; also open: {', '.join(open_ones)}" if open_ones else ""),
        "each interval above 0; refuted by one below",
        together(own.verdict for own in leads.values()),
    )


def _dtr_bandit_is_best(averages: Averages, compare: Compare) -> Claim:
    ours, others = np.mean([averages[name] for name in DTRB], axis=0), [name for name in ONLINE if name not in DTRB]
    leads = {name: compare(ours - averages[name], bonferroni_level(len(others))) for name in others}
    words = {AHEAD: "ahead of", BEHIND: "behind", OPEN: "not told apart from"}
    groups = {verdict: [f"{name} {own}" for name, own in leads.items() if own.verdict == verdict] for verdict in words}
    return Claim(
        "DTRBandit (mean of its six settings) has the highest average reward of all online algorithms",
        "; ".join(f"{words[verdict]} {', '.join(names)}" for verdict, names in groups.items() if names),
        "ahead of each; refuted by one interval below 0",
        together(own.verdict for own in leads.values()),
    )


def _often_above_offline(averages: Averages, compare: Compare) -> Claim:
    leads = [compare(averages[name] - averages[OFFLINE], bonferroni_level(len(DTRB))) for name in DTRB]
    sure, contrary = (sum(own.verdict == verdict for own in leads) for verdict in (AHEAD, BEHIND))
    low, high = min(leads, key=lambda own: own.mean), max(leads, key=lambda own: own.mean)
    return Claim(
        "DTRBandit is often better than the Offline benchmark",
        f"by their intervals {sure} of {len(DTRB)} settings are above it and {contrary} below; from {low} to {high}",
        f"{OFTEN} of {len(DTRB)} intervals above 0; refuted by {len(DTRB) - OFTEN + 1} below",
        AHEAD if sure >= OFTEN else BEHIND if contrary > len(DTRB) - OFTEN else OPEN,
    )


def _small_q_and_large_delta(averages: Averages, compare: Compare) -> Claim:
    fewer = np.mean([averages[named(QS[0], d)] - averages[named(QS[-1], d)] for d in DELTAS], axis=0)
    wider = np.mean([averages[named(q, DELTAS[-1])] - averages[named(q, DELTAS[0])] for q in QS], axis=0)
    q, delta = (compare(differences, bonferroni_level(2)) for differences in (fewer, wider))
    words = {AHEAD: "better", BEHIND: "worse", OPEN: str(OPEN)}
    return Claim(
        "DTRBandit gets better as q gets smaller and Δ larger",
        f"q = {QS[-1]} to {QS[0]}: {q}, {words[q.verdict]}; "
        f"Δ = {DELTAS[0]} to {DELTAS[-1]}: {delta}, {words[delta.verdict]}",
        "both intervals above 0; refuted by one below",
        together([q.verdict, delta.verdict]),
    )


def _consistently_well(averages: Averages, compare: Compare) -> Claim:
    others = np.mean([averages[name] for name in ONLINE if name not in DTRB], axis=0)
    leads = {name: compare(averages[name] - others, bonferroni_level(len(DTRB))) for name in DTRB}
    worst = min(leads, key=lambda name: leads[name].mean if isnan(leads[name].low) else leads[name].low)
    sure = sum(own.verdict == AHEAD for own in leads.values())
    return Claim(
        "DTRBandit consistently performs well: with each of its six settings it is above the mean of the other online "
        "algorithms",
        f"by their intervals {sure} of {len(DTRB)} settings are above; least sure: {worst} by {leads[worst]}",
        "each interval above 0; refuted by one below",
        together(own.verdict for own in leads.values()),
    )
