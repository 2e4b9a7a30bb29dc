"""From the choice of a policy that is not ours to trust, in numbers, to a decision, in labels."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dtrbandit.design.spec import Design
from dtrbandit.errors import DesignError
from dtrbandit.policies.policy import Choice, Numbers, Policy
from dtrbandit.record.events import Decision
from dtrbandit.record.histories import History
from dtrbandit.record.values import Values


def trusted(policy: Policy[Any], design: Design) -> Callable[[Any, History, float], Decision]:
    """Return what decides by a policy of the caller's own: its choices are checked and completed."""

    def decide(state: Any, history: History, u: float) -> Decision:
        choice = policy.decide(state, history, u)
        _require_feasible(choice, history)
        arm, reason, propensities, q_tilde, q_hat, contenders = choice
        stage = design.stages[len(history.arms)]
        arms = stage.arms
        among = contenders or tuple(number for number, p in enumerate(propensities) if p > 0)
        labels = tuple(arms[number] for number in among)
        estimates = _by_label(arms, q_tilde), _by_label(arms, q_hat)
        return Decision(
            history.unit, history.round, stage.name, arms[arm], reason, propensities[arm], *estimates, labels
        )

    return decide


def _by_label(arms: tuple[str, ...], numbers: Numbers) -> Values[float | None]:
    return numbers if isinstance(numbers, Values) else Values(arms, numbers or (None,) * len(arms))


def _require_feasible(choice: Choice, history: History) -> None:
    arms = [arm for arm, yes in enumerate(history.feasible) if yes]
    honest = all(p >= 0 for p in choice.propensities) and abs(sum(choice.propensities) - 1) < 1e-9
    if choice.arm not in arms or len(choice.propensities) != len(history.feasible) or not honest:
        raise DesignError(
            f"the policy chose arm {choice.arm} with propensities {choice.propensities} for unit {history.unit!r}; "
            f"feasible are the arms {arms}; propensities are one for each of {len(history.feasible)} arms and sum to 1"
        )
