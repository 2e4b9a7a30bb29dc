"""Studies: the same units for all policies, results that depend on the seed and the path alone, and regret."""

from __future__ import annotations

import json
from typing import Any

import joblib
import numpy as np
import pytest

import dtrbandit as dtr
from dtrbandit.compiled import play, potential_arrivals
from dtrbandit.environments import PotentialOutcomes, Synthetic, Tabulated
from dtrbandit.simulation.inputs import ENVIRONMENT, Inputs
from dtrbandit.simulation.play_path import play_path
from simulation import plain_regret
from simulation.worlds import DESIGN, NARROW, Branching, Own, Slow, policies

FEW = {"DTRB": dtr.DTRBandit(q=2, delta=0.5), "uniform": dtr.UniformRandom()}


def units_of(study: dtr.Study, environment: Any, path: int) -> PotentialOutcomes:
    """Draw the units of a path once more."""
    manifest = study.manifest
    inputs = Inputs(environment, FEW, horizon=manifest.horizon, paths=1, seed=manifest.seed)
    units: PotentialOutcomes = environment.draw(manifest.horizon, inputs.rng(path, ENVIRONMENT))
    return units


# -- regret --------------------------------------------------------------------------------------------------


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


def test_only_lost_units_have_no_reward_and_some_units_leave_early() -> None:
    at_once = dtr.simulate(Branching(), FEW, horizon=200, paths=1)
    delayed = dtr.simulate(Branching(), FEW, horizon=200, paths=1, arrivals=Slow(lost=0.15))

    entered = (at_once.arms["uniform"][0] >= 0).sum(axis=0)
    lost = int(np.isnan(delayed.rewards["uniform"]).sum())
    assert 200 == entered[0] > entered[1] > entered[2] > 50
    assert not np.isnan(at_once.rewards["uniform"]).any()
    assert 10 < lost < 50  # 30 expected, four standard deviations of 5


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


# -- what results depend on ----------------------------------------------------------------------------------


def test_results_depend_neither_on_processes_nor_on_threads() -> None:
    one = dtr.simulate(Branching(), policies(DESIGN), horizon=120, paths=5, seed=2, n_jobs=1, arrivals=Slow())
    two = dtr.simulate(Branching(), policies(DESIGN), horizon=120, paths=5, seed=2, n_jobs=2, arrivals=Slow())

    with joblib.parallel_config(backend="threading", n_jobs=2):
        threads = dtr.simulate(Branching(), policies(DESIGN), horizon=120, paths=5, seed=2, arrivals=Slow())

    assert one == two
    assert one == threads


def test_a_path_does_not_depend_on_how_many_there_are() -> None:
    few = dtr.simulate(Synthetic(), FEW, horizon=80, paths=2, seed=1)
    more = dtr.simulate(Synthetic(), FEW, horizon=80, paths=4, seed=1)

    assert more.take([0, 1]) == few
    assert more.take([2, 3]) != few


def test_a_policy_does_not_depend_on_which_others_run() -> None:
    alone = dtr.simulate(Synthetic(), {"uniform": dtr.UniformRandom()}, horizon=80, paths=2)
    together = dtr.simulate(Synthetic(), {"uniform again": dtr.UniformRandom(), **FEW}, horizon=80, paths=2)

    assert np.array_equal(together.arms["uniform"], alone.arms["uniform"])
    assert np.array_equal(together.arms["uniform again"], alone.arms["uniform"])


def test_policies_that_agree_earn_the_same_since_they_meet_the_same_units() -> None:
    study = dtr.simulate(Synthetic(), FEW, horizon=300, paths=2)

    agree = (study.arms["DTRB"] == study.arms["uniform"]).all(axis=2)
    assert 50 < agree.sum() < 600
    assert np.array_equal(study.rewards["DTRB"][agree], study.rewards["uniform"][agree])


def test_another_seed_draws_other_units() -> None:
    one = dtr.simulate(Synthetic(), FEW, horizon=20, paths=1, seed=1)
    other = dtr.simulate(Synthetic(), FEW, horizon=20, paths=1, seed=2)

    assert one.oracle is not None
    assert other.oracle is not None
    assert not np.isin(one.oracle, other.oracle).any()


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


def test_a_changed_built_in_policy_is_not_mistaken_for_the_compiled_one() -> None:
    class Contrary(dtr.Greedy):
        def decide(self, state: Any, history: Any, u: float) -> Any:
            choice = super().decide(state, history, u)
            other = 1 - choice.arm
            return choice._replace(arm=other, propensities=tuple(float(arm == other) for arm in range(2)))

    study = dtr.simulate(Synthetic(), {"Greedy": dtr.Greedy(), "Contrary": Contrary()}, horizon=40, paths=1)

    assert (study.arms["Greedy"][0, 0] + study.arms["Contrary"][0, 0]).tolist() == [1, 1]


