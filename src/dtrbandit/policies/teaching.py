"""What units of an earlier trial teach a built-in policy: rows of Q̂, and nothing else.

They are numbered from 0, and those who enrol come after them. No policy notes them. So they have no place in a
schedule, count for no initial pull, and have no rows of Q̃.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dtrbandit.design.spec import Design
from dtrbandit.errors import ProtocolError
from dtrbandit.kernels.arrays import Matrix, Vector
from dtrbandit.kernels.constants import ARRIVED, COMPLETED, LEFT
from dtrbandit.policies.state import PolicyState
from dtrbandit.record.histories import History

Call = tuple[int, int, int, int, int, float]  # fact, unit, stage, node, arm, value


class Lessons(NamedTuple):
    """What some units teach: their number, and their facts as ``PolicyState.take_all`` takes them, units from 0."""

    units: int
    numbers: NDArray[np.int64]
    values: Vector
    features: Matrix


def lessons_of(design: Design, histories: Sequence[History]) -> Lessons:
    """Return what units teach, whose histories are those of ``Taught`` facts."""
    calls = [told for unit, history in enumerate(histories) for told in _calls(design, history, unit)]
    features = np.zeros((len(calls), max(design.dimensions)))
    for row, (_, psi) in zip(features, calls, strict=True):
        if psi is not None:
            row[: len(psi)] = psi
    numbers = np.array([call[:5] for call, _ in calls], dtype=np.int64).reshape(-1, 5)
    return Lessons(len(histories), numbers, np.array([call[5] for call, _ in calls]), features)


def teach(state: PolicyState, lessons: Lessons) -> None:
    """Let a policy learn from units of an earlier trial, before the first unit enrols."""
    units, numbers, values, features = lessons
    own = numbers.copy()
    own[:, 1] += state.taught
    state.make_room_for_taught(units)
    taken = state.take_all(own, values, features)
    if taken < len(own):
        fact, unit, m = own[taken, :3].tolist()
        raise ProtocolError(f"unit {unit + 1} of the earlier trial, stage {m + 1}: fact {fact} does not fit")


def _calls(design: Design, history: History, unit: int) -> list[tuple[Call, Vector | None]]:
    """Return the facts of a unit: arrivals with their arms, then that it left, and its outcome."""
    _, _, node, features, arms, _, outcome, _ = history
    calls: list[tuple[Call, Vector | None]] = [
        ((ARRIVED, unit, m, design.tree.after(arms[:m]), arm, 0.0), features[m]) for m, arm in enumerate(arms)
    ]
    m = len(arms)
    if len(features) > m:  # it left at this stage, or entered it and dropped out
        calls.append(((ARRIVED if outcome is None else LEFT, unit, m, node, -1, 0.0), features[m]))
    elif outcome is not None and m < len(design.stages):
        calls.append(((LEFT, unit, m, -1, -1, 0.0), None))
    if outcome is not None:
        calls.append(((COMPLETED, unit, m - 1, -1, -1, outcome), None))
    return calls
