"""What holds of the levels of an exact learner at all times: the proof of exactness rests on it (EXACT_ONLINE_Q)."""

from __future__ import annotations

import numpy as np
import pytest

from dtrbandit.estimators.levels import Levels
from dtrbandit.kernels import constants as c
from estimators.oracle import Both


def chain(learner: Levels, m: int, level: int) -> list[int]:
    """Return the slots of a level of link ``m``, in order."""
    slots: list[int] = []
    block, left = learner.head[m, level], learner.fill[m, level]
    while left > 0:
        slots += range(block * c.BLOCK, block * c.BLOCK + min(left, c.BLOCK))
        block, left = learner.follows[m, block], left - c.BLOCK
    return slots


def labels(learner: Levels, m: int) -> dict[int, int]:
    """Return the label of each unit that is in a level of link ``m``."""
    slots = [slot for level in range(learner.depth[m]) for slot in chain(learner, m, level)]
    return {learner.units[m, slot]: learner.labels[m, slot] for slot in slots}


def level_of(learner: Levels, unit: int) -> int:
    """Return the level of a unit in the first link."""
    return next(
        level
        for level in range(learner.depth[0])
        if unit in [learner.units[0, slot] for slot in chain(learner, 0, level)]
    )


def assert_sound(both: Both, m: int) -> None:
    """Require of link ``m`` all that the proof of exactness rests on (EXACT_ONLINE_Q)."""
    learner, d, arms = both.learner, both.design.dimensions[m + 1], both.design.arm_counts[m + 1]
    white = np.asarray(learner.white)[np.asarray(learner.problem)[m + 1, :arms], :d]
    whitener = np.triu(np.asarray(learner.whitener)[m, :d, :d])
    assert white == pytest.approx(both.coefficients()[m + 1] @ whitener.T)
    size = 1.0 + np.abs(white).max()
    for level in range(learner.depth[m]):
        slots = chain(learner, m, level)
        if not slots:
            continue
        reference, radius = np.asarray(learner.references)[m, level, :arms, :d], learner.radius[m, level]
        moved = white - reference
        known = [a for a in range(arms) if learner.rows[m + 1, a] > 0]
        apart = max(np.linalg.norm(moved[a] - moved[b]) for a in known for b in known)
        assert learner.slack[m, level] <= radius - apart + 1e-9 * size or level == learner.depth[m] - 1
        for slot in slots:
            cell = np.asarray(learner.cells)[m, slot, :d]
            unit_cell = np.linalg.solve(whitener.T, cell)  # C⁻ᵀψ, of length 1
            assert np.linalg.norm(unit_cell) == pytest.approx(1.0)
            feasible = [a for a in known if both.observed.child[learner.nodes[m, slot], a] >= 0]
            label = learner.labels[m, slot]
            now, then = white @ unit_cell, reference @ unit_cell
            others = [a for a in feasible if a != label]
            assert label in feasible
            assert all(now[label] >= now[a] - 1e-9 * size for a in others)
            if level < learner.depth[m] - 1:  # the last takes every unit
                assert all(then[label] - then[a] >= radius - 1e-9 * size for a in others)


def assert_blocks_are_used_once(learner: Levels, m: int) -> None:
    """Require that each block is in one chain or free, and each unit in one level."""
    chained = [chain(learner, m, level) for level in range(learner.depth[m])]
    blocks = [block for slots in chained for block in dict.fromkeys(slot // c.BLOCK for slot in slots)]
    units = [learner.units[m, slot] for slots in chained for slot in slots]
    free = learner.free[m]
    while free >= 0:
        blocks.append(free)
        free = learner.follows[m, free]
    assert sorted(blocks) == list(range(learner.used[m]))
    assert len(units) == len(set(units)) == learner.held[m]


def assert_cross_moments_are_sums(both: Both, m: int) -> None:
    """Require X[a, k]ᵀ = Σ ψ_{m+1} ψ_mᵀ over the rows of arm a whose best arm at the next stage is k."""
    learner, held = both.learner, labels(both.learner, m)
    d, e, arms = both.design.dimensions[m], both.design.dimensions[m + 1], both.design.arm_counts
    expected = np.zeros((arms[m], arms[m + 1], e, d))
    for unit, fact in both.facts.items():
        if learner.counted[unit, m] and m + 1 in fact.psi:
            feasible = [a for a in range(arms[m + 1]) if both.design.tree.feasible[fact.node[m + 1]][a]]
            known = [a for a in feasible if learner.rows[m + 1, a] > 0]
            values = [both.coefficients()[m + 1][a] @ fact.psi[m + 1] for a in known]
            label = held.get(unit, known[int(np.argmax(values))])  # one that is not held has one contender, or zeros
            expected[fact.arm[m], label] += np.outer(fact.psi[m + 1], fact.psi[m])
    problems = np.asarray(learner.problem)[m, : arms[m]]
    found = np.asarray(learner.cross)[problems][:, : arms[m + 1], :e, :d]
    assert found == pytest.approx(expected, rel=1e-9, abs=1e-9 * (1.0 + np.abs(expected).max()))
