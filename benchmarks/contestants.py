"""Libraries that learn a contextual bandit with one stage, each fed as its documentation says.

A contestant is given plain numbers and makes of them what its library wants: that is part of its cost. All explore in
one decision out of ten, but for LinUCB, which has no such rule.
"""

from __future__ import annotations

import random
from importlib.metadata import version
from typing import Protocol

import numpy as np
from mabwiser.mab import MAB, LearningPolicy
from river.bandit import LinUCBDisjoint
from river.linear_model import BayesianLinearRegression
from vowpalwabbit import Workspace

import dtrbandit as dtr
from dtrbandit.kernels.arrays import Matrix

EPSILON, RIDGE = 0.1, 1.0


class Contestant(Protocol):
    """Decides on features (without the constant), then learns the outcome of the unit it has just decided on."""

    @property
    def name(self) -> str:
        """The library, its version, and what of it is used."""

    @property
    def ridge(self) -> float | None:
        """The penalty of the regression that it claims to solve, None where it claims none."""

    def decide(self, x: list[float]) -> int:
        """Return an arm."""

    def learn(self, outcome: float) -> None:
        """Take the outcome of the last unit."""

    def coefficients(self) -> Matrix | None:
        """Return what was learnt, (K, d), or None if the library does not tell."""

    def best(self, x: list[float]) -> int:
        """Return the arm that it holds best."""


def design_of(features: int, arms: int) -> dtr.Design:
    """Return one stage with a constant and so many features in all."""
    formula = " + ".join(["1", *columns_of(features)])
    return dtr.Design([dtr.Stage("only", tuple(str(arm) for arm in range(arms)), formula)])


def columns_of(features: int) -> list[str]:
    """Return the names of all features but the constant."""
    return [f"x{j}" for j in range(1, features)]


class OurSession:
    """A dtrbandit session: checked, explained and recorded decisions."""

    ridge = 0.0

    def __init__(self, features: int, arms: int) -> None:
        self.name = f"dtrbandit {dtr.__version__}, Session"
        self.session = dtr.Session(design_of(features, arms), dtr.EpsilonGreedy(epsilon=EPSILON))
        self.columns, self.units = columns_of(features), 0

    def decide(self, x: list[float]) -> int:
        """Enrol the next unit."""
        self.units += 1
        return int(self.session.enroll(f"u{self.units}", dict(zip(self.columns, x, strict=True))).arm)

    def learn(self, outcome: float) -> None:
        """Complete it."""
        self.session.complete(f"u{self.units}", outcome)

    def coefficients(self) -> Matrix:
        """Return Q̂'s."""
        hats = [np.nan if coefficient.hat is None else coefficient.hat for coefficient in self.session.coefficients()]
        return np.array(hats).reshape(-1, 1 + len(self.columns))

    def best(self, x: list[float]) -> int:
        """Return the arm with the largest Q̂."""
        return int(np.argmax(self.coefficients() @ [1.0, *x]))


class VowpalWabbit:
    """Vowpal Wabbit: --cb_explore, one regression per arm, learnt by gradient steps from text.

    Costs are doubly robust, its default: of its kinds it was the fastest, and near the best in its choices.
    """

    ridge = None

    def __init__(self, features: int, arms: int) -> None:
        self.name = f"Vowpal Wabbit {version('vowpalwabbit')}, cb_explore"
        self.library = Workspace(f"--cb_explore {arms} --epsilon {EPSILON} --quiet --random_seed 1")
        self.columns, self.draw = columns_of(features), random.Random(1)
        self.text, self.arm, self.probability = "", 0, 1.0

    def decide(self, x: list[float]) -> int:
        """Draw from the probabilities it gives, as its documentation says."""
        self.text = "| " + " ".join(f"{name}:{value}" for name, value in zip(self.columns, x, strict=True))
        probabilities = self.library.predict(self.text)
        u, self.arm = self.draw.random() * sum(probabilities), 0
        while self.arm < len(probabilities) - 1 and u >= probabilities[self.arm]:
            u -= probabilities[self.arm]
            self.arm += 1
        self.probability = probabilities[self.arm]
        return self.arm

    def learn(self, outcome: float) -> None:
        """Tell it a cost."""
        self.library.learn(f"{self.arm + 1}:{-outcome}:{self.probability} {self.text}")

    def coefficients(self) -> None:
        """Say nothing: its weights lie in a hashed table together with the state of its steps."""

    def best(self, x: list[float]) -> int:
        """Return the most probable arm."""
        text = "| " + " ".join(f"{name}:{value}" for name, value in zip(self.columns, x, strict=True))
        return int(np.argmax(self.library.predict(text)))


