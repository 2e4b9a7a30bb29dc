"""The claims about Table 1: they hold of the paper's own numbers, and every one can fail."""

from __future__ import annotations

import numpy as np
import pytest

from dtrbandit.kernels.arrays import Array
from dtrbandit.reproduce.claims import Verdict
from dtrbandit.reproduce.table1.claims import by_cohort, by_path, by_truth, claims
from dtrbandit.reproduce.table1.versions import ENTRIES, PAPER


def as_in_the_paper(**changed: float) -> dict[str, Array]:
    """Return ten averages for each entry around the paper's value, or around another."""
    spread = 0.01 * np.linspace(-1, 1, 10)
    values = {"LSVI-UCB observed": -8.0, **PAPER, **changed}
    return {name: value + np.roll(spread, 3 * place) for place, (name, value) in enumerate(values.items())}


def verdicts_on(averages: dict[str, Array]) -> list[Verdict]:
    """Return the verdict on each claim."""
    return [claim.verdict for claim in claims(averages, by_cohort)]


def test_the_claims_are_shown_of_the_papers_own_numbers() -> None:
    assert verdicts_on(as_in_the_paper()) == [Verdict.HOLDS] * 5


@pytest.mark.parametrize(
    ("changed", "place", "verdict"),
    [
        ({"LSVI-UCB": -8.46}, 0, Verdict.REFUTED),
        ({"0.2-Greedy": -8.435}, 0, Verdict.OPEN),  # above, but not beyond noise
        ({"Greedy": -7.5}, 1, Verdict.REFUTED),
        ({"Greedy": -7.605}, 1, Verdict.OPEN),
        ({"LSVI-UCB observed": -7.55}, 1, Verdict.REFUTED),
        (dict.fromkeys(["DTRB(1, 10)", "DTRB(1, 20)", "DTRB(1, 50)", "DTRB(2, 10)"], -7.8), 2, Verdict.REFUTED),
        (dict.fromkeys(["DTRB(1, 20)", "DTRB(1, 50)", "DTRB(2, 50)"], -7.8), 2, Verdict.OPEN),
        ({"DTRB(1, 10)": -7.75, "DTRB(1, 20)": -7.7, "DTRB(1, 50)": -7.6}, 3, Verdict.REFUTED),  # a smaller q is worse
        ({"DTRB(1, 10)": -7.5, "DTRB(2, 10)": -7.52}, 3, Verdict.REFUTED),  # a larger Δ is worse
        ({"DTRB(2, 10)": -8.2}, 4, Verdict.REFUTED),  # one setting of six does badly
        ({"DTRB(2, 10)": -7.89}, 4, Verdict.OPEN),
    ],
)
def test_each_claim_can_be_refuted_and_be_open(changed: dict[str, float], place: int, verdict: Verdict) -> None:
    assert verdicts_on(as_in_the_paper(**changed))[place] == verdict


@pytest.mark.full
def test_an_impostor_that_is_no_better_is_not_shown_to_be() -> None:
    """All algorithms alike, differing by noise between cohorts: each claim is shown in 5 % of 200 runs or fewer."""
    rng, shown = np.random.default_rng(0), np.zeros(5)

    for _ in range(200):
        common = rng.normal(0, 0.5, size=30)
        averages = {name: common + rng.normal(0, 0.2, size=30) for name in ENTRIES}
        shown += [verdict is Verdict.HOLDS for verdict in verdicts_on(averages)]

    assert (shown <= 10).all()


def test_differences_are_paired_so_that_what_cohorts_share_does_not_blur_them() -> None:
    common = np.random.default_rng(1).normal(0, 2.0, size=10)

    averages = {name: values + common for name, values in as_in_the_paper().items()}

    assert verdicts_on(averages)[:3] == [Verdict.HOLDS] * 3


def test_a_claim_says_in_words_what_was_measured() -> None:
    _, best, often, grid, _ = claims(
        as_in_the_paper(**{"Greedy": -7.5, "DTRB(1, 10)": -7.5, "DTRB(2, 10)": -7.52, "Offline": -7.0}), by_cohort
    )

    assert "behind Greedy -0.0" in best.measured
    assert best.measured.startswith("ahead of LSVI-UCB +0.5")
    assert often.measured.startswith("by their intervals 0 of 6 settings are above it and 6 below; from -0.6")
    assert "Δ = 10 to 50: -0.0" in grid.measured
    assert grid.measured.endswith("worse")


def test_a_claim_says_what_it_is_about_and_few_paths_tell_nothing() -> None:
    """Ten cohorts have an interval. Ten paths through one cohort are too few, and so are 100 simulated ones."""
    averages = as_in_the_paper()
    many = {name: np.tile(values, 10) for name, values in averages.items()}

    told = {measure: claims(averages, measure) for measure in (by_cohort, by_path)}

    assert told[by_cohort][0].claim.endswith(", in replay over cohorts")
    assert told[by_path][0].claim.endswith(", in replay on this cohort")
    assert [claim.verdict for claim in told[by_path]] == [Verdict.OPEN] * 5
    assert "(no interval)" in told[by_path][1].measured
    assert [claim.verdict for claim in claims(many, by_path)] == [Verdict.HOLDS] * 5
    assert [claim.verdict for claim in claims(many, by_truth)] == [Verdict.OPEN] * 5


def test_intervals_of_one_claim_hold_together() -> None:
    """All algorithms alike: with 95 % for each of eleven differences one would lie off 0 in a quarter of the runs."""
    rng, off = np.random.default_rng(2), 0

    for _ in range(400):
        averages = {name: rng.normal(size=30) for name in ENTRIES}
        off += verdicts_on(averages)[0] is Verdict.REFUTED

    assert off <= 20  # 2.5 % expected
