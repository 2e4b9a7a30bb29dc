"""What one must know to read Table 1: whose numbers they are, how they were weighted, and how far to trust them.

The text stands in templates. What follows them finds the numbers and the names that they show.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from dtrbandit.datasets.stard import COHORT_SEED
from dtrbandit.environments.stard import STARD
from dtrbandit.evaluation import Cohort
from dtrbandit.intervals import TOO_FEW, level_of
from dtrbandit.policies.lsvi_ucb import suggested_beta
from dtrbandit.reproduce.claims import Claim
from dtrbandit.reproduce.table1.claims import by_path, by_truth, claims, claims_about_dtr_bandit
from dtrbandit.reproduce.table1.patients import Patients
from dtrbandit.reproduce.table1.results import FEW, Results
from dtrbandit.reproduce.table1.versions import OFFLINE, ONLINE, PAPER, PENALTY, named

NEAR = 0.05  # how far from the published values Logging and Offline may lie for a seed to be taken

SIMULATED = """
The cohort is simulated (environments.STARD, seed {seed}): 1,260 patients with the published counts of remission,
drop-out and stage 2; no row of the trial is in it. {choice}
"""
CHOSEN_SEED = """
Seed {seed} is the first from 0 on whose Logging and Offline both lie within {near} of the published values: that
these two rows agree is a choice, not a finding.
"""
OTHER_COHORTS = """
One cohort says little about levels. The columns of cohorts are the median, 5 % and 95 % over {count} cohorts, from
seed 0 on, {paths} paths each.{lost} Between them Offline has a standard deviation of {offline:.2f}, the online
algorithms of {least:.2f} to {most:.2f}. On this cohort alone, over its paths, the claims below would read: {measured}
"""
TRUTH = """
True is what an algorithm earns in as many rounds with new patients of the same model, by the exact Q-functions, over
{paths} paths ({worth}); the best regime has {best:.3f}. Optimism is the mean of replay over cohorts less true:
learning by heart, and too many early leavers. By true averages the claims below but the first would read: {measured}
"""
NOTES = """
{simulated}

Ours less the paper's: between {lowest} and {highest} for the online algorithms. The paper's are means of {few} paths.
Standard errors of this cohort are over paths through it: they do not say how much another cohort would differ.

{other_cohorts}

Text is the version of the paper's text on the same cohort, over {text_paths} paths{text_errors}: staying modelled
without end1, the second choice with start2, the threshold Δ at both stages, LSVI-UCB on outcomes in their own units,
and features divided by another √d = 2.

Rows are drawn by 1/p, p = p1 p0 p2 from logistic models of the first choice, of staying (with end1) and of the second
choice (without start2), with an L2 penalty of {penalty:g} on coefficients in the columns' own units (scikit-learn's C
= 1), intercepts free, nothing clipped; replay and both benchmarks use these. {maximum_likelihood} Of {stayed:,}
patients with an outcome the effective sample size is {fitted.effective_sample_size:,.0f}; the largest weight is
{fitted.largest_weight:.1%}.

Logging is Σ(Y/p0)/Σ(1/p0) over those who did not drop out. Offline is exact, the 1/p-weighted mean over the
{offline.units:,} patients who were treated as it says (effective sample size {offline.effective_sample_size:,.0f},
largest weight {offline.largest_weight:.1%}); its replay, {replayed.value:.3f} ± {replayed.std_error:.3f} over
{results.paths} paths, converges to that.

LSVI-UCB has β = {beta:.2f} (d = 4), features divided by (1, 26, 10, 1) and outcomes by {patients.version.scale:g}:
that β is for rewards between −1 and 0 at each stage. The largest ‖φ‖ is {norm:.2f}. LSVI-UCB gives one in remission
the optimistic value of the stage not entered, as in the paper's table; 'LSVI-UCB observed' takes the
outcome.{without_features}

Of the rows drawn {least_accepted:.1%} to {most_accepted:.1%} were accepted, where {replayed.expected_acceptance:.1%}
are to be expected; {least_left:.0%} to {most_left:.0%} of the patients met left early, in remission. Where hardly
anybody had the arms that an algorithm wants, those are too many, since they need to agree only once (docs/replay.md).

Replay flatters a learner: in {results.horizon:,} rounds DTRB(1, 50) met {met.different_units:,.0f} different
patients, again and again, and can learn them by heart. A fixed rule such as Offline is not affected.

{truth}

