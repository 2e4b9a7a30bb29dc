"""What one must know to read Table 1: whose numbers they are, how they were weighted, and how far to trust them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from dtrbandit.datasets.stard import COHORT_SEED
from dtrbandit.environments.stard import STARD
from dtrbandit.evaluation import Cohort, Replay
from dtrbandit.intervals import TOO_FEW, level_of
from dtrbandit.policies.lsvi_ucb import suggested_beta
from dtrbandit.reproduce.claims import Claim
from dtrbandit.reproduce.table1.claims import by_path, by_truth, claims, claims_about_dtr_bandit
from dtrbandit.reproduce.table1.patients import OverCohorts, Patients
from dtrbandit.reproduce.table1.results import FEW, Results
from dtrbandit.reproduce.table1.versions import LSVI_UCB, OBSERVED, OFFLINE, ONLINE, PAPER, PENALTY, named

NEAR = 0.05  # how far from the published values Logging and Offline may lie for a seed to be taken


def notes(results: Results) -> Iterator[str]:
    """Give the paragraphs under the table."""
    patients = results.patients
    if patients.seed is not None:
        yield _simulated(patients.seed)
    yield _distance(results)
    if results.cohorts is not None:
        yield _between_cohorts(results, results.cohorts)
    yield _text(results)
    yield _weights(patients)
    yield _offline(results)
    yield _lsvi_ucb(results)
    yield _acceptance(results)
    yield _flattery(results)
    if results.truth is not None:
        yield _truth(results)
    yield _reading(results)


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
        "that these two rows agree is a choice, not a finding."
    )


def _distance(results: Results) -> str:
    gaps = {row.entry: row.every.value - PAPER[row.entry] for row in results.rows if row.entry in PAPER}
    online = [name for name in ONLINE if name in PAPER]
    low, high = min(online, key=lambda name: gaps[name]), max(online, key=lambda name: gaps[name])
    return (
        f"Ours less the paper's: between {gaps[low]:+.3f} ({low}) and {gaps[high]:+.3f} ({high}) for the online "
        f"algorithms. The paper's are means of {FEW} paths. Standard errors of this cohort are over paths through it: "
        "they do not say how much another cohort would differ."
    )


def _between_cohorts(results: Results, cohorts: OverCohorts) -> str:
    online = [cohorts.of(name).deviation for name in ONLINE]
    lost = f" {cohorts.left_out} more could not be played." if cohorts.left_out else ""
    return (
        f"One cohort says little about levels. The columns of cohorts are the median, 5 % and 95 % over {len(cohorts)} "
        f"cohorts, from seed 0 on, {cohorts.paths} paths each.{lost} Between them Offline has a standard deviation of "
        f"{cohorts.of(OFFLINE).deviation:.2f}, the online algorithms of {min(online):.2f} to {max(online):.2f}. On "
        f"this cohort alone, over its paths, the claims below would read: "
        f"{_measured(claims(results.averages, by_path))}"
    )


def _measured(found: tuple[Claim, ...], first: int = 1) -> str:
    """Return what was measured, claim by claim, with their numbers."""
    return ". ".join(f"({place}) {claim.measured}" for place, claim in enumerate(found, first)) + "."


def _text(results: Results) -> str:
    paths = len(results.text[OFFLINE].rows)
    return (
        f"Text is the version of the paper's text on the same cohort, over {paths} paths{_errors(results)}: staying "
        "modelled without end1, the second choice with start2, the threshold Δ at both stages, LSVI-UCB on outcomes in "
        "their own units, and features divided by another √d = 2."
    )


def _errors(results: Results) -> str:
    """Say how large the standard errors of the text's version are."""
    found = [row.text.std_error for row in results.rows if row.text.std_error is not None]
    return f" (standard errors {min(found):.2f} to {max(found):.2f})" if found else ", too few for an interval"


def _expected(replays: Mapping[str, Replay]) -> float:
    expected = replays[OFFLINE].expected_acceptance
    assert expected is not None
    return expected


def _weights(patients: Patients) -> str:
    fitted, other = patients.cohort.propensities, patients.unpenalised
    assert fitted is not None
    without = (
        "Maximum likelihood has no maximum here."
        if other is None
        else f"By maximum likelihood Logging is {other.logging.value:.3f} and Offline {other.offline.value:.3f}."
    )
    return (
        "Rows are drawn by 1/p, p = p1 p0 p2 from logistic models of the first choice, of staying (with end1) and of "
        f"the second choice (without start2), with an L2 penalty of {PENALTY:g} on coefficients in the columns' own "
        "units (scikit-learn's C = 1), intercepts free, nothing clipped; replay and both benchmarks use these. "
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
    cohort, version = results.patients.cohort, results.patients.version
    beta = suggested_beta(cohort.design, rounds=results.horizon)
    return (
        f"LSVI-UCB has β = {beta:.2f} (d = 4), features divided by (1, 26, 10, 1) and outcomes by {version.scale:g}: "
        f"that β is for rewards between −1 and 0 at each stage. The largest ‖φ‖ is {_largest_norm(results):.2f}. "
        f"{LSVI_UCB} gives one in remission the optimistic value of the stage not entered, as in the paper's table; "
        f"{OBSERVED!r} takes the outcome.{_without_features(cohort)}"
    )


def _largest_norm(results: Results) -> float:
    bounds = results.patients.version.bound
    features = zip(results.patients.cohort.features, bounds, strict=True)
    return max(float(np.nanmax(np.linalg.norm(own / np.array(bound), axis=1))) for own, bound in features)


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
    return (
        f"Of the rows drawn {min(rates):.1%} to {max(rates):.1%} were accepted, where {_expected(results.replays):.1%} "
        f"are to be expected; {min(left):.0%} to {max(left):.0%} of the patients met left early, in remission. Where "
        "hardly anybody had the arms that an algorithm wants, those are too many, since they need to agree only once "
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
    paths = len(results.truth[OFFLINE])
    return (
        "True is what an algorithm earns in as many rounds with new patients of the same model, by the exact "
        f"Q-functions, over {paths} paths ({_worth(paths)}); the best regime has {STARD().optimal_value:.3f}. Optimism "
        "is the mean of replay over cohorts less true: learning by heart, and too many early leavers. By true averages "
        "the claims below but the first would read: "
        f"{_measured(claims_about_dtr_bandit(results.truth, by_truth), first=2)}"
    )


def _worth(paths: int) -> str:
    found = level_of(paths)
    return found if found == TOO_FEW else f"with intervals of {found}"


def _reading(results: Results) -> str:
    return (
        f"Claims are about replay, not about the truth. They are judged by intervals over {results.judged_over}, which "
        "hold together with 95 % for each claim. One that cannot be told is neither shown nor refuted."
    )
