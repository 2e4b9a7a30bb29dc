"""A floor: in a free round no feasible arm has a smaller chance than this, not even one that is ruled out.

The best of k feasible arms has probability 1 − (k − 1)·f, every other has f. So the estimators for adaptive data, which
weight by recorded propensities, apply. The price is regret that grows linearly: exploring never ends.
"""

from __future__ import annotations

from dataclasses import field
from typing import Any

from dtrbandit.design.spec import Design
from dtrbandit.design.values import real
from dtrbandit.errors import DesignError
from dtrbandit.policies.parameters import NEUTRAL


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
