"""What parameters of policies have in common: values that change nothing are left out, and a floor.

A parameter that came with a later release has a value with which nothing changes, such as a floor of 0. With that value
it is left out, so that logs and names are as they were before there was one.

With a floor no feasible arm has a smaller chance than this in a free round, not even an arm that is ruled out. The best
of k feasible arms has probability 1 − (k − 1)·f, every other has f. So the estimators for adaptive data, which weight
by recorded propensities, apply. The price is regret that grows linearly: exploring never ends.
"""

from __future__ import annotations

from dataclasses import field, fields
from typing import Any

from dtrbandit.design.spec import Design
from dtrbandit.design.values import real
from dtrbandit.errors import DesignError

NEUTRAL = "neutral"  # in the metadata of a field: the value with which it is as if there were none


def parameters_of(policy: Any) -> dict[str, object]:
    """Return the parameters of a policy, without those that are as if there were none."""
    values = {each.name: getattr(policy, each.name) for each in fields(policy)}
    neutral = {each.name for each in fields(policy) if values[each.name] == each.metadata.get(NEUTRAL, ...)}
    return {name: value for name, value in values.items() if name not in neutral}


def policy_repr(policy: Any) -> str:
    """Return a policy as it would be written, without parameters that are as if there were none."""
    return f"{type(policy).__name__}({', '.join(f'{name}={value!r}' for name, value in parameters_of(policy).items())})"


def no_floor() -> Any:
    """Return the field of a policy that has no floor unless it is given one."""
    return field(default=0.0, metadata={NEUTRAL: 0.0})


def accept_floor(floor: object, who: str) -> float:
    """Return a floor as a plain float, or raise."""
    return real(floor, f"{who}: floor", low=0.0, high=1.0)


def fitting_floor(floor: float, design: Design, who: str) -> float:
    """Return a floor that all arms of each stage can have, or raise."""
    most = max(design.arm_counts)
    if floor > 1 / most:
        raise DesignError(
            f"{who}: floor must be at most {1 / most:.4g}, since a stage has {most} arms, found {floor!r}; "
            "with the largest floor every arm is drawn alike"
        )
    return floor
