"""A one-stage linear-response bandit inside a two-stage problem: the lower bound of the paper's section 4."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from dtrbandit.design.spec import Design
from dtrbandit.design.stages import MOST_ARMS, Stage
from dtrbandit.design.values import whole
from dtrbandit.environments.linear import Linear
from dtrbandit.environments.potential_outcomes import PotentialOutcomes
from dtrbandit.kernels.arrays import Array


@dataclass(frozen=True, kw_only=True)
class OneStage:
    """A one-stage problem whose outcome is observed as the second context, and then again as the outcome.

    As below the theorem in section 4 (label "section: theory"): x₁ has the law of the one-stage problem, x₂(a₁) is
    its outcome β_{a₁}ᵀψ₁ + η, and Y = x₂ whatever the second arm. So the second stage costs no regret (α₂ = ∞), and
    the regret is that of the one-stage problem. With noise, x₂ is not bounded: only its first stage meets
    "assumption: bounded", which is what the lower bound needs.

    Parameters
    ----------
    arms, dimension, margin, suboptimal, noise, seed
        Of the one-stage problem, as in ``Linear``; ``noise`` is the standard deviation of η.
    second_arms
        How many arms the second stage offers, all alike.

    Examples
    --------
    >>> units = OneStage(arms=3, second_arms=2).draw(5, np.random.default_rng(0))
    >>> units.outcome.shape
    (5, 3, 2)
    >>> bool((units.outcome[:, :, 1] == units.contexts[1]["x2"]).all())
    True
    """

    arms: int = 2
    dimension: int = 2
    margin: float = 1.0
    suboptimal: int = 0
    noise: float = 1.0
    seed: int = 0
    second_arms: int = 1

    def __post_init__(self) -> None:
        second_arms = whole(self.second_arms, "OneStage: second_arms", low=1, high=MOST_ARMS)
        object.__setattr__(self, "second_arms", second_arms)
        _ = self.problem  # refuses the other parameters

    @cached_property
    def problem(self) -> Linear:
        """The one-stage problem."""
        return Linear(
            stages=1,
            arms=self.arms,
            dimension=self.dimension,
            margin=self.margin,
            suboptimal=self.suboptimal,
            noise=self.noise,
            seed=self.seed,
        )

    @cached_property
    def design(self) -> Design:
        """The one stage, then one with features 1 and x₂."""
        arms = tuple(str(arm + 1) for arm in range(self.second_arms))
        return Design([*self.problem.design.stages, Stage("stage2", arms, "1 + x2")])

    @property
    def coefficients(self) -> tuple[Array, ...]:
        """The true coefficients of each stage, (K_m, d_m)."""
        return *self.problem.coefficients, np.tile([0.0, 1.0], (self.second_arms, 1))

    @property
    def optimal_value(self) -> float:
        """The mean outcome of the optimal regime, E max_a Q₁."""
        return self.problem.optimal_value

    def draw(self, n: int, rng: np.random.Generator) -> PotentialOutcomes:
        """Draw n units with their true Q-functions."""
        one = self.problem.draw(n, rng)
        assert one.q is not None
        outcome = np.repeat(one.outcome[:, :, None], self.second_arms, axis=2)
        return PotentialOutcomes(self.design, (*one.contexts, {"x2": one.outcome}), outcome, (*one.q, outcome.copy()))
