"""Arms that are closed in the course of a study."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from dtrbandit.courses import Courses
from dtrbandit.design.feasibility import Barred, arms_left
from dtrbandit.design.spec import Design
from dtrbandit.design.values import shown, whole
from dtrbandit.errors import DesignError
from dtrbandit.record.events import ArmClosed
from dtrbandit.record.trial_rules import number_of_arm, require_arms_everywhere


class Closing(NamedTuple):
    """An arm that a study closes just before the unit of a round enrols.

    Examples
    --------
    >>> Closing(500, "second", "ssri").round
    500
    """

    round: int
    stage: str
    arm: str

    @property
    def fact(self) -> ArmClosed:
        """What a log would hold."""
        return ArmClosed(self.stage, self.arm, f"closed before round {self.round}")


def accept_closings(closings: object, design: Design) -> tuple[Closing, ...]:
    """Return closings in the order of their rounds, or say what is wrong with them."""
    if not isinstance(closings, Sequence) or not all(isinstance(each, Closing) for each in closings):
        raise DesignError(f"closings= needs a list such as [Closing(500, 'second', 'ssri')], found {shown(closings)}")
    accepted = sorted(each._replace(round=whole(each.round, "Closing: round", low=1)) for each in closings)
    closed: Barred = ()
    for each in accepted:
        pair = number_of_arm(design, each.stage, each.arm)
        if pair in closed:
            raise DesignError(f"closings= closes the arm {each.arm!r} of stage {each.stage!r} twice")
        require_arms_everywhere(design, each.fact, closed, (*closed, pair))
        closed = tuple(sorted((*closed, pair)))
    return tuple(accepted)


def require_arms_for_all(units: Courses, design: Design, closings: Sequence[Closing]) -> None:
    """Refuse units for which nothing is left, at once or by a closing before they come."""
    closed: Barred = ()
    for first, each in [(1, None), *((each.round, each) for each in closings)]:
        closed = closed if each is None else tuple(sorted((*closed, number_of_arm(design, each.stage, each.arm))))
        later = units.barring[first - 1 :]
        for number in np.flatnonzero(np.bincount(later)).tolist():
            if not any(arms_left(design.tree, units.excluded[number], closed)[0]):
                unit = first + int(np.argmax(later == number))
                raise DesignError(
                    f"unit {unit} of this path has no arm left at the first stage: what the environment excludes and "
                    "what is closed leave no plan; let the environment exclude less, or close fewer arms"
                )
