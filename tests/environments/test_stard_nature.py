"""Patients of the simulated STAR*D: slopes, outcomes, and what the trial did with them."""

from __future__ import annotations

import numpy as np

from dtrbandit.environments import stard_law as law
from dtrbandit.environments.stard_nature import draw_nature, treat
from environments.stard_rules import assert_mean

N = 50_000


def test_scores_are_whole_numbers_on_their_scales() -> None:
    nature = draw_nature(N, np.random.default_rng(1))

    for scores, (low, high) in (
        (nature.baseline, law.BASELINE),
        (nature.start1, law.START),
        (nature.end1, (0, law.LAST)),
        (nature.start2, (0, law.LAST)),
        (nature.end2, (0, law.LAST)),
    ):
        assert (scores == np.rint(scores)).all()
        assert low <= scores.min() < scores.max() <= high


def test_slopes_are_changes_over_the_weeks_they_took() -> None:
    nature = draw_nature(300, np.random.default_rng(2))

    weeks1, weeks2 = law.WEEKS[nature.weeks1], law.WEEKS[nature.weeks2]
    assert np.allclose(nature.slope1 * weeks1, nature.start1 - nature.baseline)
    assert np.allclose(nature.slope2 * weeks2, nature.end1 - nature.start1)


def test_weeks_come_as_often_as_the_law_says() -> None:
    nature = draw_nature(N, np.random.default_rng(3))

    for weeks, chances in ((nature.weeks1, law.WEEKS_BEFORE), (nature.weeks2[0], law.WEEKS_FIRST)):
        for place, chance in enumerate(chances):
            assert_mean(1.0 * (weeks == place), float(chance))


def test_the_outcome_is_minus_the_mean_of_both_ends_or_of_the_first_in_remission() -> None:
    nature = draw_nature(400, np.random.default_rng(4))

    outcome = nature.outcome(nature.end2)

    for patient in range(400):
        for a1, a2 in ((0, 0), (0, 1), (1, 1)):
            end1, end2 = nature.end1[a1, patient], nature.end2[a1, a2, patient]
            assert outcome[a1, a2, patient] == (-end1 if end1 <= 5 else -(end1 + end2) / 2)
    assert np.isnan(outcome[1, 0]).all()


def test_nobody_in_remission_is_lost_and_none_has_an_ssri_after_another_drug() -> None:
    nature = draw_nature(N, np.random.default_rng(5))

    treated = treat(nature, np.random.default_rng(6))

    end1 = nature.end1[treated.arm1, np.arange(N)]
    assert treated.remitted.tolist() == (end1 <= law.REMISSION).tolist()
    assert not (treated.remitted & treated.lost).any()
    assert (treated.arm2[treated.arm1 == 1] == 1).all()
    assert_mean(1.0 * (treated.arm1 == 0)[nature.preference1 > 0], 0.948)
