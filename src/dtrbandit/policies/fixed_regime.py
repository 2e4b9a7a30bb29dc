"""A fixed regime: a rule that was settled beforehand, such as one estimated from an earlier trial."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

import numpy as np

from dtrbandit.design.feasibility import Plan
from dtrbandit.design.spec import Design
from dtrbandit.design.stages import Stage
from dtrbandit.design.values import real
from dtrbandit.errors import DesignError
from dtrbandit.kernels import constants as c
from dtrbandit.kernels.arrays import Matrix
from dtrbandit.policies.builtin_policy import BuiltinPolicy
from dtrbandit.policies.policy import Choice, Policy, certain, feasible_arms
from dtrbandit.policies.state import PolicyState
from dtrbandit.record.events import Fact
from dtrbandit.record.histories import History

BUILT_FROM = c.BUILT_FROM
StageRule = str | Mapping[str, Sequence[float]]
Rule = Callable[[History], str] | Mapping[str, StageRule]


class EstimatedRegime(Protocol):
    """What a fit such as ``QLearning`` tells: coefficients (K_m, d_m) for each stage of its design."""

    design: Design

    @property
    def coefficients_(self) -> tuple[Matrix, ...]:
        """The estimates of each stage's arms."""


@dataclass(frozen=True, kw_only=True)
class FixedRegime(BuiltinPolicy):
    """Follow a rule and learn nothing.

    Parameters
    ----------
    rule
        For each stage by name, either an arm, or for each arm its coefficients on the stage's features: the
        feasible arm with the largest product wins, the lowest of equals. Or a function from a history to an
        arm's label, which a log cannot hold.

    Examples
    --------
    >>> always = FixedRegime(rule={"first": "ssri", "second": {"ssri": [-0.18, -0.01], "other": [0, 0]}})
    """

    learns: ClassVar[bool] = False

    rule: Rule

    def __post_init__(self) -> None:
        if isinstance(self.rule, Mapping):
            object.__setattr__(self, "rule", {stage: _with_tuples(rule) for stage, rule in self.rule.items()})

    @classmethod
    def from_qlearning(cls, fit: EstimatedRegime) -> FixedRegime:
        """Return the rule that ``fit.recommend`` follows: the feasible arm with the largest estimated Q."""
        stages = zip(fit.design.stages, fit.coefficients_, strict=True)
        return cls(
            rule={
                stage.name: {arm: tuple(row) for arm, row in zip(stage.arms, coefficients.tolist(), strict=True)}
                for stage, coefficients in stages
            }
        )

    @classmethod
    def examples(cls) -> tuple[Policy[Any], ...]:
        """Return none: a rule names the stages and arms of its design."""
        return ()

    @property
    def decides_in_python(self) -> bool:
        """Whether the rule is a function of the caller's."""
        return callable(self.rule)

    def state(self, design: Design) -> FixedRegimeState:
        """Return its state before the first unit, unless the rule is a function."""
        if callable(self.rule):
            raise DesignError(f"{self!r} holds a Python function: it has no compiled state")
        return FixedRegimeState(self, design)

    def init(self, design: Design) -> Any:
        """Return the rule made ready for a design."""
        return design if callable(self.rule) else super().init(design)

    def update(self, state: Any, history: History, event: Fact) -> Any:  # learns nothing
        """Learn nothing, but what was given."""
        return state if callable(self.rule) else super().update(state, history, event)

    def decide(self, state: Any, history: History, u: float) -> Choice:
        """Apply the rule, among the feasible arms."""
        if not callable(self.rule):
            return super().decide(state, history, u)
        arms = feasible_arms(history)
        if len(arms) == 1:
            return certain(arms[0], history, "only_feasible")
        label, stage = self.rule(history), state.stages[len(history.arms)]
        allowed = [stage.arms[arm] for arm in arms]
        if label not in allowed:
            raise DesignError(f"the rule gave {label!r} at stage {stage.name!r}, where {allowed} are feasible")
        return certain(stage.arms.index(label), history, "rule")

    def by_stage(self, design: Design) -> list[str | Matrix]:
        """Return, for each stage, the arm that is settled, or the coefficients of its arms (K_m, d_m)."""
        names = [stage.name for stage in design.stages]
        if not isinstance(self.rule, Mapping) or set(self.rule) != set(names):
            raise DesignError(f"FixedRegime: rule must be a function or have an entry for each of {names}")
        stages = zip(design.stages, design.dimensions, strict=True)
        return [_stage_rule(self.rule[stage.name], stage, d) for stage, d in stages]


