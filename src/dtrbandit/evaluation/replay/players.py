"""A policy in a replay: it decides for rows that are offered, and learns from those whose arms agree.

A decision for a row changes nothing. In one round the same row gets the same answer however often it is drawn: the
uniform number of a decision belongs to the round and the stage, not to the draw. That is exactly unbiased. Uniform
numbers are drawn apart from the rows. Given these, the policy of this round is one deterministic rule, and the accepted
row is a draw from those that follow it. Over rounds and paths the rule itself varies as the policy says.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from dtrbandit.deciding import checked, learning
from dtrbandit.design.feasibility import Barred, arms_left, sets_of
from dtrbandit.design.spec import Design
from dtrbandit.evaluation.cohort.cohort import Cohort
from dtrbandit.evaluation.cohort.feasibility import infeasible_arms
from dtrbandit.evaluation.cohort.logs import known_context
from dtrbandit.evaluation.replay.kernel import Rows as OfferedRows
from dtrbandit.evaluation.replay.sampling import Rows
from dtrbandit.kernels.stream import drawn_for, uniform
from dtrbandit.policies.builtin_policy import BuiltinPolicy
from dtrbandit.policies.lsvi_ucb import looks_only_back
from dtrbandit.policies.policy import Policy
from dtrbandit.policies.registry import is_builtin
from dtrbandit.policies.teaching import Lessons, lessons_of, teach
from dtrbandit.record.events import Assigned, Completed, Enrolled, Excluded, Fact, Responded
from dtrbandit.record.histories import Context, History
from dtrbandit.record.teaching import Prior, facts_of, histories_of

PastFact = tuple[History, Fact]  # the history that a fact leads to, and the fact


class CohortArrays(NamedTuple):
    """Finished units as arrays, (n, M, D), (n, M) and (n,): see ``kernel.py``.

    ``excluded`` (n, K₁ + … + K_M) says what each unit could not have; it has no columns where there is no such thing.
    """

    features: NDArray[np.float64]
    arms: NDArray[np.int8]
    outcome: NDArray[np.float64]
    excluded: NDArray[np.bool_]


class CohortFacts:
    """The facts of a cohort's units, each in the round ``t`` that the caller names; ``arms[row]`` are its arms."""

    def __init__(self, cohort: Cohort) -> None:
        self.design, self.dropped_out = cohort.design, cohort.dropped_out
        self.arms = [tuple(arm for arm in arms if arm >= 0) for arms in cohort.arms.tolist()]
        self._contexts, self._features, self._outcome = cohort.contexts, cohort.features, cohort.outcome
        self._barred = cohort.barred

    def arrived(self, row: int, t: int, m: int) -> tuple[History, Enrolled | Responded]:
        """Return a unit's history when it came to stage ``m``, which it enters or leaves at, and the fact of it."""
        enters, unit = m < len(self.arms[row]), f"u{t}"
        context = self._context(row, m)
        whole = len(context) == len(self.design.columns[m])
        left = (
            arms_left(self.design.tree, self._barred[row])[self.design.tree.after(self.arms[row][:m])] if enters else ()
        )
        history = self.history(row, t, m, seen=m + 1 if whole else m, feasible=left)
        if m:
            return history, Responded(unit, self.design.stages[m].name, context)
        exclude = _labelled(self.design, self._barred[row])
        return history, Enrolled(unit, t, context, exclude, "contraindicated" if exclude else None)

    def given(self, row: int, t: int, m: int) -> History:
        """Return the history of a unit that was just given its arm of stage ``m``."""
        return self.history(row, t, m + 1, seen=m + 1, feasible=())

    def end(self, row: int, t: int) -> tuple[History, Completed]:
        """Return a unit's history with its outcome, and the fact of it."""
        outcome = float(self._outcome[row])
        m = len(self.arms[row])
        last = self.arrived(row, t, m)[0] if m < len(self.design.stages) else self.given(row, t, m - 1)
        return last._replace(outcome=outcome), Completed(f"u{t}", outcome)

    def history(self, row: int, t: int, m: int, *, seen: int, feasible: tuple[bool, ...]) -> History:
        """Return a unit's history after ``m`` arms and the contexts of ``seen`` stages, in round ``t``."""
        arms = self.arms[row][:m]
        features = tuple([self._features[k][row] for k in range(seen)])
        for psi in features:
            psi.flags.writeable = False
        barred = self._barred[row]
        excluded = (barred,) * (m + 1) if barred else ()
        return History(f"u{t}", t, self.design.tree.after(arms), features, arms, feasible, None, excluded)

    def _context(self, row: int, m: int) -> Context:
        columns = self.design.columns[m]
        return known_context(columns, [float(self._contexts[m][column][row]) for column in columns])


