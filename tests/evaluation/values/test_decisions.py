"""What a regime gives to the units of a cohort."""

from __future__ import annotations

import numpy as np
import pytest

import dtrbandit as dtr
from dtrbandit.evaluation.values.decisions import decisions, decisions_by
from dtrbandit.evaluation.values.weighting import agrees
from dtrbandit.record.histories import History
from evaluation.simulated_cohorts import fewer_and_fewer_arms, stard_like
from evaluation.values.known_truth import REGIMES, trial


@pytest.mark.parametrize("name", REGIMES)
def test_those_who_had_the_regimes_arms_are_those_who_agree(name: str) -> None:
    cohort = trial(300, np.random.default_rng(1))

    decided = decisions(cohort, REGIMES[name])

    same = ((cohort.arms < 0) | (decided == cohort.arms)).all(axis=1)
    assert np.array_equal(same, agrees(cohort, REGIMES[name]))
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
