"""A path: the same units for all policies, and units that are not what was asked for."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dtrbandit as dtr
from dtrbandit.courses import play, potential_courses
from dtrbandit.environments import PotentialOutcomes, Synthetic, Tabulated
from dtrbandit.simulation.inputs import SAMPLE, Inputs
from dtrbandit.simulation.one_path import play_path
from simulation.worlds import DESIGN, FEW, GOOD, NARROW, Branching, Own, Slow, policies, units_of


def test_only_lost_units_have_no_reward_and_some_units_leave_early() -> None:
    at_once = dtr.simulate(Branching(), FEW, horizon=200, paths=1)
    delayed = dtr.simulate(Branching(), FEW, horizon=200, paths=1, arrivals=Slow(lost=0.15))

    entered = (at_once.arms["uniform"][0] >= 0).sum(axis=0)
    lost = int(np.isnan(delayed.rewards["uniform"]).sum())
    assert 200 == entered[0] > entered[1] > entered[2] > 50
    assert not np.isnan(at_once.rewards["uniform"]).any()
    assert 10 < lost < 50  # 30 expected, four standard deviations of 5


def test_policies_that_agree_earn_the_same_since_they_meet_the_same_units() -> None:
    study = dtr.simulate(Synthetic(), FEW, horizon=300, paths=2)

    agree = (study.arms["DTRB"] == study.arms["uniform"]).all(axis=2)
    assert 50 < agree.sum() < 600
    assert np.array_equal(study.rewards["DTRB"][agree], study.rewards["uniform"][agree])


def test_a_changed_built_in_policy_is_not_mistaken_for_the_compiled_one() -> None:
    class Contrary(dtr.Greedy):
        def decide(self, state: Any, history: Any, u: float) -> Any:
            choice = super().decide(state, history, u)
            other = 1 - choice.arm
            return choice._replace(arm=other, propensities=tuple(float(arm == other) for arm in range(2)))

    study = dtr.simulate(Synthetic(), {"Greedy": dtr.Greedy(), "Contrary": Contrary()}, horizon=40, paths=1)

    assert (study.arms["Greedy"][0, 0] + study.arms["Contrary"][0, 0]).tolist() == [1, 1]


def test_a_learner_with_its_own_design_learns_from_its_own_features() -> None:
    constant = dtr.Design([dtr.Stage("first", ("1", "2"), "1"), dtr.Stage("second", ("1", "2"), "1 + x1")])
    study = dtr.simulate(Synthetic(), FEW, horizon=200, paths=1, seed=8, design=constant)
    inputs = Inputs(Synthetic(), FEW, horizon=200, paths=1, seed=8, design=constant)

    courses = potential_courses(units_of(study, Synthetic(), 0), design=constant)
    expected = play(FEW["DTRB"], courses, constant, seed=inputs.policy_seed(0)).arms

    assert np.array_equal(study.arms["DTRB"][0], expected)
    assert not np.array_equal(expected, play_path(inputs, 1).performances["DTRB"].arms)


@pytest.mark.parametrize("spoilt", ["outcome", "context"])
def test_an_environment_that_draws_nan_where_it_matters_is_refused(spoilt: str) -> None:
    class Spoilt:
        design = Synthetic().design

        def draw(self, n: int, rng: np.random.Generator) -> PotentialOutcomes:
            units = Synthetic().draw(n, rng)
            (units.outcome if spoilt == "outcome" else units.contexts[1]["x2"])[0] = np.nan
            return units

    with pytest.raises(dtr.DesignError, match=r"unit 0 after arms .* must be finite, found nan"):
        dtr.simulate(Spoilt(), **GOOD)


class Leavers:
    """A quarter of the units leave after arm 1; what they would have had along arms never reached is theirs to say."""

    design = dtr.Design(
        [dtr.Stage("first", ("1", "2"), "1 + x1"), dtr.Stage("second", ("1", "2"), "1 + x2", enter_if="x2 > 0.25")]
    )

    def __init__(self, *, honest: bool) -> None:
        self.honest = honest

    def draw(self, n: int, rng: np.random.Generator) -> PotentialOutcomes:
        x1, x2, outcome = rng.random(n), rng.random((n, 2)), rng.normal(size=(n, 2, 2))
        x2[:SAMPLE] = 1.0  # these stay, so that the units by which an environment is recognised do not tell
        if self.honest:
            outcome = np.where((x2 <= 0.25)[:, :, None], outcome[:, :, :1], outcome)
        return PotentialOutcomes(self.design, ({"x1": x1}, {"x2": x2}), outcome, None)


def test_all_units_are_checked_and_not_the_first_alone() -> None:
    assert dtr.simulate(Leavers(honest=True), **GOOD).paths == (0,)

    with pytest.raises(
        dtr.StudyError, match=r"outcome of unit \d+ after arms \(0,\) must be the same .* found \[.*others"
    ):
        dtr.simulate(Leavers(honest=False), **GOOD)


@pytest.mark.parametrize(
    ("spoil", "named"),
    [
        (lambda _: None, r"draw\(n, rng\) must return PotentialOutcomes\(design, contexts, outcome, q\), found None"),
        (lambda units: tuple(units), "must return PotentialOutcomes"),
        (lambda units: units._replace(design="mine"), "design must be a Design, found 'mine'"),
        (lambda units: units._replace(contexts=units.contexts[0]), "contexts must be a mapping for each stage"),
        (lambda units: units._replace(outcome=[1.0]), r"outcome must be a numpy array, found \[1.0\]"),
        (lambda units: units._replace(q=units.q[0]), "q must be an array for each stage, or None"),
        (
            lambda units: units._replace(outcome=units.outcome.astype(int)),
            r"outcome holds int64, .* use astype\(float\)",
        ),
    ],
    ids=["nothing", "tuple", "design", "contexts", "list", "q", "whole numbers"],
)
def test_an_environment_that_returns_something_else_is_told_what_was_found_and_expected(spoil: Any, named: str) -> None:
    class Strange:
        design = Synthetic().design

        def draw(self, n: int, rng: np.random.Generator) -> Any:
            return spoil(Synthetic().draw(n, rng))

    with pytest.raises(dtr.DesignError, match=named):
        dtr.simulate(Strange(), **GOOD)


@pytest.mark.parametrize(
    ("spoil", "named"),
    [
        (lambda units: units._replace(outcome=units.outcome[:-1]), "shape"),
        (
            lambda units: Synthetic().draw(max(SAMPLE, len(units.outcome) - 5), np.random.default_rng(0)),
            "asked for 30 units",
        ),
        (lambda units: Synthetic().draw(2 * len(units.outcome), np.random.default_rng(0)), "asked for"),
        (lambda units: units._replace(q=(units.q[0], units.q[1][:, 0])), r"q\[1\] has shape"),
        (lambda units: units._replace(contexts=(units.contexts[0], {})), "columns are"),
        (lambda units: units._replace(design=dtr.Design(units.design.stages, plans=[("1", "1"), ("2", "2")])), "plans"),
    ],
    ids=["outcomes", "too few", "too many", "q", "columns", "plans"],
)
def test_units_that_are_not_what_was_asked_for_are_refused_rather_than_read_beyond(spoil: Any, named: str) -> None:
    class Spoilt:
        design = Synthetic().design

        def draw(self, n: int, rng: np.random.Generator) -> PotentialOutcomes:
            units: PotentialOutcomes = spoil(Synthetic().draw(n, rng))
            return units

    with pytest.raises(dtr.DTRError, match=named):
        dtr.simulate(Spoilt(), **GOOD)


def test_a_table_needs_no_more_units_than_the_horizon() -> None:
    table = Tabulated(Synthetic().draw(5, np.random.default_rng(0)))

    study = dtr.simulate(table, FEW, horizon=5, paths=2)

    assert sorted(study.oracle[0]) == sorted(study.oracle[1])  # type: ignore[index]  # Q is known


# -- policies of the caller's own, through a Session ----------------------------------------


@pytest.mark.parametrize("arrivals", [None, Slow()], ids=["at once", "delayed"])
@pytest.mark.parametrize("design", [None, NARROW], ids=["own design", "narrow design"])
def test_a_policy_of_ones_own_gives_what_the_compiled_one_gives(
    design: dtr.Design | None, arrivals: Slow | None
) -> None:
    built_in = policies(design or DESIGN)
    own = {f"own {name}": Own(policy) for name, policy in built_in.items()}

    study = dtr.simulate(
        Branching(), {**built_in, **own}, horizon=130, paths=2, seed=4, arrivals=arrivals, design=design
    )

    for name in built_in:
        assert np.array_equal(study.arms[name], study.arms[f"own {name}"]), name
        assert np.array_equal(study.rewards[name], study.rewards[f"own {name}"], equal_nan=True), name


def test_a_fixed_regime_that_is_a_function_plays_too() -> None:
    always = dtr.FixedRegime(rule=lambda _: "2")

    study = dtr.simulate(Synthetic(), {"two": always}, horizon=30, paths=1)

    assert (study.arms["two"] == 1).all()
