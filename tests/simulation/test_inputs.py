"""What a study is asked to be: checked before any path runs, and all that results depend on."""

from __future__ import annotations

import inspect
from collections import Counter
from collections.abc import Callable
from dataclasses import MISSING, fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dtrbandit as dtr
from dtrbandit.environments import Contraindicated, PotentialOutcomes, Synthetic
from dtrbandit.environments.arrivals import ArrivalProcess, Exponential
from dtrbandit.policies.builtin_policy import BuiltinPolicy
from dtrbandit.simulation.inputs import SAMPLE, Closing, Inputs, accept_closings
from dtrbandit.simulation.one_path import ARRIVALS, ENVIRONMENT
from dtrbandit.simulation.run_paths import run_paths
from dtrbandit.simulation.study_toml import read_study
from simulation.worlds import DESIGN, FEW, GOOD, Branching, Own, Slow


def test_another_seed_draws_other_units() -> None:
    one = dtr.simulate(Synthetic(), FEW, horizon=20, paths=1, seed=1)
    other = dtr.simulate(Synthetic(), FEW, horizon=20, paths=1, seed=2)

    assert one.oracle is not None
    assert other.oracle is not None
    assert not np.isin(one.oracle, other.oracle).any()


def test_optimism_takes_its_weight_from_the_horizon() -> None:
    beta = dtr.suggested_beta(Synthetic().design, rounds=90)

    study = dtr.simulate(Synthetic(), {"a": dtr.LSVIUCB(), "b": dtr.LSVIUCB(beta=beta)}, horizon=90, paths=1)

    assert np.array_equal(study.arms["a"], study.arms["b"])
    assert study.manifest.policies["a"]["beta"] == beta


def test_policies_in_a_list_are_named_by_their_repr() -> None:
    study = dtr.simulate(Synthetic(), [dtr.Greedy(), dtr.UniformRandom()], horizon=10, paths=1)

    assert study.policies == ("Greedy()", "UniformRandom()")


INPUT_ORDER = ("environment", "policies", "horizon", "paths", "seed", "arrivals", "design", "closings", "prior")


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


