"""Which units' labels can have changed: levels of shrinking radius.

The label of a row is the best arm of the next stage at its unit's features. It can flip
only if some pair of arms has moved apart by more than the unit's lead. Level l has a
radius r_l and remembers the coefficients at which it was last checked, its *reference*.
Lengths are measured so that |Δ·ψ| ≤ ‖CΔ‖ ‖C⁻ᵀψ‖, with CᵀC the pooled Gram matrix of ψ.

* Displacement of a level: the most any pair of arms has moved apart since its reference.
* Slack: a lower bound of radius minus displacement. Each scan takes off the length of
  the step just made; only when nothing is left is the displacement itself measured.
* A unit may enter a level if its *current* lead is at least radius + displacement, for
  then its lead at the reference was at least the radius, and while the displacement is
  less than that the label stands. (The lead at the reference alone says nothing.)
* The last level takes every unit. Its radius is rounding error: closer than that, two
  arms give the same target.

Units of a level lie in a chain of blocks, in the order in which they came, with all that
a re-check reads: contiguous memory, and one product when there are two arms.
"""

from __future__ import annotations

import math

import numpy as np

from dtrbandit.estimators.exact_layout import (
    BLOCK,
    DEPTH,
    FILL,
    FLIPS,
    FREE,
    HEAD,
    HELD,
    LABEL,
    LEVELS,
    NODE,
    OLD_FILL,
    OLD_HEAD,
    PATH,
    RADIUS,
    RECHECKS,
    ROWS,
    SLACK,
    STEPS,
    TAIL,
    UNIT,
    USED,
    Beliefs,
)
from dtrbandit.estimators.labels import arm_of, flip, label_of
from dtrbandit.estimators.metric import whitened_length
from dtrbandit.estimators.observed import Observed
from dtrbandit.kernels.arrays import Floats, Integers, Vector, Whole
from dtrbandit.kernels.compile import kernel
from dtrbandit.kernels.triangular import BETA, GAP, WHITE

ROUNDING = 1e-14  # of the length of the coefficients
SHRINK = 2.0  # from one radius to the next
NARROWEST = 0.5  # smallest radius, in usual steps


@kernel
def displacement(
    pages: Floats, tallies: Integers, references: Floats, shape: Integers, m: Whole, level: Whole
) -> float:
    """Return the most any two arms of stage m + 1 have moved apart since a reference."""
    most = 0.0
    for a in range(1, shape[m + 1, 0]):
        for b in range(a):
            if tallies[m + 1, a, ROWS] > 0 and tallies[m + 1, b, ROWS] > 0:
                total = 0.0
                for j in range(shape[m + 1, 1]):
                    moved_a = pages[m + 1, a, WHITE, j] - references[m, level, a, j]
                    moved_b = pages[m + 1, b, WHITE, j] - references[m, level, b, j]
                    total += (moved_a - moved_b) * (moved_a - moved_b)
                most = max(most, total)
    return math.sqrt(most)


@kernel
def refer(pages: Floats, references: Floats, shape: Integers, m: Whole, level: Whole) -> None:
    """Make the current coefficients the reference of a level."""
    for a in range(shape[m + 1, 0]):
        for j in range(shape[m + 1, 1]):
            references[m, level, a, j] = pages[m + 1, a, WHITE, j]


@kernel
def find_level(gauges: Floats, m: Whole, start: Whole, depth: Whole, lead: float) -> Whole:
    """Return the widest level that may take a unit with this lead, looking from ``start``."""
    level = start
    while level > 0 and gauges[m, RADIUS, level - 1] <= lead:
        level -= 1
    while level < depth - 1 and lead < 2.0 * gauges[m, RADIUS, level] - gauges[m, SLACK, level]:
        level += 1
    return level


@kernel
def open_block(observed: Observed, beliefs: Beliefs, m: Whole, level: Whole) -> None:
    """Lengthen a level's chain by a block: one given back earlier, or one never used.

    A level that was empty takes the current coefficients as its reference.
    """
    chains, follows = beliefs.chains, beliefs.follows
    block = chains[m, LEVELS, FREE]
    if block >= 0:
        chains[m, LEVELS, FREE] = follows[m, block]
    else:
        block = chains[m, LEVELS, USED]
        chains[m, LEVELS, USED] = block + 1
    if chains[m, level, FILL] == 0:
        chains[m, level, HEAD] = block
        refer(beliefs.pages, beliefs.references, observed.shape, m, level)
    else:
        follows[m, chains[m, level, TAIL]] = block
    chains[m, level, TAIL] = block


