"""Forks: who could leave the path of a regime, and where."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import dtrbandit as dtr
from dtrbandit.evaluation.values.decisions import decisions
from dtrbandit.evaluation.values.forks import forks, inverse_weights, known_propensities
from dtrbandit.evaluation.values.weighting import agrees
from evaluation.values.known_truth import REGIMES, RIGHT, trial
from evaluation.values.tiny import ALWAYS_A, TWELVE


def test_a_unit_passes_choices_and_the_ways_to_be_lost_in_order_of_time() -> None:
    cohort = trial(600, np.random.default_rng(3)).with_propensities(RIGHT)

    passed = forks(cohort, decisions(cohort, REGIMES["a, then b"]))

    assert [(fork.risk_set.kind, fork.risk_set.stage) for fork in passed] == [
        ("choice", "first"),
        ("staying", "outcome without second"),
        ("staying", "second"),
        ("choice", "second"),
        ("staying", "outcome"),
    ]
    assert np.array_equal(passed[0].taken, cohort.arms[:, 0] == 0)
    assert np.array_equal(passed[3].taken, cohort.arms[passed[3].risk_set.rows, 1] == 1)
    assert passed[2].wanted.tolist() == [1] * len(passed[2].risk_set.rows)  # to stay


@pytest.mark.parametrize("name", REGIMES)
def test_the_weight_of_those_who_followed_is_one_over_their_propensity(name: str) -> None:
    cohort = trial(600, np.random.default_rng(3)).with_propensities(RIGHT)
    cohort = replace(cohort, weights=np.linspace(1, 2, 600))

    weights = inverse_weights(cohort, forks(cohort, decisions(cohort, REGIMES[name])))

    followed = agrees(cohort, REGIMES[name]) & ~cohort.dropped_out
    expected = np.where(followed, cohort.weights / known_propensities(cohort).probability, 0.0)
    assert weights == pytest.approx(expected)


def test_a_cohort_without_propensities_is_told_how_to_get_them() -> None:
    bare = replace(TWELVE, propensities=None)

    with pytest.raises(dtr.DesignError, match=r"use cohort.with_propensities\(PropensityModel\(\)\)"):
        forks(bare, decisions(bare, ALWAYS_A))
