"""Units from a table of potential outcomes."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

import numpy as np

from dtrbandit.design.spec import Design
from dtrbandit.design.values import whole
from dtrbandit.environments.potential_outcomes import PotentialOutcomes, checked
from dtrbandit.errors import DesignError


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