@kernel
def next_slot(chains: Integers, m: Whole, level: Whole) -> Whole:
    """Take the next slot of a level's last block."""
    fill = chains[m, level, FILL]
    chains[m, level, FILL] = fill + 1
    slot: Whole = chains[m, level, TAIL] * BLOCK + fill % BLOCK
    return slot


@kernel
def place(
    observed: Observed, beliefs: Beliefs, m: Whole, unit: Whole, node: Whole, label: Whole, lead: float, psi: Vector
) -> None:
    """Put a unit, with its node and features at stage m + 1, into its level; if these are all zero it needs none."""
    chains, cells, tags, d = beliefs.chains, beliefs.cells, beliefs.tags, observed.shape[m + 1, 1]
    length = whitened_length(beliefs.pages, beliefs.whitener, psi, m, d)
    if length > 0.0:
        level = find_level(beliefs.gauges, m, np.int64(0), chains[m, LEVELS, DEPTH], lead / length)
        if chains[m, level, FILL] % BLOCK == 0:
            open_block(observed, beliefs, m, level)
        slot = next_slot(chains, m, level)
        for j in range(d):
            cells[m, slot, j] = psi[j] / length
        tags[m, slot, UNIT] = unit
        tags[m, slot, NODE] = node
        tags[m, slot, LABEL] = label
        chains[m, LEVELS, HELD] += 1


@kernel
def scan(observed: Observed, beliefs: Beliefs, m: Whole) -> None:
    """Bring the labels of link ``m`` up to date with the coefficients of stage m + 1."""
    pages, tallies, shape = beliefs.pages, beliefs.tallies, observed.shape
    chains, gauges, references = beliefs.chains, beliefs.gauges, beliefs.references
    latest, depth, expired = np.int64(LEVELS), chains[m, LEVELS, DEPTH], False
    step = displacement(pages, tallies, references, shape, m, latest)
    if step > 0.0:
        refer(pages, references, shape, m, latest)
        gauges[m, PATH, LEVELS] += step
        gauges[m, STEPS, LEVELS] += 1.0
        for level in range(depth):
            if chains[m, level, FILL] > 0:
                gauges[m, SLACK, level] -= step
                if gauges[m, SLACK, level] <= 0.0:
                    moved = displacement(pages, tallies, references, shape, m, level)
                    expired = expire(chains, gauges, m, level, moved) or expired
    if expired:
        set_gap(pages, shape, m)
        for level in range(depth):
            if chains[m, level, OLD_FILL] > 0:
                recheck(observed, beliefs, m, level)


@kernel
def expire(chains: Integers, gauges: Floats, m: Whole, level: Whole, moved: float) -> bool:
    """Renew a level's slack; if the radius is used up, detach its chain and tell so."""
    if moved < gauges[m, RADIUS, level]:
        gauges[m, SLACK, level] = gauges[m, RADIUS, level] - moved
        return False
    chains[m, level, OLD_HEAD] = chains[m, level, HEAD]
    chains[m, level, OLD_FILL] = chains[m, level, FILL]
    chains[m, level, FILL] = 0
    gauges[m, SLACK, level] = gauges[m, RADIUS, level]
    return True


@kernel
def set_gap(pages: Floats, shape: Integers, m: Whole) -> None:
    """Keep the difference of two arms' coefficients, for re-checks by one product."""
    if shape[m + 1, 0] == 2:
        for j in range(shape[m + 1, 1]):
            pages[m, 0, GAP, j] = pages[m + 1, 0, BETA, j] - pages[m + 1, 1, BETA, j]


@kernel
def recheck(observed: Observed, beliefs: Beliefs, m: Whole, level: Whole) -> None:
    """Relabel the units of a detached chain and place them again."""
    chains, follows = beliefs.chains, beliefs.follows
    block, left = chains[m, level, OLD_HEAD], chains[m, level, OLD_FILL]
    beliefs.sizes[RECHECKS] += left
    chains[m, level, OLD_FILL] = 0
    while left > 0:
        recheck_block(observed, beliefs, m, level, block * BLOCK, min(left, BLOCK))
        following = np.int64(follows[m, block])
        follows[m, block] = chains[m, LEVELS, FREE]
        chains[m, LEVELS, FREE] = block
        block = following
        left -= BLOCK


