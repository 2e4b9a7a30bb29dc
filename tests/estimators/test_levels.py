"""Which labels can have changed: units are placed by their current lead."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest

from dtrbandit.estimators.exact_layout import BLOCK, LABEL, LEVELS, ROWS, UNIT, Beliefs
from dtrbandit.kernels.triangular import BETA
from estimators.oracle import Both, bare_design


def all_plans(*arms: int) -> list[tuple[int, ...]]:
    return list(product(*map(range, arms)))


def labels(beliefs: Beliefs, m: int) -> dict[int, int]:
    """Return the label of each unit that is in a level of link ``m``."""
    found = {}
    for level in range(LEVELS):
        block, _, left = beliefs.chains[m, level, :3].tolist()
        while left > 0:
            for slot in range(block * BLOCK, block * BLOCK + min(left, BLOCK)):
                found[int(beliefs.tags[m, slot, UNIT])] = int(beliefs.tags[m, slot, LABEL])
            block, left = int(beliefs.follows[m, block]), left - BLOCK
    return found


def test_a_unit_is_placed_by_its_current_lead_not_by_the_lead_at_the_reference() -> None:
    """The careless placement of EXACT_ONLINE_Q: coefficients go from +5 to -5, a unit enters, and they come back."""
    both = Both(bare_design(all_plans(1, 2), [1, 2], [1, 1]))

    def enrol(unit: int, arm: int | None = None, outcome: float = 0.0) -> None:
        both.arrive(unit, 0, 0, [1.0])
        both.arrive(unit, 1, both.give(unit, 0, 0), [1.0])
        both.give(unit, 1, arm or 0)
        if arm is not None:  # else its outcome never comes
            both.complete(unit, 1, outcome)

    enrol(0, 0, 5.0)
    enrol(1, 1, 0.0)
    for turn, mean in enumerate((5.0, -5.0, 5.0, -5.0, 5.0)):
        rows = both.beliefs.tallies[1, 0, ROWS]
        total = both.beliefs.pages[1, 0, BETA, 0] * rows
        enrol(2 + 2 * turn, 0, mean * (rows + 1) - total)  # arm 0's coefficient is now ``mean``
        enrol(3 + 2 * turn)

        assert both.beliefs.pages[1, 0, BETA, 0] == pytest.approx(mean)
        assert set(labels(both.beliefs, 0).values()) == {0 if mean > 0 else 1}
        assert both.error() < 1e-10


@pytest.mark.parametrize("seed", range(8))
def test_labels_are_right_while_coefficients_wander_to_and_fro(seed: int) -> None:
    """Units wait in all directions while arm 0's coefficients move about their start, as far as the levels are wide.

    A unit that enters a level when the coefficients are far from its reference can flip before the level expires,
    unless the level takes only units whose lead exceeds the radius by as much.
    """
    rng = np.random.default_rng(seed)
    both, units = Both(bare_design(all_plans(1, 2), [1, 2], [1, 2])), iter(range(1000))
    place = np.array([2.0, 0.0])

    def enrol(psi: Any, arm: int | None = None, outcome: float = 0.0) -> None:
        unit = next(units)
        both.arrive(unit, 0, 0, [1.0])
        both.arrive(unit, 1, both.give(unit, 0, 0), psi)
        both.give(unit, 1, arm or 0)
        if arm is not None:  # else its outcome never comes
            both.complete(unit, 1, outcome)

    for arm, j in product((0, 1), (0, 1)):
        enrol(np.eye(2)[j], arm, place[j] if arm == 0 else 0.0)
    for _ in range(120):
        enrol(rng.normal(size=2))
        j, moved = int(rng.integers(2)), rng.normal(scale=0.7)
        rows = sum(fact.last == 1 and fact.arm[1] == 0 and fact.psi[1][j] == 1.0 for fact in both.facts.values())
        goal = np.array([2.0, 0.0])[j] + moved
        enrol(np.eye(2)[j], 0, goal * (rows + 1) - place[j] * rows)  # the coefficient is now ``goal``
        place[j] = goal

        assert both.coefficients()[1][0] == pytest.approx(place)
        assert both.error() < 1e-9