def _labelled(design: Design, excluded: Barred) -> Excluded | None:
    """Return stages and arms, by number, as a log has them; None if there are none."""
    arms: dict[str, tuple[str, ...]] = {}
    for m, arm in excluded:
        stage = design.stages[m]
        arms[stage.name] = (*arms.get(stage.name, ()), stage.arms[arm])
    return arms or None


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
    facts: tuple[PastFact, ...]


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
    return PythonPlayer(policy, material, horizon=horizon, seed=seed, taught=earlier.facts if earlier else ())


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
        self._rows.fill_agreeing(self.rounds, agreeing)
        return agreeing.view(np.bool_)

    def _roots(self, excluded: NDArray[np.bool_], design: Design) -> NDArray[np.int64]:
        """Return the root of the copy of the tree that has what is feasible for each unit, (n,)."""
        barring, sets = sets_of(masks_of(excluded, design), len(excluded))
        return np.array([self.state.root_for(each) for each in sets], dtype=np.int64)[barring]


class PythonPlayer:
    """Any policy, one fact at a time; a copy of its state learns what a later decision needs to know."""

    def __init__(
        self,
        policy: Policy[Any],
        units: CohortFacts,
        *,
        horizon: int,
        seed: int,
        taught: Sequence[PastFact] = (),
    ) -> None:
        self.accepted, self.rounds = np.empty(horizon, dtype=np.int32), 0
        self.state = policy.init(units.design)
        self._policy, self._design, self._seed, self._units = policy, units.design, seed, units
        self._decide, self._update = checked(policy, units.design), learning(policy)
        self.state = self._learn(self.state, taught)

    def offer(self, order: Rows) -> int:
        """Offer rows in order until T are accepted; return how many were offered."""
        for offered, row in enumerate(order.tolist()):
            if self.rounds == len(self.accepted):
                return offered
            agreed = self._agreed(row)
            if agreed is not None:
                self.state = self._learn(*agreed)
                self.accepted[self.rounds] = row
                self.rounds += 1
        return len(order)

    def agreeing(self) -> NDArray[np.bool_]:
        """Return which units the policy would give their arms in the next round, (n,)."""
        return np.array([self._agreed(row) is not None for row in range(len(self._units.arms))])

    def _agreed(self, row: int) -> tuple[Any, list[PastFact]] | None:
        """Return the state at a unit's last decision and what it has yet to learn; None unless all arms agree."""
        if self._units.dropped_out[row]:
            return None
        t, state = self.rounds + 1, self.state
        pending: list[PastFact] = []
        for m, arm in enumerate(self._units.arms[row]):
            if pending:
                state = self._learn(self._copied(state) if m == 1 else state, pending)
            history, arrived = self._units.arrived(row, t, m)
            decision = self._decide(state, history, uniform(self._seed, t, m, len(self._design.stages)))
            if decision.arm != self._design.stages[m].arms[arm]:
                return None
            assigned = Assigned(decision)
            pending = [(history, arrived), (self._units.given(row, t, m), assigned)]
        left = [self._units.arrived(row, t, m + 1)] if m + 1 < len(self._design.stages) else []
        return state, [*pending, *left, self._units.end(row, t)]

    def _copied(self, state: Any) -> Any:
        return deepcopy(state, {id(self._design): self._design})  # a design never changes

    def _learn(self, state: Any, facts: Sequence[PastFact]) -> Any:
        for history, fact in facts:
            state = self._update(state, history, fact)
        return state
