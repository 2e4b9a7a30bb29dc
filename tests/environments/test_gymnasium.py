"""Environments in Gymnasium's words: its own checks pass, and episodes are what potential outcomes say."""

from __future__ import annotations

import re
import subprocess
import sys
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dtrbandit.environments import Environment, Linear, PotentialOutcomes, Synthetic, Tabulated
from dtrbandit.environments.potential_outcomes import leavers
from dtrbandit.errors import DesignError, ObservationError, ProtocolError
from extras import needed
from simulation.worlds import DESIGN, Branching

gymnasium = needed("gymnasium")
adaptor = needed("dtrbandit.environments.gymnasium")
check_env = needed("gymnasium.utils.env_checker").check_env

ENVIRONMENTS = [Synthetic(), Linear(stages=3, arms=(2, 4, 3), dimension=(2, 5, 3)), Branching()]
EXAMPLE = Path(__file__).parents[2] / "examples/gym.py"


def drawn(environment: Environment, seed: int, batch: int) -> PotentialOutcomes:
    """The units that ``reset(seed=seed)`` stands for."""
    rng, _ = gymnasium.utils.seeding.np_random(seed)
    return environment.draw(batch, rng)


def arms_of(unit: int) -> tuple[int, ...]:
    return DESIGN.arm_plans[unit % len(DESIGN.arm_plans)]


@pytest.mark.parametrize("environment", ENVIRONMENTS, ids=["synthetic", "linear", "branching"])
def test_gymnasium_finds_nothing_to_complain_about(environment: Environment) -> None:
    """With a warning it would fail as well: warnings are errors."""
    env = gymnasium.make(adaptor.NAME, environment=environment)

    check_env(env.unwrapped)


def test_an_episode_is_a_unit_with_its_features_and_its_outcome() -> None:
    units, env = drawn(Branching(), 3, 60), adaptor.UnitEnv(Branching(), batch=60)
    left, ends = leavers(units), set()

    for unit in range(60):
        plan, stage, terminated = arms_of(unit), 0, False
        observation, info = env.reset(seed=3 if unit == 0 else None)
        while not terminated:
            path = plan[:stage]
            assert observation["stage"] == stage
            assert observation["features"].tolist() == features(units, unit, path)
            assert info["action_mask"].tolist() == feasible(path)
            observation, reward, terminated, truncated, info = env.step(plan[stage])
            stage += 1
            assert terminated == (stage == 3 or bool(left[plan[:stage]][unit]))
            assert reward == (units.outcome[(unit, *plan)] if terminated else 0.0)
            assert truncated is False
        ends.add(stage)
        assert observation["stage"] == 3
        assert not observation["features"].any()
        assert not info["action_mask"].any()
    assert ends == {1, 2, 3}  # there were those who left early


def features(units: PotentialOutcomes, unit: int, path: tuple[int, ...]) -> list[float]:
    """By hand, from the formulas of the design: 1 + x1, 1 + x1 + x2 + C(first), 1 + x3."""
    x1, x2, x3 = units.contexts[0]["x1"], units.contexts[1]["x2"], units.contexts[2]["x3"]
    match path:
        case ():
            return [1.0, x1[unit], 0.0, 0.0]
        case (first,):
            return [1.0, x1[unit], x2[unit, first], float(first == 1)]
        case (first, second):
            return [1.0, x3[unit, first, second], 0.0, 0.0]
    raise AssertionError(path)


def feasible(path: tuple[int, ...]) -> list[int]:
    return [int(any(plan[: len(path) + 1] == (*path, arm) for plan in DESIGN.arm_plans)) for arm in range(3)]


def test_a_seed_stands_for_a_sequence_of_units_across_batches() -> None:
    def rewards(seed: int) -> list[float]:
        env, found = adaptor.UnitEnv(Synthetic(), batch=4), []
        env.reset(seed=seed)
        for _ in range(11):
            env.step(0)
            found.append(env.step(1)[1])
            env.reset()
        return found

    assert rewards(1) == rewards(1)
    assert len({*rewards(1), *rewards(2)}) == 22


