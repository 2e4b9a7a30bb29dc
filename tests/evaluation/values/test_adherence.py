"""Who followed a regime, and who could leave its path, and where."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import dtrbandit as dtr
from dtrbandit.evaluation import Cohort
from dtrbandit.evaluation.values.adherence import (
    agrees,
    decisions,
    decisions_by,
    inverse_weights,
    known_propensities,
    regime_risk_sets,
)
from dtrbandit.record.histories import History
from evaluation.simulated_cohorts import fewer_and_fewer_arms, stard_like
from evaluation.values.known_truth import REGIMES, RIGHT, trial
from evaluation.values.tiny import ALWAYS_A, TWELVE


def test_a_unit_passes_choices_and_the_ways_to_be_lost_in_order_of_time() -> None:
    cohort = trial(600, np.random.default_rng(3)).with_propensities(RIGHT)

    risk_sets = regime_risk_sets(cohort, decisions(cohort, REGIMES["a, then b"]))

    assert [(each.risk_set.kind, each.risk_set.stage) for each in risk_sets] == [
        ("choice", "first"),
        ("staying", "outcome without second"),
        ("staying", "second"),
        ("choice", "second"),
        ("staying", "outcome"),
    ]
    assert np.array_equal(risk_sets[0].taken, cohort.arms[:, 0] == 0)
    assert np.array_equal(risk_sets[3].taken, cohort.arms[risk_sets[3].risk_set.rows, 1] == 1)
    assert risk_sets[2].wanted.tolist() == [1] * len(risk_sets[2].risk_set.rows)  # to stay


@pytest.mark.parametrize("name", REGIMES)
def test_the_weight_of_those_who_followed_is_one_over_their_propensity(name: str) -> None:
    cohort = trial(600, np.random.default_rng(3)).with_propensities(RIGHT)
    cohort = replace(cohort, weights=np.linspace(1, 2, 600))

    weights = inverse_weights(cohort, regime_risk_sets(cohort, decisions(cohort, REGIMES[name])))

    followed = agrees(cohort, REGIMES[name]) & ~cohort.dropped_out
    expected = np.where(followed, cohort.weights / known_propensities(cohort).probability, 0.0)
    assert weights == pytest.approx(expected)


def test_a_cohort_without_propensities_is_told_how_to_get_them() -> None:
    bare = replace(TWELVE, propensities=None)

    with pytest.raises(dtr.DesignError, match=r"use cohort.with_propensities\(PropensityModel\(\)\)"):
        regime_risk_sets(bare, decisions(bare, ALWAYS_A))


# -- What a regime gives to the units of a cohort


def plainly_agree(cohort: Cohort, regime: dtr.FixedRegime) -> list[bool]:
    """Ask the regime for each unit, one decision after the other."""
    tree, state, found = cohort.design.tree, regime.init(cohort.design), []
    for i, arms in enumerate(cohort.arms.tolist()):
        given = tuple(arm for arm in arms if arm >= 0)
        wanted = []
        for m in range(len(given)):
            features, feasible = tuple(stage[i] for stage in cohort.features[: m + 1]), tuple(cohort.feasible[m][i])
            history = History(cohort.units[i], i + 1, tree.after(given[:m]), features, given[:m], feasible, None)
            wanted.append(regime.decide(state, history, 0.0).arm)
        found.append(tuple(wanted) == given)
    return found


@pytest.mark.parametrize("name", REGIMES)
def test_those_who_had_the_regimes_arms_are_those_who_agree(name: str) -> None:
    cohort = trial(300, np.random.default_rng(1))

    decided = decisions(cohort, REGIMES[name])

    assert agrees(cohort, REGIMES[name]).tolist() == plainly_agree(cohort, REGIMES[name])
    assert np.array_equal(decided[:, 1] >= 0, cohort.entered[:, 1])


def test_a_function_decides_as_the_same_rule_in_numbers() -> None:
    cohort = trial(200, np.random.default_rng(2))

    def by_s(history: History) -> str:
        return "b" if not history.arms else ("a" if history.features[1][4] > 0 else "b")

    assert np.array_equal(decisions(cohort, dtr.FixedRegime(rule=by_s)), decisions(cohort, REGIMES["b, then by s"]))


def test_a_settled_arm_gives_way_where_it_is_not_feasible() -> None:
    cohort = fewer_and_fewer_arms()

    decided = decisions(cohort, dtr.FixedRegime(rule={"one": "a", "two": "a"}))

    assert decided[:, 0].tolist() == [0] * 600
    assert decided[:, 1].tolist() == cohort.arms[:, 0].tolist()  # the first that is feasible after each


def test_q_learning_decides_what_it_recommends() -> None:
    cohort = stard_like(400, seed=2)
    fit = dtr.QLearning(cohort.design).fit(cohort)

    decided = decisions_by(cohort, fit.coefficients_)

    for m, stage in enumerate(cohort.design.stages):
        labels = [None if arm < 0 else stage.arms[arm] for arm in decided[:, m].tolist()]
        assert labels == fit.recommend_all(cohort)[stage.name].tolist()


def test_a_rule_for_other_stages_is_refused() -> None:
    with pytest.raises(dtr.DesignError, match=r"an entry for each of \['first', 'second'\]"):
        decisions(trial(20, np.random.default_rng(0)), dtr.FixedRegime(rule={"only": "a"}))