def test_a_fixed_regime_that_is_a_function_plays_too() -> None:
    always = dtr.FixedRegime(rule=lambda _: "2")

    study = dtr.simulate(Synthetic(), {"two": always}, horizon=30, paths=1)

    assert (study.arms["two"] == 1).all()


def test_optimism_takes_its_weight_from_the_horizon() -> None:
    beta = dtr.suggested_beta(Synthetic().design, rounds=90)

    study = dtr.simulate(Synthetic(), {"a": dtr.LSVIUCB(), "b": dtr.LSVIUCB(beta=beta)}, horizon=90, paths=1)

    assert np.array_equal(study.arms["a"], study.arms["b"])
    assert study.manifest.policies["a"]["beta"] == beta


def test_policies_in_a_list_are_named_by_their_repr() -> None:
    study = dtr.simulate(Synthetic(), [dtr.Greedy(), dtr.UniformRandom()], horizon=10, paths=1)

    assert study.policies == ("Greedy()", "UniformRandom()")


# -- misspecification ----------------------------------------------------------------------------------------


def test_a_learner_with_its_own_design_learns_from_its_own_features() -> None:
    constant = dtr.Design([dtr.Stage("first", ("1", "2"), "1"), dtr.Stage("second", ("1", "2"), "1 + x1")])
    study = dtr.simulate(Synthetic(), FEW, horizon=200, paths=1, seed=8, design=constant)
    inputs = Inputs(Synthetic(), FEW, horizon=200, paths=1, seed=8, design=constant)

    arrivals = potential_arrivals(units_of(study, Synthetic(), 0), design=constant)
    expected = play(FEW["DTRB"], arrivals, constant, seed=inputs.policy_seed(0)).arms

    assert np.array_equal(study.arms["DTRB"][0], expected)
    assert not np.array_equal(expected, play_path(inputs, 1).performances["DTRB"].arms)


def two_stages(
    *, second: str = "second", arms: tuple[str, ...] = ("1", "2"), formula: str = "1 + x1", **more: Any
) -> Any:
    stages = [dtr.Stage("first", ("1", "2"), formula), dtr.Stage(second, arms, "1 + x2", enter_if=more.get("enter_if"))]
    return dtr.Design(stages, plans=more.get("plans"))


@pytest.mark.parametrize(
    ("design", "named"),
    [
        (two_stages(second="later"), "name: .*later"),
        (two_stages(arms=("2", "1")), "arms: "),
        (two_stages(enter_if="x2 > 0"), "enter_if: .*x2 > 0"),
        (two_stages(formula="1 + x2"), r"\['x2'\] at stage 'first'.*\['x1'\]"),
        (two_stages(formula="1 + age"), r"\['age'\] at stage 'first'"),
        (dtr.Design([dtr.Stage("first", ("1", "2"), "1")]), "name"),
        ("design.toml", "needs a Design"),
    ],
)
def test_a_learners_design_may_differ_in_features_and_plans_only(design: Any, named: str) -> None:
    with pytest.raises(dtr.DesignError, match=named):
        dtr.simulate(Synthetic(), FEW, horizon=10, paths=1, design=design)


def test_a_learners_plans_must_be_feasible_in_the_environment() -> None:
    wide = dtr.Design(DESIGN.stages)

    with pytest.raises(dtr.DesignError, match=r"\['a', 'x', '2'\], which is infeasible"):
        dtr.simulate(Branching(), FEW, horizon=10, paths=1, design=wide)


# -- without Q -----------------------------------------------------------------------------------------------


def test_without_q_there_are_rewards_and_no_regret() -> None:
    study = dtr.simulate(Branching(knows_q=False), FEW, horizon=60, paths=3)

    assert study.rewards["DTRB"].shape == (3, 60)
    for question in (study.regret, study.plot, lambda: study.realised("DTRB")):
        with pytest.raises(dtr.DTRError, match=r"does not know its Q-functions.*study\.rewards"):
            question()
    summary = study.summary()
    assert summary.measure == "mean reward"
    assert summary.policies[0].mean == pytest.approx(study.rewards["DTRB"].mean())
    assert summary.policies[0].worst == study.rewards["DTRB"].mean(axis=1).min()


# -- bad input -----------------------------------------------------------------------------------------------


class Counting:
    """Counts the draws of whole paths."""

    design = Synthetic().design

    def __init__(self) -> None:
        self.draws = 0

    def draw(self, n: int, rng: np.random.Generator) -> PotentialOutcomes:
        self.draws += n == 30
        return Synthetic().draw(n, rng)


class Backwards(Slow):
    def events(self, n: int, stages: int, rng: np.random.Generator) -> Any:
        return super().events(n, stages, rng)[::-1]


class Elsewhere(Slow):
    def events(self, n: int, stages: int, rng: np.random.Generator) -> Any:
        return super().events(n, stages, rng) + n