@pytest.mark.parametrize(
    ("before", "arm", "words"),
    [
        ((), 2, r"arm 2 at stage 'first' after arms \(\): feasible are \[0, 1\]"),
        ((), -1, "cannot be given arm -1"),
        ((), 7, "cannot be given arm 7"),
        ((1,), 1, r"arm 1 at stage 'second' after arms \(1,\): feasible are \[0, 2\]"),
        ((), 0.5, "an action is an arm's number"),
        ((), [0], "an action is an arm's number"),
    ],
)
def test_an_arm_that_is_not_feasible_is_refused_and_nothing_happens(before: Any, arm: Any, words: str) -> None:
    env = staying(adaptor.UnitEnv(Branching(), batch=8))
    for earlier in before:
        env.step(earlier)

    with pytest.raises(ProtocolError, match=words):
        env.step(arm)
    assert env.step(0)[0]["stage"] == len(before) + 1


def staying(env: Any) -> Any:
    """Go on to a unit that stays whatever it is given first and second."""
    units = drawn(Branching(), 0, 8)
    left = leavers(units)
    stays = [unit for unit in range(8) if not any(left[path][unit] for path in left)]
    for unit in range(stays[0] + 1):
        env.reset(seed=0 if unit == 0 else None)
    return env


def test_sampling_draws_feasible_arms_unless_told_otherwise() -> None:
    env = staying(adaptor.UnitEnv(Branching(), batch=8))
    env.step(1)

    assert {int(env.action_space.sample()) for _ in range(50)} == {0, 2}
    assert {int(env.action_space.sample(np.array([0, 1, 0], np.int8))) for _ in range(9)} == {1}


def test_without_a_unit_there_is_no_step() -> None:
    env = adaptor.UnitEnv(Synthetic())

    with pytest.raises(ProtocolError, match=r"call reset\(\)"):
        env.step(0)
    with pytest.raises(ProtocolError, match=r"call reset\(\)"):
        adaptor.UnitVectorEnv(Synthetic(), 2).step([0, 0])


def test_a_unit_that_is_through_takes_no_arm() -> None:
    env = adaptor.UnitEnv(Synthetic())
    env.reset(seed=0)
    env.step(0)
    env.step(0)

    with pytest.raises(ProtocolError, match=r"call reset\(\)"):
        env.step(0)


@pytest.mark.parametrize("batch", [0, 1.5, "many"])
def test_a_batch_is_a_whole_number(batch: Any) -> None:
    with pytest.raises(DesignError, match="batch must be a whole number of at least 1"):
        adaptor.UnitEnv(Synthetic(), batch=batch)


@pytest.mark.parametrize("make", [adaptor.UnitEnv, adaptor.UnitVectorEnv])
def test_what_is_no_environment_is_refused(make: Any) -> None:
    with pytest.raises(DesignError, match=r"an episode needs an environment such as .* found 3"):
        make(3)


def test_units_that_are_not_numbers_are_refused() -> None:
    units = Synthetic().draw(5, np.random.default_rng(0))
    bad = Tabulated(units)
    units.outcome[2, 0, 0] = np.nan

    with pytest.raises(ObservationError, match="not finite"):
        adaptor.UnitEnv(bad, batch=5).reset(seed=0)


def test_without_gymnasium_the_adaptor_says_what_to_install() -> None:
    code = "import sys; sys.modules['gymnasium'] = None; import dtrbandit.environments.gymnasium"

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)

    assert "ImportError: dtrbandit.environments.gymnasium needs Gymnasium: pip install 'dtrbandit[gym]'" in done.stderr


# -- many at once --------------------------------------------------------------------------------------------


