"""A fixed regime: a rule that was settled beforehand, such as one estimated from an earlier trial."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from dtrbandit.design.formula import Matrix
from dtrbandit.design.spec import Design
from dtrbandit.design.stages import Stage
from dtrbandit.errors import DesignError
from dtrbandit.estimators.backward_induction import q_values
from dtrbandit.policies.checks import real
from dtrbandit.policies.policy import Choice, best, certain, feasible_arms
from dtrbandit.record.events import Fact
from dtrbandit.record.histories import History

StageRule = str | Mapping[str, Sequence[float]]
Rule = Callable[[History], str] | Mapping[str, StageRule]


class Regime(NamedTuple):
    """A rule made ready: a function, or for each stage an arm or the arms' coefficients (K_m, d_m)."""

    design: Design
    rule: Callable[[History], str] | tuple[str | Matrix, ...]


@dataclass(frozen=True, kw_only=True)
class FixedRegime:
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

    rule: Rule

    def init(self, design: Design) -> Regime:
        """Return the rule made ready for a design."""
        if callable(self.rule):
            return Regime(design, self.rule)
        names = [stage.name for stage in design.stages]
        if not isinstance(self.rule, Mapping) or set(self.rule) != set(names):
            raise DesignError(f"FixedRegime: rule must be a function or have an entry for each of {names}")
        stages = zip(design.stages, design.dimensions, strict=True)
        return Regime(design, tuple(_stage_rule(self.rule[stage.name], stage, d) for stage, d in stages))

    def update(self, state: Regime, history: History, event: Fact) -> Regime:  # noqa: ARG002  # learns nothing
        """Learn nothing."""
        return state

    def decide(self, state: Regime, history: History, u: float) -> Choice:  # noqa: ARG002  # draws nothing
        """Apply the rule, among the feasible arms."""
        arms = feasible_arms(history)
        if len(arms) == 1:
            return certain(arms[0], history, "only_feasible")
        m = len(history.arms)
        stage, rule = state.design.stages[m], state.rule if callable(state.rule) else state.rule[m]
        if isinstance(rule, np.ndarray):
            return certain(best(q_values(rule, history.features[-1]), arms), history, "rule")
        label, allowed = rule(history) if callable(rule) else rule, [stage.arms[arm] for arm in arms]
        if label not in allowed:
            raise DesignError(f"the rule gave {label!r} at stage {stage.name!r}, where {allowed} are feasible")
        return certain(stage.arms.index(label), history, "rule")


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
