"""Which labels can have changed: units are placed by their current lead."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest

from dtrbandit.estimators.exact_layout import (
    BLOCK,
    FILL,
    HEAD,
    HELD,
    LABEL,
    LEVELS,
    OLD_FILL,
    OLD_HEAD,
    RADIUS,
    RECHECKS,
    ROWS,
    SLACK,
    UNIT,
    USED,
    Beliefs,
)
from dtrbandit.estimators.levels import expire, find_level
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


def test_a_unit_enters_the_widest_level_whose_radius_its_lead_exceeds() -> None:
    gauges = np.zeros((1, 2, LEVELS + 1))
    gauges[0, RADIUS, :4] = gauges[0, SLACK, :4] = [8.0, 4.0, 2.0, 0.0]  # no level has moved yet

    assert [find_level(gauges, 0, 0, 4, lead) for lead in (9.0, 8.0, 7.0, 3.0, 1.0, 0.0)] == [0, 0, 1, 2, 3, 3]
    assert find_level(gauges, 0, 3, 4, 9.0) == 0  # wherever the search begins


def test_a_level_that_has_moved_asks_for_a_longer_lead() -> None:
    """With radius 4 and slack 1 the coefficients have moved by 3: only a lead of 7 is safe."""
    gauges = np.zeros((1, 2, LEVELS + 1))
    gauges[0, RADIUS, :2] = gauges[0, SLACK, :2] = [4.0, 0.0]
    gauges[0, SLACK, 0] = 1.0

    assert find_level(gauges, 0, 0, 2, 7.0) == 0
    assert find_level(gauges, 0, 0, 2, 6.9) == 1


def test_a_level_expires_when_it_has_moved_as_far_as_its_radius() -> None:
    chains, gauges = np.zeros((1, LEVELS + 1, 5), dtype=np.int64), np.zeros((1, 2, LEVELS + 1))
    gauges[0, RADIUS, 0], chains[0, 0, HEAD], chains[0, 0, FILL] = 4.0, 7, 3

    assert not expire(chains, gauges, 0, 0, 1.5)
    assert gauges[0, SLACK, 0] == 2.5
    assert expire(chains, gauges, 0, 0, 4.0)
    assert chains[0, 0, [FILL, OLD_HEAD, OLD_FILL]].tolist() == [0, 7, 3]
    assert gauges[0, SLACK, 0] == 4.0


def test_blocks_that_were_given_back_are_used_again() -> None:
    """Units come and wait: the levels hold each once, in no more blocks than there is room for."""
    both = Both(bare_design(all_plans(1, 3), [1, 3], [1, 2]))
    rng = np.random.default_rng(3)
    for unit in range(400):
        both.arrive(unit, 0, 0, [1.0])
        both.arrive(unit, 1, both.give(unit, 0, 0), rng.normal(size=2))
        both.give(unit, 1, unit % 3)
        both.complete(unit, 1, float(rng.normal()))

    beliefs = both.beliefs
    held = labels(beliefs, 0)
    assert len(held) == beliefs.chains[0, LEVELS, HELD] <= 400
    assert beliefs.chains[0, LEVELS, USED] <= beliefs.follows.shape[1]
    assert beliefs.sizes[RECHECKS] > 0
    values = both.state.observed.features[list(held), 1, :2] @ both.coefficients()[1].T
    assert values[np.arange(len(held)), list(held.values())] == pytest.approx(values.max(axis=1))
