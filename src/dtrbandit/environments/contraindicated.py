"""Units of another environment, for some of whom arms are contraindicated."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from dtrbandit.design.spec import Design
from dtrbandit.design.values import real, shown
from dtrbandit.environments.potential_outcomes import Environment, PotentialOutcomes, require_environment
from dtrbandit.errors import DesignError
from dtrbandit.kernels.arrays import Mask


@dataclass(frozen=True)
class Contraindicated:
    """Draws units of another environment, and for each arm named whether it is contraindicated.

    This is independent of everything else, and known when a unit enrols. A unit that no plan would be left for is drawn
    again. The Q-functions are known only where arms of the first stage alone are contraindicated: before a later stage,
    Q is the mean over contexts of the best arm that is left, which other environments do not tell.

    Parameters
    ----------
    exclude
        For stages by name, for arms by name: the probability of a contraindication.

    Examples
    --------
    >>> from dtrbandit.environments import Synthetic
    >>> some = Contraindicated(Synthetic(), {"second": {"1": 0.2}})
    >>> some.draw(1000, np.random.default_rng(0)).excluded[1].mean(axis=0).round(1)
    array([0.2, 0. ])
    """

    environment: Environment
    exclude: Mapping[str, Mapping[str, float]]

    def __post_init__(self) -> None:
        require_environment(self.environment, "Contraindicated")
        _ = self._chances()
        certain = {(m, a) for m, stage in enumerate(self._chances()) for a, p in enumerate(stage) if p == 1}
        if all(certain & set(enumerate(plan)) for plan in self.design.arm_plans):
            raise DesignError("Contraindicated: with these probabilities no plan is ever left; make one below 1")

    @property
    def design(self) -> Design:
        """The design of the other environment."""
        return self.environment.design

    def _chances(self) -> list[list[float]]:
        """Return the probabilities of all arms, or say what is wrong."""
        stages = {stage.name: stage.arms for stage in self.design.stages}
        for name, arms in self.exclude.items():
            unknown = [arm for arm in arms if arm not in stages.get(name, ())]
            if name not in stages or unknown:
                allowed = list(stages[name]) if name in stages else list(stages)
                found = shown(unknown[0] if name in stages else name)
                raise DesignError(f"Contraindicated: exclude names {found}, allowed are {allowed}")
        return [
            [
                real(self.exclude.get(name, {}).get(arm, 0.0), f"Contraindicated: {name}, {arm}", low=0.0, high=1.0)
                for arm in arms
            ]
            for name, arms in stages.items()
        ]

    def draw(self, n: int, rng: np.random.Generator) -> PotentialOutcomes:
        """Draw n units, the same as the other environment draws, and what is contraindicated for them."""
        units, chances = self.environment.draw(n, rng), self._chances()
        excluded = tuple(np.zeros((n, len(stage)), dtype=np.bool_) for stage in chances)
        waiting = np.arange(n)
        while len(waiting):
            for mask, stage in zip(excluded, chances, strict=True):
                mask[waiting] = rng.random((len(waiting), len(stage))) < stage
            waiting = waiting[~self._possible(tuple(mask[waiting] for mask in excluded))]
        later = any(p > 0 for stage in chances[1:] for p in stage)
        return units._replace(q=None if later else units.q, excluded=excluded)

    def _possible(self, excluded: tuple[Mask, ...]) -> Mask:
        """Return for whom a plan is left."""
        possible = np.zeros(len(excluded[0]), dtype=np.bool_)
        for plan in self.design.arm_plans:
            possible |= ~np.any([mask[:, arm] for mask, arm in zip(excluded, plan, strict=True)], axis=0)
        return possible