Claims are about replay, not about the truth. They are judged by intervals over {results.judged_over}, which hold
together with 95 % for each claim. One that cannot be told is neither shown nor refuted.
"""


def notes(results: Results) -> Iterator[str]:
    """Give the paragraphs under the table."""
    numbers = {**_of_patients(results.patients), **_of_replays(results)}
    optional = {"simulated": _simulated(results), "other_cohorts": _other_cohorts(results), "truth": _truth(results)}
    for paragraph in NOTES.split("\n\n"):
        if text := " ".join(paragraph.format(results=results, **numbers, **optional).split()):
            yield text


def describe_cohort(patients: Patients) -> str:
    """Say in a few words which patients these are."""
    return "from a file" if patients.seed is None else f"simulated, seed {patients.seed}"


def _of_patients(patients: Patients) -> dict[str, object]:
    cohort, other = patients.cohort, patients.unpenalised
    likelihood = "Maximum likelihood has no maximum here."
    if other is not None:
        likelihood = (
            f"By maximum likelihood Logging is {other.logging.value:.3f} and Offline {other.offline.value:.3f}."
        )
    features = zip(cohort.features, patients.version.bound, strict=True)
    return {
        "patients": patients,
        "penalty": PENALTY,
        "fitted": cohort.propensities,
        "stayed": int((~cohort.dropped_out).sum()),
        "offline": patients.benchmarks.offline,
        "maximum_likelihood": likelihood,
        "norm": max(float(np.nanmax(np.linalg.norm(own / np.array(bound), axis=1))) for own, bound in features),
        "without_features": _without_features(cohort),
    }


def _of_replays(results: Results) -> dict[str, object]:
    gaps = {row.entry: row.every.value - PAPER[row.entry] for row in results.rows if row.entry in PAPER}
    ordered = sorted((name for name in ONLINE if name in PAPER), key=lambda name: gaps[name])
    lowest, highest = (f"{gaps[name]:+.3f} ({name})" for name in (ordered[0], ordered[-1]))
    online = [results.replays[name] for name in ONLINE]
    accepted = [each.acceptance_rate for each in online]
    left = [float((each.arms[:, :, 1] < 0).mean()) for each in online]
    errors = [row.text.std_error for row in results.rows if row.text.std_error is not None]
    known = f" (standard errors {min(errors):.2f} to {max(errors):.2f})" if errors else ", too few for an interval"
    return {
        "lowest": lowest,
        "highest": highest,
        "few": FEW,
        "text_paths": len(results.text[OFFLINE].rows),
        "text_errors": known,
        "replayed": results.replays[OFFLINE],
        "beta": suggested_beta(results.patients.cohort.design, rounds=results.horizon),
        "least_accepted": min(accepted),
        "most_accepted": max(accepted),
        "least_left": min(left),
        "most_left": max(left),
        "met": results.replays[named(1, 50)],
    }


def _without_features(cohort: Cohort) -> str:
    left = cohort.left_early
    lacking = int(np.isnan(cohort.features[1][left]).any(axis=1).sum())
    if not lacking:
        return ""
    return (
        f" {lacking:,} of {int(left.sum()):,} patients in remission have no features of stage 2 (their preference2 is "
        "not known), so for them both take the outcome."
    )


def _simulated(results: Results) -> str:
    seed = results.patients.seed
    if seed is None:
        return ""
    choice = CHOSEN_SEED.format(seed=seed, near=NEAR) if seed == COHORT_SEED else "This seed was asked for."
    return SIMULATED.format(seed=seed, choice=choice)


def _other_cohorts(results: Results) -> str:
    cohorts = results.cohorts
    if cohorts is None:
        return ""
    deviations = [cohorts.of(name).deviation for name in ONLINE]
    return OTHER_COHORTS.format(
        count=len(cohorts),
        paths=cohorts.paths,
        lost=f" {cohorts.left_out} more could not be played." if cohorts.left_out else "",
        offline=cohorts.of(OFFLINE).deviation,
        least=min(deviations),
        most=max(deviations),
        measured=_measured(claims(results.averages, by_path)),
    )


def _truth(results: Results) -> str:
    if results.truth is None:
        return ""
    paths = len(results.truth[OFFLINE])
    level = level_of(paths)
    return TRUTH.format(
        paths=paths,
        worth=level if level == TOO_FEW else f"with intervals of {level}",
        best=STARD().optimal_value,
        measured=_measured(claims_about_dtr_bandit(results.truth, by_truth), first=2),
    )


def _measured(found: tuple[Claim, ...], first: int = 1) -> str:
    """Return what was measured, claim by claim, with their numbers."""
    return ". ".join(f"({number}) {claim.measured}" for number, claim in enumerate(found, first)) + "."
