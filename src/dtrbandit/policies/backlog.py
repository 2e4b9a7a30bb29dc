"""Many facts at once: a long log is resumed by some thousands of facts in one call."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from struct import Struct

import numpy as np
from numpy.typing import NDArray

from dtrbandit.design.feasibility import Barred
from dtrbandit.design.formula import Matrix, Vector
from dtrbandit.errors import ProtocolError
from dtrbandit.kernels.constants import ARRIVED, COMPLETED, LEFT, LOST
from dtrbandit.policies.state import PolicyState
from dtrbandit.record.stretch import Stretch

AT_ONCE = 4_096  # facts that wait at most
Call = tuple[int, int, int, int, int, float]  # fact, unit, stage, node, arm, value


class Backlog:
    """Facts that wait to be taken all at once, in one call rather than one each."""

    def __init__(self, most: int) -> None:
        self._row = Struct(f"5qd{8 * most}s")  # a call, then the features of a stage, as many as there may be
        self._rows: list[bytes] = []

    def __len__(self) -> int:
        return len(self._rows)

    def put(self, call: Call, features: Vector | None) -> int:
        """Let a fact wait, and return how many do."""
        self._rows.append(self._row.pack(*call, b"" if features is None else features.tobytes()))
        return len(self._rows)

    def arrays(self) -> tuple[NDArray[np.int64], Vector, Matrix]:
        """Return what waits as arrays."""
        rows = np.frombuffer(b"".join(self._rows)).reshape(-1, self._row.size // 8)
        return rows.view(np.int64)[:, :5].copy(), rows[:, 5].copy(), rows[:, 6:].copy()


@contextmanager
def all_at_once(state: PolicyState, *, learning: bool) -> Iterator[None]:
    """Take facts some thousands at a time. Without ``learning`` only write them down, until ``learn_from_now_on``.

    An amendment to a unit whose rows already count makes the learner begin anew from what is written down. So nothing
    need be learnt before the last such amendment.
    """
    state.backlog, state.learning = _empty(state), learning
    try:
        yield
        work_off(state)
    finally:
        state.backlog, state.learning = None, True


def _empty(state: PolicyState) -> Backlog:
    return Backlog(state.observed.most)


def learn_from_now_on(state: PolicyState) -> None:
    """Learn from now on. The next amendment is the last to a unit whose rows count: it makes the learner begin anew."""
    work_off(state)
    state.learning = True


def work_off(state: PolicyState) -> None:
    """Take the facts that wait."""
    if state.backlog:
        (numbers, values, features), state.backlog = state.backlog.arrays(), _empty(state)
        take_all(state, numbers, values, features)


def take_stretch(state: PolicyState, stretch: Stretch) -> None:
    """Take the facts of a stretch, after those that wait."""
    work_off(state)
    state.reserve(state.taught + int(stretch.rounds.max()))
    _, rounds, kind, teaches, stage, node, arm, value, features, barring, excluded = stretch
    if len(excluded) > 1:
        node = node + _roots(state, excluded, barring[teaches & (node >= 0)])[barring] * (node >= 0)
    fact = np.array([LEFT, LEFT, ARRIVED, COMPLETED, LOST])[kind]  # a response without a decision: the unit left
    numbers = np.column_stack((fact, state.taught + rounds - 1, stage, node, arm))
    take_all(state, numbers[teaches], value[teaches], features[teaches])


def _roots(state: PolicyState, excluded: tuple[Barred, ...], barring: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the root for each set of contraindications; those met first are known first, as one by one."""
    roots = np.zeros(len(excluded), dtype=np.int64)
    for number in dict.fromkeys(barring.tolist()):
        roots[number] = state.root_for(excluded[number])
    return roots


def take_all(state: PolicyState, numbers: NDArray[np.int64], values: Vector, features: Matrix) -> None:
    """Take facts in order: their numbers as in ``Call``, their values, and the features that go with them."""
    taken = state.take_all(numbers, values, features)
    if taken < len(numbers):
        fact, unit, m = numbers[taken, :3].tolist()
        raise ProtocolError(
            f"round {unit + 1 - state.taught}, stage {m + 1}: fact {fact} does not fit what came before it"
        )
