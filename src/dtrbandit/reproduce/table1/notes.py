"""What one must know to read Table 1: whose numbers they are, how they were weighted, and how far to trust them."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from dtrbandit.datasets.stard import COHORT_SEED
from dtrbandit.environments.stard import STARD
from dtrbandit.evaluation import Cohort
from dtrbandit.policies.lsvi_ucb import suggested_beta
from dtrbandit.reproduce.table1.claims import claims_about_dtr_bandit
from dtrbandit.reproduce.table1.entries import BOUND, LSVI_UCB, OBSERVED, OFFLINE, ONLINE, PAPER, named
from dtrbandit.reproduce.table1.patients import PENALTY, Patients
from dtrbandit.reproduce.table1.results import FEW, Results

NEAR = 0.05  # how far from the published values Logging and Offline may lie for a seed to be taken
BETWEEN_SEEDS = 0.7  # standard deviation of Offline, seeds 0 to 119

READING = (
    "What the claims are allowed was fixed before any run. A comparison that cannot be told, because its 95 % interval "
    "holds 0, is neither confirmed nor refuted here; a ✓ beside it says no more than that."
)


def notes(results: Results) -> Iterator[str]:
    """Give the paragraphs under the table."""
    patients = results.patients
    if patients.seed is not None:
        yield _simulated(patients.seed)
    yield _distance(results)
    yield _weights(patients)
    yield _offline(results)
    yield _lsvi_ucb(results)
    yield _acceptance(results)
    yield _flattery(results)
    if results.truth is not None:
        yield _truth(results)
    yield READING


def cohort_in_words(patients: Patients) -> str:
    """Say in a few words which patients these are."""
    return "from a file" if patients.seed is None else f"simulated, seed {patients.seed}"


def _simulated(seed: int) -> str:
    words = (
        f"The cohort is simulated (environments.STARD, seed {seed}): 1,260 patients with the published counts of "
        "remission, drop-out and stage 2; no row of the trial is in it. "
    )
    if seed != COHORT_SEED:
        return words + "This seed was asked for."
    return words + (
        f"Seed {seed} is the first from 0 on whose Logging and Offline both lie within {NEAR} of the published values: "
        "that these two rows agree is a choice, not a finding. Between seeds Offline has a standard deviation of "
        f"{BETWEEN_SEEDS}."
    )


def _distance(results: Results) -> str:
    gaps = {row.entry: row.every.value - PAPER[row.entry] for row in results.rows if row.entry in ONLINE.keys() & PAPER}
    low, high = min(gaps, key=lambda name: gaps[name]), max(gaps, key=lambda name: gaps[name])
    return (
        f"Ours less the paper's: between {gaps[low]:+.3f} ({low}) and {gaps[high]:+.3f} ({high}) for the online "
        f"algorithms. The paper's are means of {FEW} paths. Standard errors, and intervals, are about paths through "
        "this cohort; another cohort would differ by more."
    )


def _weights(patients: Patients) -> str:
    fitted, other = patients.cohort.propensities, patients.unpenalised
    assert fitted is not None
    without = (
        "Maximum likelihood has no maximum here."
        if other is None
        else f"By maximum likelihood Logging is {other.logging.value:.3f} and Offline {other.offline.value:.3f}."
    )
    return (
        "Rows are drawn by 1/p, p = p1 p0 p2 from logistic models of the first choice, of staying and of the second "
        f"choice, with an L2 penalty of {PENALTY:g} on coefficients in the columns' own units (scikit-learn's C = 1), "
        "intercepts free, nothing clipped; replay and both benchmarks use these. "
        f"{without} Of {int((~patients.cohort.dropped_out).sum()):,} patients with an outcome the effective sample "
        f"size is {fitted.effective_sample_size:,.0f}; the largest weight is {fitted.largest_weight:.1%}."
    )


def _offline(results: Results) -> str:
    offline, played = results.patients.benchmarks.offline, results.replays[OFFLINE]
    return (
        "Logging is Σ(Y/p0)/Σ(1/p0) over those who did not drop out. Offline is exact, the 1/p-weighted mean over the "
        f"{offline.units:,} patients who were treated as it says (effective sample size "
        f"{offline.effective_sample_size:,.0f}, largest weight {offline.largest_weight:.1%}); its replay, "
        f"{played.value:.3f} ± {played.std_error:.3f} over {results.paths} paths, converges to that."
    )


def _lsvi_ucb(results: Results) -> str:
    cohort = results.patients.cohort
    beta = suggested_beta(cohort.design, rounds=results.horizon)
    return (
        f"LSVI-UCB has β = {beta:.2f} (d = 4) and features divided by 2·(1, 26, 10, 1): scores by 26 and slopes by 10 "
        f"bound each feature, ‖φ‖ ≤ 1 needs √d = 2 as well (the largest ‖φ‖ here is {_largest_norm(cohort):.2f}). "
        f"{LSVI_UCB} gives one in remission the optimistic value of the stage not entered, as in the paper's table; "
        f"{OBSERVED!r} takes the outcome.{_without_features(cohort)}"
    )


def _largest_norm(cohort: Cohort) -> float:
    scaled = (features / np.array(bound) for features, bound in zip(cohort.features, BOUND, strict=True))
    return max(float(np.nanmax(np.linalg.norm(features, axis=1))) for features in scaled)


def _without_features(cohort: Cohort) -> str:
    left = cohort.left_early
    lacking = int(np.isnan(cohort.features[1][left]).any(axis=1).sum())
    if not lacking:
        return ""
    return (
        f" {lacking:,} of {int(left.sum()):,} patients in remission have no features of stage 2 (their preference2 is "
        "not known), so for them both take the outcome."
    )


def _acceptance(results: Results) -> str:
    played = [results.replays[name] for name in ONLINE]
    rates, left = [each.acceptance_rate for each in played], [float((each.arms[:, :, 1] < 0).mean()) for each in played]
    expected = played[0].expected_acceptance
    assert expected is not None
    return (
        f"Of the rows drawn {min(rates):.1%} to {max(rates):.1%} were accepted, where {expected:.1%} are to be "
        f"expected; {min(left):.0%} to {max(left):.0%} of the patients met left early, in remission. Where hardly "
        "anybody had the arms that an algorithm wants, those are too many, since they need to agree only once "
        "(docs/replay.md)."
    )


def _flattery(results: Results) -> str:
    met = results.replays[named(1, 50)].different_units
    return (
        f"Replay flatters a learner: in {results.horizon:,} rounds DTRB(1, 50) met {met:,.0f} different patients, "
        "again and again, and can learn them by heart. A fixed rule such as Offline is not affected."
    )


def _truth(results: Results) -> str:
    assert results.truth is not None
    offline = float(results.truth[OFFLINE].mean())
    best, often, grid = claims_about_dtr_bandit({name: results.truth[name] for name in ONLINE}, offline=offline)
    return (
        "True is what an algorithm earns in as many rounds with new patients of the same model, by the exact "
        f"Q-functions; the best regime has {STARD().optimal_value:.3f}. Optimism is replay less true: learning by "
        "heart, too many early leavers, the luck of this cohort, and a bias of the weights, since the paper's model of "
        "staying leaves out end1, on which dropping out depends here. The claims below that are about DTRBandit, "
        f"measured by true averages: it is {best.measured}. Against Offline: {often.measured}. {grid.measured}."
    )