@pytest.mark.parametrize(
    ("bad", "named"),
    [
        ({"horizon": 0}, "horizon must be a whole number of at least 1, found 0"),
        ({"horizon": 2.5}, "horizon"),
        ({"horizon": True}, "horizon"),
        ({"paths": -1}, "paths must be a whole number of at least 1, found -1"),
        ({"paths": "3"}, "paths"),
        ({"paths": 10**6, "horizon": 10**8}, "a study of 1000000 paths of 100000000 rounds needs at least"),
        ({"horizon": 10**30}, "needs at least .* GB of memory"),
        ({"horizon": 10**400}, "needs at least .* GB of memory"),
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


def test_the_inputs_are_the_arguments_of_simulate_on_which_results_depend() -> None:
    arguments = inspect.signature(dtr.simulate).parameters
    running = {"n_jobs", "resume", "progress"}

    inputs = {each.name: each.default for each in fields(Inputs) if each.init}

    assert list(inputs) == [name for name in INPUT_ORDER if name in arguments]
    assert set(arguments) - running == set(inputs)
    for name, default in inputs.items():
        assert arguments[name].default == (inspect.Parameter.empty if default is MISSING else default)


def test_streams_of_a_path_are_its_own() -> None:
    inputs = Inputs(Synthetic(), FEW, horizon=5, paths=3, seed=4)

    numbers = {inputs.rng(path, stream).random() for path in range(3) for stream in (ENVIRONMENT, ARRIVALS)}
    seeds = {inputs.policy_seed(path) for path in range(3)}

    assert len(numbers) == 6
    assert len(seeds) == 3
    assert inputs.rng(1, ENVIRONMENT).random() == replace(inputs, paths=2, policies=[dtr.Greedy()]).rng(1, 0).random()


STUDY = """\
horizon = 30
paths = 2
closings = [{ round = 20, stage = "first", arm = "2" }]
[environment]
name = "Synthetic"
[policies]
DTRB = { name = "DTRBandit", q = 2, delta = 0.5 }
greedy = { name = "Greedy" }
optimist = { name = "LSVIUCB" }
uniform = { name = "UniformRandom" }
"""


def from_a_file(folder: Path) -> Inputs:
    (folder / "study.toml").write_text(STUDY)
    return read_study(folder / "study.toml")


def with_a_design_and_a_policy_of_ones_own(_: Path) -> Inputs:
    policies: dict[str, Any] = {**FEW, "optimist": dtr.LSVIUCB(), "own": Own(dtr.Greedy())}
    return Inputs(Synthetic(), policies, horizon=30, paths=2, design=two_stages())


@pytest.mark.parametrize("make", [from_a_file, with_a_design_and_a_policy_of_ones_own])
def test_a_study_makes_its_inputs_and_states_once_and_draws_each_path_once(
    make: Callable[[Path], Inputs], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of four policies. Each path has states of its own; three draws of a few units recognise the environment."""
    made: Counter[str] = Counter()
    drawn: list[int] = []

    def counting(what: str, method: Callable[..., Any]) -> Callable[..., Any]:
        def counted(*arguments: Any, **options: Any) -> Any:
            made[what] += 1
            return method(*arguments, **options)

        return counted

    def recorded(environment: Synthetic, n: int, rng: np.random.Generator) -> PotentialOutcomes:
        drawn.append(n)
        return draw(environment, n, rng)

    draw = Synthetic.draw
    monkeypatch.setattr(Synthetic, "draw", recorded)
    monkeypatch.setattr(Inputs, "__post_init__", counting("inputs", Inputs.__post_init__))
    monkeypatch.setattr(BuiltinPolicy, "init", counting("states", BuiltinPolicy.init))

    inputs = make(tmp_path)
    assert made == {"inputs": 1, "states": 4}
    run_paths(inputs)

    assert drawn == [SAMPLE] * 3 + [30] * 2
    assert made == {"inputs": 1, "states": 4 + 2 * 4}


def test_inputs_changed_in_one_thing_are_checked_again() -> None:
    inputs = Inputs(Synthetic(), FEW, horizon=5, paths=3)

    with pytest.raises(dtr.DesignError, match="paths must be a whole number of at least 1, found 0"):
        replace(inputs, paths=0)


# -- arms that a study closes ----------------------------------------

LATE = ArrivalProcess(response=Exponential(mean=3.0), outcome=Exponential(mean=2.0), dropout=0.1)
CLOSED = [Closing(40, "second", "1"), Closing(20, "first", "2")]


def test_from_its_round_on_nobody_has_a_closed_arm() -> None:
    study = dtr.simulate(Synthetic(), {"any": dtr.UniformRandom()}, horizon=60, paths=3, closings=CLOSED)

    arms = study.arms["any"]
    assert (arms[:, :19, 0] == 1).any()
    assert (arms[:, 19:, 0] == 0).all()
    assert (arms[:, :39, 1] == 0).any()
    assert (arms[:, 39:, 1] == 1).all()


@pytest.mark.parametrize("policy", [dtr.DTRBandit(q=1, delta=0.5), dtr.Greedy(), dtr.LSVIUCB(beta=1.0)], ids=repr)
def test_both_drivers_give_the_same_arms(policy: Any) -> None:
    some = Contraindicated(Synthetic(), {"first": {"2": 0.2}, "second": {"1": 0.1}})
    players = {"compiled": policy, "session": Own(policy)}

    study = dtr.simulate(some, players, horizon=70, paths=2, arrivals=LATE, closings=CLOSED[1:])

    assert np.array_equal(study.arms["compiled"], study.arms["session"])
    assert (study.arms["compiled"][:, 19:, 0] == 0).all()


def test_a_study_knows_its_closings_on_disk_too(tmp_path: Path) -> None:
    study = dtr.simulate(Synthetic(), {"any": dtr.UniformRandom()}, horizon=50, paths=1, closings=CLOSED)
    study.save(tmp_path / "study")

    loaded = dtr.load_study(tmp_path / "study")

    assert loaded.manifest == study.manifest
    assert loaded.manifest.closings == [[20, "first", "2"], [40, "second", "1"]]
    other = dtr.simulate(Synthetic(), {"any": dtr.UniformRandom()}, horizon=50, paths=1)
    assert study.manifest.difference(other.manifest) is not None


@pytest.mark.parametrize(
    ("closings", "words"),
    [
        (["first"], "closings= needs a list such as"),
        ([Closing(0, "first", "1")], "round must be"),
        ([Closing(5, "third", "1")], "there is no stage 'third'"),
        ([Closing(5, "first", "3")], "no arm '3'"),
        ([Closing(5, "first", "1"), Closing(9, "first", "1")], "twice"),
        ([Closing(5, "first", "1"), Closing(9, "first", "2")], "it is the last that is feasible"),
    ],
)
def test_what_cannot_be_closed_is_refused_before_any_path(closings: Any, words: str) -> None:
    with pytest.raises(dtr.DTRError, match=words):
        accept_closings(closings, Synthetic().design)


def test_a_unit_for_whom_nothing_is_left_is_named() -> None:
    some = Contraindicated(Synthetic(), {"first": {"1": 0.3}})

    with pytest.raises(dtr.StudyError, match=r"no arm left at the first stage"):
        dtr.simulate(some, {"any": dtr.UniformRandom()}, horizon=50, paths=1, closings=[Closing(20, "first", "2")])
