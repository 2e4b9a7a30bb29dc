"""Random problems whose Q-functions are exactly linear at every stage, with a margin of any exponent.

This is the trick of the paper's section 5.2, for any number of stages, arms and features. The next context comes
from a mixture of two laws whose weight is linear in the features of this stage. So every conditional mean of the next
stage is linear in these features too. ``docs/environments.md`` has the construction and its proof.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import cached_property, partial
from math import prod

import numpy as np

from dtrbandit.design.feasibility import MOST_PLANS
from dtrbandit.design.spec import MOST_STAGES, Design
from dtrbandit.design.stages import MOST_ARMS, Stage
from dtrbandit.design.values import check_fields, each, positive, real, shown, spread, whole
from dtrbandit.environments.linear_stage import LinearStage, linear_stage
from dtrbandit.environments.potential_outcomes import PotentialOutcomes, units_first
from dtrbandit.errors import DesignError
from dtrbandit.kernels.arrays import Array

MOST_FEATURES = 256


@dataclass(frozen=True, kw_only=True)
class Linear:
    """A random problem with exactly linear Q-functions; the same parameters give the same problem.

    The gap is the difference between the best and the second-best Q. At every stage with two or more competitive arms,
    after every history, P(gap ≤ κ) = κ^α for κ ≤ 1 (labels "assumption: margin", "assumption: margin k arms"). With
    one competitive arm the gap is at least 1. Features have length √d_m at most.

    Parameters
    ----------
    arms, dimension, margin, suboptimal
        The number of arms, the number d_m ≥ 2 of features (1 and d_m − 1 columns), the exponent α > 0, and how many
        of the arms are worse by at least 1 everywhere: a number each, or one per stage.
    noise
        The standard deviation of outcomes around Q_M.
    seed
        Of the problem, not of the draws.

    Examples
    --------
    >>> problem = Linear(stages=3, arms=(2, 3, 2), margin=0.5)
    >>> units = problem.draw(5, np.random.default_rng(0))
    >>> units.outcome.shape, problem.coefficients[1].shape
    ((5, 2, 3, 2), (3, 2))
    """

    stages: int = 2
    arms: int | tuple[int, ...] = 2
    dimension: int | tuple[int, ...] = 2
    margin: float | tuple[float, ...] = 1.0
    suboptimal: int | tuple[int, ...] = 0
    noise: float = 1.0
    seed: int = 0

    def __post_init__(self) -> None:
        check_fields(self, partial(whole, low=1, high=MOST_STAGES), "stages")
        check_fields(self, partial(each, check=partial(whole, low=1, high=MOST_ARMS)), "arms")
        check_fields(self, partial(each, check=partial(whole, low=2, high=MOST_FEATURES)), "dimension")
        check_fields(self, partial(each, check=positive), "margin")
        check_fields(self, partial(each, check=partial(whole, low=0, high=MOST_ARMS)), "suboptimal")
        check_fields(self, real, "noise")
        check_fields(self, partial(whole, low=0), "seed")
        if prod(arms for arms, *_ in self._parameters) > MOST_PLANS:
            raise DesignError(
                f"Linear: {shown(self.arms)} arms make more than {MOST_PLANS} plans; take fewer arms or stages"
            )
        for m, (arms, _, _, suboptimal) in enumerate(self._parameters, 1):
            if suboptimal >= arms:
                raise DesignError(
                    f"Linear: stage {m} has {arms} arms, so at most {arms - 1} suboptimal ones, found {suboptimal}"
                )

    @cached_property
    def design(self) -> Design:
        """Every plan feasible; the features of stage m are 1, ``x<m>_1``, ``x<m>_2`` and so on."""
        return Design(
            [
                Stage(f"stage{m}", tuple(str(arm + 1) for arm in range(arms)), " + ".join(["1", *_columns(m, d)]))
                for m, (arms, d, _, _) in enumerate(self._parameters, 1)
            ]
        )

    @property
    def coefficients(self) -> tuple[Array, ...]:
        """The true coefficients of each stage, (K_m, d_m)."""
        return tuple(stage.coefficients.copy() for stage in self._stages)

    @property
    def optimal_value(self) -> float:
        """The mean outcome of the optimal regime, E max_a Q₁."""
        return self._stages[0].mean_best

    def draw(self, n: int, rng: np.random.Generator) -> PotentialOutcomes:
        """Draw n units with their true Q-functions."""
        contexts, q = [], []
        value = np.full(whole(n, "Linear: n", low=0), self.optimal_value)
        for m, stage in enumerate(self._stages, 1):
            x = stage.draw(value, rng)
            value = stage.q(x)
            q.append(value)
            contexts.append(dict(zip(_columns(m, len(x) + 1), map(units_first, x), strict=True)))
        outcome = value + self.noise * rng.standard_normal(value.shape)
        return PotentialOutcomes(self.design, tuple(contexts), units_first(outcome), tuple(map(units_first, q)))

    @cached_property
    def _stages(self) -> tuple[LinearStage, ...]:
        """Build the stages forwards, each wide enough for the values of the one before; then shift them to match."""
        stages: list[LinearStage] = []
        for m, (arms, d, margin, suboptimal) in enumerate(self._parameters):
            before, rng = stages[-1].width if stages else None, np.random.default_rng([self.seed, m])
            stages.append(linear_stage(arms, d - 1, margin=margin, suboptimal=suboptimal, before=before, rng=rng))
        for m in reversed(range(self.stages - 1)):
            stages[m] = stages[m].shifted(stages[m + 1].mean_best)
        return tuple(stages)

    @property
    def _parameters(self) -> list[tuple[int, int, float, int]]:
        """Arms, dimension, margin and suboptimal arms of each stage."""
        names = "arms", "dimension", "margin", "suboptimal"
        return list(zip(*(spread(getattr(self, name), self.stages, f"Linear: {name}") for name in names), strict=True))


def _columns(m: int, d: int) -> list[str]:
    return [f"x{m}_{j}" for j in range(1, d)]


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
        check_fields(self, partial(whole, low=1, high=MOST_ARMS), "second_arms")
        _ = self.problem  # refuses the other parameters

    @cached_property
    def problem(self) -> Linear:
        """The one-stage problem."""
        own = {field.name: getattr(self, field.name) for field in fields(self) if field.name != "second_arms"}
        return Linear(stages=1, **own)

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
