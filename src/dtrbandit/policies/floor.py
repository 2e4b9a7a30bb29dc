"""A floor: in a free round no feasible arm has a smaller chance than this, not even one that is ruled out.

The best of k feasible arms has probability 1 − (k − 1)·f, every other has f. So the estimators for adaptive data, which
weight by recorded propensities, apply. The price is regret that grows linearly: exploring never ends.
"""

from __future__ import annotations

from dataclasses import field
from typing import Any

from dtrbandit.design.parameters import real
from dtrbandit.design.spec import Design
from dtrbandit.errors import DesignError
from dtrbandit.kernels.arrays import Matrix, Whole
from dtrbandit.kernels.compile import kernel
from dtrbandit.policies.said import UNSAID
from dtrbandit.policies.sheet import CONTENDER, EXPLORE, PROPENSITY, ArmAndReason

# -- as a parameter ------------------------------------------------------------------------------------------


def no_floor() -> Any:
    """Return the field of a policy that has no floor unless it is given one."""
    return field(default=0.0, metadata={UNSAID: 0.0})


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


# -- in a free round -----------------------------------------------------------------------------------------


@kernel
def keep_floor(sheet: Matrix, floor: float) -> None:
    """Give every feasible arm its floor. Contenders are the feasible arms here, before any is ruled out."""
    for a in range(sheet.shape[1]):
        if sheet[CONTENDER, a] > 0.0:
            sheet[PROPENSITY, a] = floor


@kernel
def take_or_explore(sheet: Matrix, favourite: Whole, reason: Whole, u: float) -> ArmAndReason:
    """Take the favourite for this reason, or when u says so another arm that has a floor; write its propensity down."""
    arm, below = favourite, 0.0
    for a in range(sheet.shape[1]):
        if a != favourite and sheet[PROPENSITY, a] > 0.0:
            if below <= u < below + sheet[PROPENSITY, a]:
                arm = a
            below += sheet[PROPENSITY, a]
    sheet[PROPENSITY, favourite] = 1.0 - below
    return arm, reason if arm == favourite else EXPLORE