class FixedRegimeState(PolicyState):
    """A fixed regime in play.

    Attributes
    ----------
    settled
        (M,): the arm that is settled at a stage, −1 where coefficients choose.
    scores
        (M, K, D): the coefficients of the arms, zeros where an arm is settled.
    """

    def __init__(self, policy: FixedRegime, design: Design) -> None:
        super().__init__(policy, design)
        rules = policy.by_stage(design)
        settled = [
            stage.arms.index(rule) if isinstance(rule, str) else -1
            for stage, rule in zip(design.stages, rules, strict=True)
        ]
        _require_reachable(design, settled)
        scores = np.zeros((len(rules), self.observed.width, self.observed.most))
        for m, rule in enumerate(rules):
            if not isinstance(rule, str):
                scores[m, : rule.shape[0], : rule.shape[1]] = rule
        self.settled, self.scores = np.array(settled, dtype=np.int64), scores

    def decide(self, unit: int, m: int, node: int, u: float) -> int:
        """Apply the rule; a settled arm that is infeasible by now gives way to the lowest that is feasible."""
        feasible = self.clear_sheet(node)
        arm: int = self.settled[m]
        if arm < 0 or self.observed.child[node, arm] < 0:
            for a in range(self.observed.arm_count[m]):
                total = 0.0
                for j in range(self.observed.dimension[m, a]):
                    total += self.scores[m, a, j] * self.observed.psi[j]
                self.sheet[c.Q_TILDE, a] = total
            arm = self.best(c.Q_TILDE)
            for a in range(self.width):
                self.sheet[c.Q_TILDE, a] = c.NAN  # scores, not estimates
        self.sheet[c.PROPENSITY, arm] = 1.0
        self.reason = c.ONLY_FEASIBLE if feasible == 1 else c.RULE
        return arm


def _with_tuples(rule: StageRule) -> StageRule:
    """Return coefficients as tuples, as a log gives them back."""
    if not isinstance(rule, Mapping):
        return rule
    return {arm: tuple(each) if isinstance(each, list) else each for arm, each in rule.items()}


def _stage_rule(rule: StageRule, stage: Stage, dimension: int) -> str | Matrix:
    where = f"FixedRegime: stage {stage.name!r}"
    if isinstance(rule, str):
        if rule not in stage.arms:
            raise DesignError(f"{where}: unknown arm {rule!r}; the arms are {list(stage.arms)}")
        return rule
    if not isinstance(rule, Mapping) or set(rule) != set(stage.arms):
        raise DesignError(f"{where}: needed is an arm, or coefficients for each of {list(stage.arms)}; found {rule!r}")
    if any(len(rule[arm]) != dimension for arm in stage.arms):
        raise DesignError(f"{where}: each arm needs {dimension} coefficients, one for each feature")
    return np.array([[real(c, f"{where}, {arm}", low=-np.inf) for c in rule[arm]] for arm in stage.arms])


def _require_reachable(design: Design, settled: list[int]) -> None:
    """Refuse a settled arm that is infeasible where the rule itself can lead, unless only one arm is feasible."""
    reached: list[Plan] = [()]
    for m, arm in enumerate(settled):
        following: list[Plan] = []
        for arms in reached:
            feasible = [a for a, yes in enumerate(design.tree.feasible[design.tree.after(arms)]) if yes]
            if arm >= 0 and arm not in feasible and len(feasible) > 1:
                stage = design.stages[m]
                allowed = [stage.arms[a] for a in feasible]
                raise DesignError(
                    f"FixedRegime: {stage.arms[arm]!r} at stage {stage.name!r} is not always feasible: "
                    f"after the rule's own arms only {allowed} may be"
                )
            following += [(*arms, a) for a in ([arm] if arm in feasible else feasible)]
        reached = following
