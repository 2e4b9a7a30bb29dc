"""Regret is that of its definition, and nil for the oracle."""

from __future__ import annotations

import numpy as np
import pytest

import dtrbandit as dtr
from dtrbandit.environments import PotentialOutcomes, Synthetic, checked
from dtrbandit.simulation.regret import Truth, feasible_for_each
from simulation import plain_regret
from simulation.worlds import FEW, NARROW, Branching, Slow, units_of


@pytest.mark.parametrize("design", [None, NARROW], ids=["own design", "narrow design"])
@pytest.mark.parametrize("arrivals", [None, Slow()], ids=["at once", "delayed"])
def test_regret_is_that_of_the_plain_loop(arrivals: Slow | None, design: dtr.Design | None) -> None:
    study = dtr.simulate(Branching(), FEW, horizon=150, paths=2, seed=3, arrivals=arrivals, design=design)

    assert study.stage_regret is not None
    for path in study.paths:
        units = units_of(study, Branching(), path)
        for name, arms in study.arms.items():
            found, realised = study.stage_regret[name][path], study.realised(name)[path]
            for unit, given in enumerate(arms[path].tolist()):
                assert found[unit].tolist() == plain_regret.stage_regret(units, unit, given)
                reward = study.rewards[name][path, unit]
                lost = 0.0 if np.isnan(reward) else plain_regret.oracle_outcome(units, unit) - reward
                assert realised[unit] == lost
                if not np.isnan(reward):
                    assert reward == plain_regret.outcome(units, unit, given)


def test_a_lost_unit_has_regret_for_the_arms_it_was_given_only() -> None:
    study = dtr.simulate(Branching(), FEW, horizon=200, paths=1, arrivals=Slow())

    assert study.stage_regret is not None
    lost, regret = np.isnan(study.rewards["uniform"]), study.stage_regret["uniform"]
    assert regret[lost][:, 0].sum() > 0
    assert (regret[study.arms["uniform"] < 0] == 0).all()


def test_uniform_choice_loses_the_closed_form_per_round() -> None:
    """The best value is 6833/3360 and x₂ has mean 1/2, so uniform arms earn 3/2; the band is five standard errors."""
    study = dtr.simulate(Synthetic(), {"uniform": dtr.UniformRandom()}, horizon=2000, paths=20, seed=5)

    frame = study.regret(at=[2000])

    for column in ("regret", "realised"):
        per_round = frame[column] / 2000
        assert abs(per_round.mean() - (6833 / 3360 - 1.5)) < 5 * per_round.std() / np.sqrt(20)


def test_the_oracle_has_no_regret() -> None:
    """The best arm is the second below 5/14, and the second again where 3x > 1 + x."""
    best = {
        "first": {"1": [17 / 12, 239 / 240], "2": [25 / 12, -209 / 240]},
        "second": {"1": [1.0, 1.0], "2": [0.0, 3.0]},
    }

    study = dtr.simulate(Synthetic(), {"oracle": dtr.FixedRegime(rule=best)}, horizon=1000, paths=2)

    last = study.regret(at=[1000])
    assert last["regret"].abs().max() < 1e-12
    assert (last["realised"] == 0).all()


TREE = dtr.Design(
    [dtr.Stage("first", ("a", "b"), "1"), dtr.Stage("second", ("a", "b"), "1")],
    plans=[("a", "a"), ("a", "b"), ("b", "b")],
)


def test_feasible_arms_are_those_of_some_plan() -> None:
    units = PotentialOutcomes(TREE, ({}, {}), np.zeros((3, 2, 2)), None)

    first, second = feasible_for_each(units)

    assert first.tolist() == [[[True, True]]]
    assert second.tolist() == [[[True, True], [False, True]]]


def test_a_contraindicated_arm_is_infeasible_and_so_is_one_that_leads_only_there() -> None:
    excluded = np.zeros((3, 2), dtype=np.bool_), np.array([[False, False], [False, True], [True, False]])
    units = PotentialOutcomes(TREE, ({}, {}), np.zeros((3, 2, 2)), None, excluded)

    first, second = feasible_for_each(units)

    assert first.tolist() == [[[True, True]], [[True, False]], [[True, True]]]
    assert second.tolist() == [
        [[True, True], [False, True]],
        [[True, False], [False, False]],
        [[False, True], [False, True]],
    ]


@pytest.mark.parametrize("unknown", [np.nan, -np.inf])
def test_whatever_q_a_unit_that_left_has_the_oracle_takes_a_feasible_arm(unknown: float) -> None:
    stages = [dtr.Stage("first", ("a", "b"), "1"), dtr.Stage("second", ("a", "b"), "1", enter_if="x > 0")]
    design = dtr.Design(stages, plans=[("a", "b"), ("b", "a"), ("b", "b")])
    outcome = np.array([[[np.nan, 1.0], [2.0, 2.0]]])
    q = np.array([[3.0, 0.0]]), np.array([[[np.nan, unknown], [0.0, 0.0]]])
    units = checked(PotentialOutcomes(design, ({}, {"x": np.array([[0.0, 0.0]])}), outcome, q))

    truth = Truth(units)

    assert truth.oracle.tolist() == [1.0]
    assert truth.regret(np.array([[1, -1]], dtype=np.int8)).tolist() == [[3.0, 0.0]]


def test_of_equal_arms_the_oracle_takes_the_lowest() -> None:
    design = dtr.Design([dtr.Stage("only", ("a", "b", "c"), "1")])
    q = np.array([[1.0, 2.0, 2.0], [3.0, 3.0, 1.0]])
    units = PotentialOutcomes(design, ({},), np.arange(6.0).reshape(2, 3), (q,))

    truth = Truth(units)

    assert truth.oracle.tolist() == [1.0, 3.0]
    assert truth.regret(np.array([[0], [2]], dtype=np.int8)).tolist() == [[1.0], [2.0]]
