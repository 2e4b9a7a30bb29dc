"""Worlds for the oracle and the package alike: all potential contexts and outcomes, drawn beforehand."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np

from dtrbandit.kernels.arrays import Array, Vector
from paper.literal import Arrival, Plan

TWO_BY_TWO: tuple[Plan, ...] = ((0, 0), (0, 1), (1, 0), (1, 1))
THREE_PLANS: tuple[Plan, ...] = ((0, 0), (0, 1), (1, 1))
THREE_STAGES_WITH_GAPS: tuple[Plan, ...] = ((0, 0, 0), (0, 0, 1), (0, 1, 1), (1, 1, 0), (1, 1, 1))


def every_plan(*counts: int) -> tuple[Plan, ...]:
    """Return all combinations of arms, in lexicographic order."""
    return tuple(product(*(range(count) for count in counts)))


@dataclass(frozen=True)
class DrawnWorld:
    """Potential trajectories of n units.

    ``contexts[m]`` is (n, K1, ..., Km, columns), ``responses[m]`` (n, K1, ..., Km): a unit whose response is
    not positive leaves before stage m. ``outcomes`` is (n, K1, ..., KM).
    """

    contexts: tuple[Array, ...]
    responses: tuple[Array, ...]
    outcomes: Array

    def features(self, m: int, t: int, arms: Plan) -> Vector:
        """Return psi_m: an intercept and the columns."""
        return np.concatenate([[1.0], self.contexts[m][(t - 1, *arms)]])

    def leaves(self, t: int, m: int, arms: Plan) -> bool:
        return not self.response(t, m, arms) > 0.0

    def outcome(self, t: int, arms: Plan) -> float:
        """Return Y; where the unit left early, along the axes it never reached, that of arm 0."""
        unseen = (0,) * (self.outcomes.ndim - 1 - len(arms))
        return float(self.outcomes[(t - 1, *arms, *unseen)])

    def response(self, t: int, m: int, arms: Plan) -> float:
        return float(self.responses[m][(t - 1, *arms)])


def draw_world(
    counts: Sequence[int],
    *,
    units: int,
    seed: int,
    columns: int = 1,
    leaving: float = 0.0,
    scales: Sequence[float] | None = None,
) -> DrawnWorld:
    """Draw units whose later contexts and outcome depend on earlier contexts and arms.

    A share ``leaving`` of them leaves before each stage; ``scales`` are the units of the columns.
    """
    rng = np.random.default_rng(seed)
    sizes = np.ones(columns) if scales is None else np.asarray(scales, dtype=np.float64)
    contexts, responses, gain = [], [], np.zeros(units)
    for m, count in enumerate(counts):
        shape = (units, *counts[:m])
        plain = rng.uniform(-1.0, 1.0, (*shape, columns)) + 0.5 * gain[..., None]
        contexts.append(plain * sizes)
        responses.append(rng.uniform(0.0, 1.0, shape) - leaving)
        gain = 0.5 * gain[..., None] + plain @ rng.normal(0.0, 1.0, (columns, count))
        gain = gain + rng.normal(0.0, 0.3, count)
    outcomes = gain + rng.normal(0.0, 0.5, gain.shape)
    return DrawnWorld(tuple(contexts), tuple(responses), outcomes)


def arrivals_without_delay(stages: int, *, units: int) -> list[Arrival]:
    """Return the arrivals (t, m) when every unit ends before the next begins."""
    return [(t, m) for t in range(1, units + 1) for m in range(stages + 1)]


def arrivals_with_delay(stages: int, *, units: int, seed: int, delay: float) -> list[Arrival]:
    """Return the arrivals (t, m) in order of time: Poisson enrolment, exponential delays.

    ``delay`` is the mean time to each response and to the outcome, in mean times between enrolments.
    """
    rng = np.random.default_rng(seed)
    enrolled = np.cumsum(rng.exponential(1.0, units))
    later = rng.exponential(delay, (units, stages)).cumsum(axis=1)
    timed = [(float(enrolled[t]), t + 1, 0) for t in range(units)]
    timed += [(float(enrolled[t] + later[t, m]), t + 1, m + 1) for t in range(units) for m in range(stages)]
    return [(t, m) for _, t, m in sorted(timed)]