@kernel
def recheck_block(observed: Observed, beliefs: Beliefs, m: Whole, level: Whole, first: Whole, count: Whole) -> None:
    """Relabel and place again the units in ``count`` slots from ``first``."""
    pages, tallies, child, shape = beliefs.pages, beliefs.tallies, observed.child, observed.shape
    cells, tags, gauges, chains = beliefs.cells[m], beliefs.tags[m], beliefs.gauges, beliefs.chains
    pair, d, depth = shape[m + 1, 0] == 2, shape[m + 1, 1], chains[m, LEVELS, DEPTH]
    for slot in range(first, first + count):
        if pair:  # both are contenders: one product
            lead = 0.0
            for j in range(d):
                lead += pages[m, 0, GAP, j] * cells[slot, j]
            label = 1 if lead < 0.0 else 0
            lead = abs(lead)
        else:
            label, lead, _ = label_of(pages, tallies, child, shape, m + 1, np.int64(tags[slot, NODE]), cells[slot])
        target = find_level(gauges, m, level, depth, lead)
        if chains[m, target, FILL] % BLOCK == 0:
            open_block(observed, beliefs, m, target)
        goal = next_slot(chains, m, target)
        for j in range(d):
            cells[goal, j] = cells[slot, j]
        unit, old = np.int64(tags[slot, UNIT]), np.int64(tags[slot, LABEL])
        tags[goal, UNIT] = unit
        tags[goal, NODE] = tags[slot, NODE]
        tags[goal, LABEL] = label
        if label != old:
            flip(pages, observed.features, shape, m, arm_of(observed, unit, m), unit, old, label)
            beliefs.sizes[FLIPS] += 1


@kernel
def clear_levels(observed: Observed, beliefs: Beliefs, m: Whole) -> None:
    """Empty the levels of link ``m`` and set their radii.

    From how far apart the arms are down to half the usual step: a level narrower than
    that would expire every time.
    """
    chains, gauges = beliefs.chains, beliefs.gauges
    radius, length = spread(beliefs.pages, observed.shape, m)
    usual_step = gauges[m, PATH, LEVELS] / max(gauges[m, STEPS, LEVELS], 1.0)
    depth = 1
    while depth < LEVELS and radius > NARROWEST * usual_step:
        set_radius(beliefs, m, depth - 1, radius)
        depth += 1
        radius /= SHRINK
    set_radius(beliefs, m, depth - 1, ROUNDING * length)
    chains[m, LEVELS, FREE] = -1
    chains[m, LEVELS, USED] = 0
    chains[m, LEVELS, HELD] = 0
    chains[m, LEVELS, DEPTH] = depth
    gauges[m, PATH, LEVELS] = 0.0
    gauges[m, STEPS, LEVELS] = 0.0
    refer(beliefs.pages, beliefs.references, observed.shape, m, np.int64(LEVELS))


@kernel
def set_radius(beliefs: Beliefs, m: Whole, level: Whole, radius: float) -> None:
    """Make a level empty and give it a radius."""
    beliefs.chains[m, level, FILL] = 0
    beliefs.gauges[m, RADIUS, level] = radius
    beliefs.gauges[m, SLACK, level] = radius


@kernel
def spread(pages: Floats, shape: Integers, m: Whole) -> tuple[float, float]:
    """Return the largest whitened distance between two arms, and the largest length."""
    d, apart, longest = shape[m + 1, 1], 0.0, 0.0
    for a in range(shape[m + 1, 0]):
        for b in range(a + 1):
            distance, length = 0.0, 0.0
            for j in range(d):
                value = pages[m + 1, a, WHITE, j]
                gap = value - pages[m + 1, b, WHITE, j]
                distance += gap * gap
                length += value * value
            apart, longest = max(apart, distance), max(longest, length)
    if longest == 0.0:
        return 1.0, 0.0
    if apart <= ROUNDING * longest:
        apart = longest
    return math.sqrt(apart), math.sqrt(longest)
