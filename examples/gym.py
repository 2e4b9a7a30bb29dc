"""Play the synthetic problem through Gymnasium: a policy of ours and a random agent, unit after unit."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any

import gymnasium
import numpy as np

import dtrbandit as dtr
from dtrbandit.environments import Synthetic
from dtrbandit.environments.gymnasium import NAME

Agent = Callable[[gymnasium.Env, int], float]


def random_agent(env: gymnasium.Env, _: int) -> float:
    """Treat the unit that has just come with feasible arms at random, and return its outcome."""
    (_, info), terminated, reward = env.reset(), False, 0.0
    while not terminated:
        arm = env.action_space.sample(info["action_mask"])
        _, reward, terminated, _, info = env.step(arm)
    return reward


class Learner:
    """An agent that asks a session, which sees x₁ and x₂: the features of Synthetic are (1, x)."""

    def __init__(self, policy: dtr.DTRBandit) -> None:
        self.session = dtr.Session(Synthetic().design, policy)

    def __call__(self, env: gymnasium.Env, number: int) -> float:
        """Treat the next unit as the session decides, and tell it the outcome."""
        unit, session = f"u{number}", self.session
        observation, _ = env.reset()
        first = session.enroll(unit, {"x1": observation["features"][1]})
        observation, *_ = env.step(arm_number(first))
        second = session.respond(unit, {"x2": observation["features"][1]})
        assert second is not None  # nobody leaves early here
        _, reward, *_ = env.step(arm_number(second))
        session.complete(unit, reward)
        return float(reward)


def arm_number(decision: dtr.Decision) -> int:
    """Return what Gymnasium calls an arm: its number at its stage, from 0."""
    design = Synthetic().design
    return design.stages[design.stage_number(decision.stage)].arms.index(decision.arm)


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--units", type=int, default=2_000)
    units = options.parse_args().units
    agents: dict[str, Agent] = {"random": random_agent, "DTRB(5, 0.5)": Learner(dtr.DTRBandit(q=5, delta=0.5))}
    for name, agent in agents.items():
        env: Any = gymnasium.make(NAME, environment=Synthetic())
        env.reset(seed=1)
        env.action_space.seed(1)
        rewards = [agent(env, number) for number in range(units)]
        print(f"{name:>12}: mean reward {np.mean(rewards):.3f} of {units:,} units")
    print(f"{'best regime':>12}: mean reward {Synthetic().optimal_value:.3f}")


if __name__ == "__main__":
    main()
