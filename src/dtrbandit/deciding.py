"""Decisions by a policy that the caller wrote: its choices are checked, and numbers become labels."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from dtrbandit.design.spec import Design
from dtrbandit.design.values import as_float, shown
from dtrbandit.errors import DesignError
from dtrbandit.policies.policy import Choice, Numbers, Policy
from dtrbandit.record.checks import what_is_wrong
from dtrbandit.record.events import Decision, Enrolled, Fact, QValues
from dtrbandit.record.histories import History


def checked(policy: Policy[Any], design: Design) -> Callable[[Any, History, float], Decision]:
    """Return the function that decides by a policy of the caller's own, after checking its choices."""

    def decide(state: Any, history: History, u: float) -> Decision:
        choice = policy.decide(state, history, u)
        stage = design.stages[len(history.arms)]
        arms = stage.arms
        _require_feasible(policy, choice, history)
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


def learning(policy: Policy[Any]) -> Callable[[Any, History, Fact], Any]:
    """Return the function by which a policy of the caller's own learns; it refuses a state that got lost.

    It is not told at which site a unit enrolled: no decision may depend on that.
    """

    def learn(state: Any, history: History, event: Fact) -> Any:
        if type(event) is Enrolled and event.site is not None:
            event = event._replace(site=None)
        after = policy.update(state, history, event)
        if after is None and state is not None:
            raise DesignError(
                f"the policy {policy!r}: update(state, history, event) must return the state, as init returned "
                f"{shown(state)}; found None after {type(event).__name__} of unit {history.unit!r}: end it with "
                "return state"
            )
        return after

    return learn


def _by_label(numbers: Numbers, arms: tuple[str, ...]) -> QValues:
    """Return numbers by label. Numbers that fit no label get a place instead, so that they are refused by name."""
    if isinstance(numbers, Mapping):
        return numbers
    plain = tuple(numbers) or (None,) * len(arms)
    places = arms if len(plain) == len(arms) else tuple(f"place {place}" for place in range(len(plain)))
    return dict(zip(places, plain, strict=True))


def _require_feasible(policy: object, choice: object, history: History) -> None:
    arms = [arm for arm, yes in enumerate(history.feasible) if yes]
    if not isinstance(choice, Choice):
        raise DesignError(
            f"the policy {policy!r}: decide(state, history, u) must return a Choice(arm, reason, propensities) for "
            f"unit {history.unit!r}, found {shown(choice)}"
        )
    chances = choice.propensities
    numbers = [as_float(p) for p in chances] if isinstance(chances, Sequence | np.ndarray) else []
    honest = len(numbers) == len(history.feasible) and all(p >= 0 for p in numbers) and abs(sum(numbers) - 1) < 1e-9
    if choice.arm not in arms or not honest or not numbers[choice.arm] > 0:
        raise DesignError(
            f"the policy {policy!r} chose arm {choice.arm} with propensities {shown(chances)} for unit "
            f"{history.unit!r}; feasible are the arms {arms}; propensities are one for each of "
            f"{len(history.feasible)} arms, sum to 1, and are above 0 for the arm chosen"
        )
