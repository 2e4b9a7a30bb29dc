"""Every environment of ours keeps the contract, and so does one of a third party."""

from __future__ import annotations

import numpy as np

from contracts.remission import Remission
from dtrbandit.environments import Environment, Linear, OneStage, Synthetic, Tabulated
from dtrbandit.testing import EnvironmentContract


class TestSynthetic(EnvironmentContract):
    def environment(self) -> Environment:
        return Synthetic()


class TestLinear(EnvironmentContract):
    def environment(self) -> Environment:
        return Linear(seed=1)


class TestLinearOfManyKinds(EnvironmentContract):
    def environment(self) -> Environment:
        return Linear(
            stages=3, arms=(3, 4, 2), dimension=(4, 2, 3), margin=(0.5, 1.0, 2.0), suboptimal=(0, 2, 1), seed=2
        )


class TestLinearOfOneStageWithoutNoise(EnvironmentContract):
    def environment(self) -> Environment:
        return Linear(stages=1, arms=5, dimension=3, noise=0.0)


class TestOneStage(EnvironmentContract):
    def environment(self) -> Environment:
        return OneStage(arms=3, dimension=3, margin=0.5)


class TestOneStageWithSecondArms(EnvironmentContract):
    def environment(self) -> Environment:
        return OneStage(second_arms=3)


class TestTabulated(EnvironmentContract):
    def environment(self) -> Environment:
        return Tabulated(Linear(arms=3).draw(self.units, np.random.default_rng(9)))


class TestTabulatedWithReplacement(EnvironmentContract):
    def environment(self) -> Environment:
        return Tabulated(Remission().draw(50_000, np.random.default_rng(9)), replace=True)


class TestTabulatedWithoutQ(EnvironmentContract):
    def environment(self) -> Environment:
        return Tabulated(Synthetic().draw(self.units, np.random.default_rng(9))._replace(q=None))


class TestRemission(EnvironmentContract):
    def environment(self) -> Environment:
        return Remission()