class RiverGreedy:
    """river: a Bayesian linear regression for each arm, and ε-greedy around them, in a few lines of one's own."""

    ridge = RIDGE

    def __init__(self, features: int, arms: int) -> None:
        self.name = f"river {version('river')}, BayesianLinearRegression"
        self.models = [BayesianLinearRegression(alpha=1 / RIDGE) for _ in range(arms)]
        self.columns, self.draw = columns_of(features), random.Random(1)
        self.context, self.arm = dict.fromkeys(["1", *self.columns], 1.0), 0

    def decide(self, x: list[float]) -> int:
        """Take the best arm, or any."""
        self.arm = self.draw.randrange(len(self.models)) if self.draw.random() < EPSILON else self.best(x)
        self.context = {"1": 1.0, **dict(zip(self.columns, x, strict=True))}
        return self.arm

    def learn(self, outcome: float) -> None:
        """Teach the arm's model."""
        self.models[self.arm].learn_one(self.context, outcome)

    def coefficients(self) -> Matrix:
        """Return the posterior means, read off predictions at zero and at the unit vectors."""
        return in_coordinates(self.models, ["1", *self.columns])

    def best(self, x: list[float]) -> int:
        """Return the arm with the largest mean."""
        context = {"1": 1.0, **dict(zip(self.columns, x, strict=True))}
        means = [model.predict_one(context) for model in self.models]
        return means.index(max(means))


class RiverLinUCB:
    """river: LinUCBDisjoint."""

    ridge = RIDGE

    def __init__(self, features: int, arms: int) -> None:
        self.name = f"river {version('river')}, LinUCBDisjoint"
        self.policy, self.arms = LinUCBDisjoint(alpha=1 / RIDGE, seed=1), list(range(arms))
        self.columns, self.arm = columns_of(features), 0
        self.context = dict.fromkeys(["1", *self.columns], 1.0)

    def decide(self, x: list[float]) -> int:
        """Pull an arm."""
        self.context = {"1": 1.0, **dict(zip(self.columns, x, strict=True))}
        self.arm = int(self.policy.pull(self.arms, self.context))
        return self.arm

    def learn(self, outcome: float) -> None:
        """Teach it the reward."""
        self.policy.update(self.arm, self.context, outcome)

    def coefficients(self) -> Matrix:
        """Return the posterior means of its regressions."""
        return in_coordinates([self.policy._bayes_lin_regs[arm] for arm in self.arms], ["1", *self.columns])

    def best(self, x: list[float]) -> int:
        """Return the arm with the largest mean, without the bonus."""
        return int(np.argmax(self.coefficients() @ [1.0, *x]))


def in_coordinates(models: list[BayesianLinearRegression], names: list[str]) -> Matrix:
    """Return the coefficients of river's regressions: predictions at the unit vectors."""
    units = [{name: float(name == one) for name in names} for one in names]
    return np.array([[model.predict_one(unit) for unit in units] for model in models])


class MABWiser:
    """MABWiser: LinGreedy with partial_fit."""

    ridge = RIDGE

    def __init__(self, features: int, arms: int) -> None:
        self.name = f"MABWiser {version('mabwiser')}, LinGreedy"
        self.library = MAB(list(range(arms)), LearningPolicy.LinGreedy(epsilon=EPSILON, l2_lambda=RIDGE), seed=1)
        self.library.fit([0], [0.0], np.zeros((1, features)))  # it wants a fit first; this one teaches nothing
        self.context, self.arm = np.zeros((1, features)), 0

    def decide(self, x: list[float]) -> int:
        """Predict."""
        self.context = np.array([[1.0, *x]])
        self.arm = int(self.library.predict(self.context))
        return self.arm

    def learn(self, outcome: float) -> None:
        """Fit one more row."""
        self.library.partial_fit([self.arm], [outcome], self.context)

    def coefficients(self) -> Matrix:
        """Return its regressions' coefficients."""
        models = self.library._imp.arm_to_model
        return np.array([models[arm].beta for arm in self.library.arms])

    def best(self, x: list[float]) -> int:
        """Return the arm with the largest estimate."""
        return int(np.argmax(self.coefficients() @ [1.0, *x]))