def test_many_units_at_once_are_those_that_come_one_by_one() -> None:
    """Each place plays plans of its own; units come to places in the order in which these become free."""
    units = drawn(Branching(), 4, 90)
    left = leavers(units)
    env = gymnasium.make_vec(adaptor.NAME, num_envs=3, environment=Branching(), batch=90)
    observation, info = env.reset(seed=4)
    at, stage, coming, fresh = [0, 1, 2], [0, 0, 0], 3, [True, True, True]

    for _ in range(60):
        for place in range(3):
            if fresh[place]:
                path = arms_of(at[place])[: stage[place]]
                assert observation["stage"][place] == stage[place]
                assert observation["features"][place].tolist() == features(units, at[place], path)
                assert info["action_mask"][place].tolist() == feasible(path)
        arms = [arms_of(at[place])[stage[place]] if fresh[place] else 99 for place in range(3)]  # 99: ignored
        observation, reward, terminated, truncated, info = env.step(np.array(arms))
        assert observation in env.observation_space
        assert not truncated.any()
        for place in range(3):
            if not fresh[place]:
                at[place], stage[place], coming = coming, 0, coming + 1
                fresh[place], over = True, False
            else:
                stage[place] += 1
                over = stage[place] == 3 or bool(left[arms_of(at[place])[: stage[place]]][at[place]])
                fresh[place] = not over
            assert terminated[place] == over
            assert reward[place] == (units.outcome[(at[place], *arms_of(at[place]))] if over else 0.0)
    assert 3 + 60 * 3 // 4 < coming < 90  # more than if nobody left early, and all of one batch


def test_the_vector_environment_says_how_it_resets_and_what_its_spaces_are() -> None:
    env = adaptor.UnitVectorEnv(Branching(), 5)
    single = adaptor.UnitEnv(Branching())

    observation, info = env.reset(seed=0)

    assert env.metadata["autoreset_mode"] is gymnasium.vector.AutoresetMode.NEXT_STEP
    assert env.single_observation_space == single.observation_space
    assert env.single_action_space == single.action_space
    assert observation in env.observation_space
    assert env.action_space.shape == (5,)
    assert info["_action_mask"].tolist() == [True] * 5


def test_gymnasiums_own_vector_of_single_environments_works_as_well() -> None:
    env = gymnasium.make_vec(adaptor.NAME, num_envs=2, vectorization_mode="sync", environment=Synthetic())
    env.reset(seed=0)

    terminated = [env.step(np.array(arms))[2].tolist() for arms in ([0, 1], [1, 1], [0, 0])]

    assert terminated == [[False, False], [True, True], [False, False]]


@pytest.mark.parametrize(("actions", "words"), [([0], r"shape \(3,\)"), ([0, 0, 2], "the unit in slot 2 cannot")])
def test_bad_arms_for_many_are_refused(actions: list[int], words: str) -> None:
    env = adaptor.UnitVectorEnv(Synthetic(), 3)
    env.reset(seed=0)

    with pytest.raises(ProtocolError, match=words):
        env.step(actions)


def test_mean_rewards_of_a_plan_are_its_value() -> None:
    """The plan (1, 1) of the synthetic problem: E Y by its construction; 20,000 units, five standard errors."""
    env = adaptor.UnitVectorEnv(Synthetic(), 1_000, batch=1_000)
    env.reset(seed=0)
    rewards = []
    for _, kind in product(range(20), ("first", "second", "next")):
        _, reward, *_ = env.step(np.zeros(1_000, dtype=np.int64))
        if kind == "second":
            rewards.append(reward)

    value = 1 + 0.5 * 4 / 5 + 0.5 * 1 / 3  # E(1 + x₂), x₂ ~ Beta(4, 1) or Beta(1, 2), each with probability ½
    assert abs(np.mean(rewards) - value) < 5 * np.std(rewards) / np.sqrt(20_000)


@pytest.mark.slow
def test_the_example_runs_and_the_policy_beats_chance() -> None:
    done = subprocess.run([sys.executable, str(EXAMPLE), "--units", "600"], capture_output=True, text=True, timeout=120)

    means = [float(mean) for mean in re.findall(r"mean reward ([\d.]+)", done.stdout)]
    assert done.returncode == 0, done.stderr
    assert len(means) == 3
    assert means[0] + 0.1 < means[1] < means[2] + 0.2  # a standard error is about 0.05