class Halves(Slow):
    def events(self, n: int, stages: int, rng: np.random.Generator) -> Any:
        return super().events(n, stages, rng) + 0.5


GOOD: dict[str, Any] = {"policies": FEW, "horizon": 30, "paths": 1}


@pytest.mark.parametrize(
    ("bad", "named"),
    [
        ({"horizon": 0}, "horizon must be a whole number of at least 1, found 0"),
        ({"horizon": 2.5}, "horizon"),
        ({"horizon": True}, "horizon"),
        ({"paths": -1}, "paths must be a whole number of at least 1, found -1"),
        ({"paths": "3"}, "paths"),
        ({"paths": 10**6, "horizon": 10**8}, "no memory for 1000000 paths of 100000000 rounds"),
        ({"horizon": 10**30}, "no memory"),
        ({"seed": -1}, "seed"),
        ({"seed": None}, "seed"),
        ({"n_jobs": 0}, "n_jobs"),
        ({"policies": {}}, "at least one policy"),
        ({"policies": "Greedy"}, "mapping from names"),
        ({"policies": [dtr.Greedy(), dtr.Greedy()]}, r"two policies are called 'Greedy\(\)'"),
        ({"policies": {"Greedy": dtr.Greedy}}, "'Greedy' must be a policy"),
        ({"policies": {1: dtr.Greedy()}}, "name must be a printable text"),
        ({"policies": {"a\nb": dtr.Greedy()}}, r"name must be a printable text, found 'a\\nb'"),
        ({"policies": [dtr.DTRBandit(q=1, delta=(1.0, 2.0, 3.0))]}, "delta"),
        ({"policies": {"rule": dtr.FixedRegime(rule={"first": "9", "second": "1"})}}, "unknown arm '9'"),
        ({"arrivals": 3}, "arrivals= needs a method events"),
        ({"arrivals": Backwards()}, "events are impossible"),
        ({"arrivals": Elsewhere()}, "events must be pairs"),
        ({"arrivals": Halves()}, "events must be pairs of whole numbers"),
        ({"resume": "folder"}, "resume= needs a Study"),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else "",
)
def test_bad_input_is_refused_before_any_path_runs(bad: dict[str, Any], named: str) -> None:
    environment = Counting()

    with pytest.raises(dtr.DesignError, match=named):
        dtr.simulate(environment, **{**GOOD, **bad})

    assert environment.draws == 0


@pytest.mark.parametrize("environment", [Synthetic, None, DESIGN], ids=["a class", "nothing", "a design"])
def test_what_is_no_environment_is_refused(environment: Any) -> None:
    with pytest.raises(dtr.DesignError, match="needs an environment"):
        dtr.simulate(environment, **GOOD)


def test_a_stage_cannot_be_called_like_a_column_of_the_results() -> None:
    class Clashing:
        design = dtr.Design([dtr.Stage("regret", ("1", "2"), "1 + x1"), dtr.Stage("second", ("1", "2"), "1 + x2")])

        def draw(self, n: int, rng: np.random.Generator) -> PotentialOutcomes:
            return Synthetic().draw(n, rng)._replace(design=self.design)

    with pytest.raises(dtr.DesignError, match="rename the stage 'regret'"):
        dtr.simulate(Clashing(), **GOOD)


@pytest.mark.parametrize("spoilt", ["outcome", "context"])
def test_an_environment_that_draws_nan_where_it_matters_is_refused(spoilt: str) -> None:
    class Spoilt:
        design = Synthetic().design

        def draw(self, n: int, rng: np.random.Generator) -> PotentialOutcomes:
            units = Synthetic().draw(n, rng)
            (units.outcome if spoilt == "outcome" else units.contexts[1]["x2"])[0] = np.nan
            return units

    with pytest.raises(dtr.ObservationError, match=r"not (a )?finite number"):
        dtr.simulate(Spoilt(), **GOOD)


@pytest.mark.parametrize(
    ("spoil", "named"),
    [
        (lambda units: units._replace(outcome=units.outcome[:-1]), "shape"),
        (
            lambda units: Synthetic().draw(max(1, len(units.outcome) - 5), np.random.default_rng(0)),
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


@pytest.mark.parametrize("at", [[0], [31], [], [1.5], "some", [[1, 2]]], ids=str)
def test_rounds_outside_the_study_are_refused(at: Any) -> None:
    study = dtr.simulate(Synthetic(), **GOOD)

    with pytest.raises(dtr.DesignError, match="at must be"):
        study.regret(at=at)


def test_a_manifest_is_plain_values() -> None:
    study = dtr.simulate(Branching(), policies(DESIGN), horizon=10, paths=1, arrivals=Slow())

    assert json.loads(json.dumps(study.manifest.policies)) == study.manifest.policies
    assert study.manifest.environment == "Branching(knows_q=True)"
    assert study.manifest.arrivals == "Slow(days=7, lost=0.15)"
