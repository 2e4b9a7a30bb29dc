"""Environments made of others: units from a table, and units for some of whom arms are contraindicated."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from dtrbandit.design.feasibility import arms_left, sets_of
from dtrbandit.design.spec import Design
from dtrbandit.design.values import real, shown, whole
from dtrbandit.environments.potential_outcomes import Environment, PotentialOutcomes, checked, require_environment
from dtrbandit.errors import DesignError
from dtrbandit.kernels.arrays import Mask


@dataclass(frozen=True, eq=False, repr=False)
class Tabulated:
    """Units of a table, in random order or, with ``replace``, drawn with replacement.

    They keep the Q-functions of the table, if it has them.

    Examples
    --------
    >>> from dtrbandit.environments import Synthetic
    >>> table = Tabulated(Synthetic().draw(100, np.random.default_rng(0)))
    >>> table.draw(20, np.random.default_rng(1)).outcome.shape
    (20, 2, 2)
    """

    units: PotentialOutcomes
    replace: bool = False

    def __post_init__(self) -> None:
        checked(self.units)

    @property
    def design(self) -> Design:
        """The design of the units."""
        return self.units.design

    def __repr__(self) -> str:
        """Say which table it is, whatever its size and however numpy prints."""
        digest = hashlib.sha256(self.units.outcome.tobytes())
        for context in self.units.contexts:
            for values in context.values():
                digest.update(values.tobytes())
        return f"<Tabulated of {len(self.units.outcome):,} units {digest.hexdigest()[:12]}, replace={self.replace}>"

    def draw(self, n: int, rng: np.random.Generator) -> PotentialOutcomes:
        """Draw n of the units."""
        n, size = whole(n, "Tabulated: n", low=0), len(self.units.outcome)
        if n > size and not (self.replace and size):
            raise DesignError(f"Tabulated: there are {size} units, found n = {n}; draw fewer, or with replace=True")
        row = rng.integers(size, size=n) if self.replace and size else rng.permutation(size)[:n]
        contexts = tuple({column: values[row] for column, values in context.items()} for context in self.units.contexts)
        q = None if self.units.q is None else tuple(values[row] for values in self.units.q)
        excluded = None if self.units.excluded is None else tuple(values[row] for values in self.units.excluded)
        return PotentialOutcomes(self.units.design, contexts, self.units.outcome[row], q, excluded)


@dataclass(frozen=True)
class Contraindicated:
    """Draws units of another environment, and for each arm named whether it is contraindicated.

    Contraindications are independent of everything else, and known when a unit enrols. They are drawn again for a unit
    that would have no plan left. The Q-functions are known only where arms of the first stage alone can be
    contraindicated. Otherwise Q before a later stage is a mean over contexts of the best arm that is left, which the
    other environment does not tell.

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
            waiting = waiting[~self._has_plan(tuple(mask[waiting] for mask in excluded))]
        later = any(p > 0 for stage in chances[1:] for p in stage)
        return units._replace(q=None if later else units.q, excluded=excluded)

    def _has_plan(self, excluded: tuple[Mask, ...]) -> Mask:
        """Return for whom a plan is left."""
        number, sets = sets_of(excluded, len(excluded[0]))
        left = np.array([any(arms_left(self.design.tree, each)[0]) for each in sets])
        return np.asarray(left[number])
