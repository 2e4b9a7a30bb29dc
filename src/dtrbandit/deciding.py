"""Decisions by a policy that the caller wrote: its choices are checked, and numbers become labels."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from dtrbandit.design.spec import Design
from dtrbandit.design.values import shown
from dtrbandit.errors import DesignError
from dtrbandit.policies.policy import Choice, Numbers, Policy
from dtrbandit.record.events import Decision, QValues
from dtrbandit.record.histories import History
from dtrbandit.record.rules import what_is_wrong


def checked(policy: Policy[Any], design: Design) -> Callable[[Any, History, float], Decision]:
    """Return the function that decides by a policy of the caller's own, after checking its choices."""

    def decide(state: Any, history: History, u: float) -> Decision:
        choice = policy.decide(state, history, u)
        stage = design.stages[len(history.arms)]
        arms = stage.arms
        _require_feasible(choice, history)
        among = choice.contenders or tuple(number for number, p in enumerate(choice.propensities) if p > 0)
        decision = Decision(
            history.unit,
            history.round,
            stage.name,
            arms[choice.arm],
            choice.reason,
            float(choice.propensities[choice.arm]),
            _by_label(choice.q_tilde, arms),
            _by_label(choice.q_hat, arms),
            tuple(arms[number] if number in range(len(arms)) else str(number) for number in among),
        )
        if wrong := what_is_wrong(decision, arms):
            raise DesignError(f"the policy {policy!r} gave unit {history.unit!r} a choice with {wrong}")
        return decision

    return decide


def _by_label(numbers: Numbers, arms: tuple[str, ...]) -> QValues:
    """Return numbers by label. Numbers that fit no label get a place instead, so that they are refused by name."""
    if isinstance(numbers, Mapping):
        return numbers
    plain = tuple(numbers) or (None,) * len(arms)
    places = arms if len(plain) == len(arms) else tuple(f"place {place}" for place in range(len(plain)))
    return dict(zip(places, plain, strict=True))


def _require_feasible(choice: object, history: History) -> None:
    arms = [arm for arm, yes in enumerate(history.feasible) if yes]
    if not isinstance(choice, Choice):
        raise DesignError(f"a policy must return a Choice for unit {history.unit!r}, found {shown(choice)}")
    chances = choice.propensities
    honest = len(chances) == len(history.feasible) and all(p >= 0 for p in chances) and abs(sum(chances) - 1) < 1e-9
    if choice.arm not in arms or not honest:
        raise DesignError(
            f"the policy chose arm {choice.arm} with propensities {chances} for unit {history.unit!r}; "
            f"feasible are the arms {arms}; propensities are one for each of {len(history.feasible)} arms and sum to 1"
        )
