"""A policy in a replay: it is asked about rows, and learns from those that it agrees with.

Asking changes nothing. In one round the same row gets the same answer however often it is drawn: the uniform number
of a decision belongs to the round and the stage, not to the draw. That is exactly unbiased. Given its uniform
numbers, which are drawn apart from the rows, the policy of this round is one deterministic rule, and the accepted row
is a draw from those that follow this rule; over rounds and paths the rule itself varies as the policy says.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from dtrbandit.deciding import checked, learning
from dtrbandit.design.feasibility import sets_of
from dtrbandit.design.spec import Design
from dtrbandit.evaluation.cohort.cohort import Cohort
from dtrbandit.evaluation.cohort.frames import infeasible_arms
from dtrbandit.evaluation.replay.facts import CohortFacts
from dtrbandit.evaluation.replay.kernel import Rows as OfferedRows
from dtrbandit.evaluation.replay.sampling import Rows
from dtrbandit.kernels.stream import drawn_for, uniform
from dtrbandit.policies.builtin_policy import BuiltinPolicy
from dtrbandit.policies.lsvi_ucb import looks_only_back
from dtrbandit.policies.policy import Policy
from dtrbandit.policies.registry import is_builtin
from dtrbandit.policies.teaching import Lessons, lessons_of, teach
from dtrbandit.record.events import Assigned, Fact
from dtrbandit.record.histories import History
from dtrbandit.record.teaching import Prior, facts_of, histories_of

Told = tuple[History, Fact]


class CohortArrays(NamedTuple):
    """Finished units as arrays, (n, M, D), (n, M) and (n,): see ``kernel.py``.

    ``excluded`` (n, K₁ + … + K_M) says what each unit could not have; it has no columns where there is no such thing.
    """

    features: NDArray[np.float64]
    arms: NDArray[np.int8]
    outcome: NDArray[np.float64]
    excluded: NDArray[np.bool_]


class Player(Protocol):
    """A policy at play along one path; ``accepted`` (T,) are the rows so far, up to ``rounds``."""

    accepted: NDArray[np.int32]
    rounds: int

    def offer(self, order: Rows) -> int:
        """Offer rows in order until T are accepted; return how many were offered."""

    def agreeing(self) -> NDArray[np.bool_]:
        """Return which units the policy would give their arms in the next round, (n,)."""


def arrays_of(cohort: Cohort) -> CohortArrays:
    """Return a cohort as arrays."""
    design = cohort.design
    features = np.full((len(cohort), len(design.stages), max(design.dimensions)), np.nan)
    for m, matrix in enumerate(cohort.features):
        features[:, m, : matrix.shape[1]] = matrix
    arms = np.ascontiguousarray(cohort.arms, dtype=np.int8)
    infeasible = infeasible_arms(cohort)
    excluded = np.zeros((len(cohort), 0), dtype=np.bool_) if infeasible is None else np.concatenate(infeasible, axis=1)
    return CohortArrays(features, arms, np.ascontiguousarray(cohort.outcome, dtype=np.float64), excluded)


def masks_of(excluded: NDArray[np.bool_], design: Design) -> list[NDArray[np.bool_]] | None:
    """Return what units could not have at each stage, (n, K_m), of ``CohortArrays.excluded``; None without columns."""
    return np.split(excluded, np.cumsum(design.arm_counts)[:-1], axis=1) if excluded.size else None


def material_of(policy: Policy[Any], cohort: Cohort) -> CohortArrays | CohortFacts:
    """Return a cohort as a policy's player needs it: arrays for a built-in one, facts for one of the caller's own."""
    if is_builtin(policy) and looks_only_back(policy, len(cohort.design.stages)):
        return arrays_of(cohort)
    return CohortFacts(cohort)


class Earlier(NamedTuple):
    """What an earlier trial teaches: as arrays for built-in policies, and as facts for others."""

    lessons: Lessons
    told: tuple[Told, ...]


def earlier_of(prior: Prior, design: Design) -> Earlier:
    """Return what an earlier trial teaches a replay of this design."""
    histories = histories_of(prior, design)
    return Earlier(lessons_of(design, histories), tuple(zip(histories, facts_of(prior, design), strict=True)))


def player_of(  # what a path of a replay has
    policy: Policy[Any],
    material: CohortArrays | CohortFacts,
    design: Design,
    *,
    horizon: int,
    seed: int,
    earlier: Earlier | None = None,
) -> Player:
    """Return a policy ready to play: by kernels from arrays, or through Python from facts."""
    if isinstance(material, CohortArrays):
        assert isinstance(policy, BuiltinPolicy)
        player = BuiltinPlayer(policy, design, material, horizon=horizon, seed=seed)
        if earlier is not None:
            player.state.reserve(earlier.lessons.units + horizon + 1)
            teach(player.state, earlier.lessons)
        return player
    return PythonPlayer(policy, material, horizon=horizon, seed=seed, told=earlier.told if earlier else ())


class BuiltinPlayer:
    """A built-in policy, played by kernels."""

    def __init__(self, policy: BuiltinPolicy, design: Design, units: CohortArrays, *, horizon: int, seed: int) -> None:
        self.accepted, self.rounds = np.empty(horizon, dtype=np.int32), 0
        self.state: Any = policy.init(design)
        self.state.reserve(horizon + 1)
        roots, drawn = self._roots(units.excluded, design), drawn_for(seed, horizon + 1, len(design.stages))
        self._rows = OfferedRows(self.state, units.features, units.arms, units.outcome, roots, drawn)

    def offer(self, order: Rows) -> int:
        """Offer rows in order until T are accepted; return how many were offered."""
        self.rounds = self._rows.play(order, self.rounds, self.accepted)
        return self._rows.offered

    def agreeing(self) -> NDArray[np.bool_]:
        """Return which units the policy would give their arms in the next round, (n,)."""
        agreeing = np.zeros(len(self._rows.outcome), dtype=np.uint8)
        self._rows.ask_all(self.rounds, agreeing)
        return agreeing.view(np.bool_)

    def _roots(self, excluded: NDArray[np.bool_], design: Design) -> NDArray[np.int64]:
        """Return the root of the copy of the tree that has what is feasible for each unit, (n,)."""
        barring, sets = sets_of(masks_of(excluded, design), len(excluded))
        return np.array([self.state.root_for(each) for each in sets], dtype=np.int64)[barring]


class PythonPlayer:
    """Any policy, one fact at a time; a copy of its state learns what a later decision needs to know."""

    def __init__(
        self, policy: Policy[Any], units: CohortFacts, *, horizon: int, seed: int, told: Sequence[Told] = ()
    ) -> None:
        self.accepted, self.rounds = np.empty(horizon, dtype=np.int32), 0
        self.state = policy.init(units.design)
        self._policy, self._design, self._seed, self._units = policy, units.design, seed, units
        self._decide, self._update = checked(policy, units.design), learning(policy)
        self.state = self._learn(self.state, told)

    def offer(self, order: Rows) -> int:
        """Offer rows in order until T are accepted; return how many were offered."""
        for offered, row in enumerate(order.tolist()):
            if self.rounds == len(self.accepted):
                return offered
            agreed = self._ask(row)
            if agreed is not None:
                self.state = self._learn(*agreed)
                self.accepted[self.rounds] = row
                self.rounds += 1
        return len(order)

    def agreeing(self) -> NDArray[np.bool_]:
        """Return which units the policy would give their arms in the next round, (n,)."""
        return np.array([self._ask(row) is not None for row in range(len(self._units.arms))])

    def _ask(self, row: int) -> tuple[Any, list[Told]] | None:
        """Return the state at a unit's last decision and what it has yet to be told; None unless all arms agree."""
        if self._units.dropped_out[row]:
            return None
        t, state = self.rounds + 1, self.state
        untold: list[Told] = []
        for m, arm in enumerate(self._units.arms[row]):
            if untold:
                state = self._learn(self._copied(state) if m == 1 else state, untold)
            history, arrived = self._units.arrived(row, t, m)
            decision = self._decide(state, history, uniform(self._seed, t, m, len(self._design.stages)))
            if decision.arm != self._design.stages[m].arms[arm]:
                return None
            assigned = Assigned(decision)
            untold = [(history, arrived), (self._units.given(row, t, m), assigned)]
        left = [self._units.arrived(row, t, m + 1)] if m + 1 < len(self._design.stages) else []
        return state, [*untold, *left, self._units.end(row, t)]

    def _copied(self, state: Any) -> Any:
        return deepcopy(state, {id(self._design): self._design})  # a design never changes

    def _learn(self, state: Any, told: Sequence[Told]) -> Any:
        for history, fact in told:
            state = self._update(state, history, fact)
        return state
