"""What a built-in policy hands to the switch: its arrays, its rule, what it notes and what it takes back."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from dtrbandit.estimators.estimator import Estimator, Nothing
from dtrbandit.estimators.observed import Observed
from dtrbandit.kernels.arrays import Matrix, Truth, Vector, Whole
from dtrbandit.kernels.compile import kernel
from dtrbandit.policies.sheet import ArmAndReason


@kernel
def note_nothing(observed: Observed, memory: object, fact: Whole, unit: Whole, m: Whole, value: float) -> None:
    """Note nothing."""


@kernel
def explain_nothing(
    observed: Observed, beliefs: object, memory: object, unit: Whole, m: Whole, psi: Vector, sheet: Matrix
) -> None:
    """Have written everything already."""


@kernel
def settle_nothing(observed: Observed, memory: object) -> None:
    """Have nothing to settle."""


@kernel
def suppose_nothing(observed: Observed, memory: object, unit: Whole, m: Whole, arm: Whole, forced: Truth) -> None:
    """Look at nothing that an earlier stage of the unit left behind."""


@kernel
def retract_nothing(memory: object, unit: Whole, m: Whole) -> None:
    """Have nothing to take back."""


@dataclass(frozen=True)
class Rule:
    """A policy as the switch sees it: a named tuple of arrays, the memory, and kernels.

    Attributes
    ----------
    name
        By which the state of a policy knows its memory.
    knows_units
        Whether a decision looks at what the unit was given before: then the policy must have been told.
    estimator
        What the policy estimates with.
    example
        A memory whose arrays have the right types.
    decide
        ``decide(observed, beliefs, memory, unit, m, node, psi, u, sheet)``: return an arm and the number of a reason,
        and fill ``sheet`` (4, K) with Q̃, Q̂, propensities and contenders; a forced decision needs no estimates.
    explain
        ``explain(observed, beliefs, memory, unit, m, psi, sheet)``: write the estimates beside a forced decision.
    note
        ``note(observed, memory, fact, unit, m, value)``: note what the policy must remember of a fact that is written
        down. With GIVEN, ``value`` says whether the arm was scheduled.
    settle
        ``settle(observed, memory)``: bring up to date what is otherwise done when it is next read.
    suppose, retract
        ``suppose(observed, memory, unit, m, arm, forced)``: note an arm where the unit's later stages look for it, and
        nowhere else; ``retract(memory, unit, m)`` takes that back. Replay needs this to ask for a row that it may not
        accept.
    grow
        Return the memory with room for so many units.
    """

    name: str
    estimator: Estimator
    decide: Callable[..., ArmAndReason]
    example: tuple[Any, ...] = Nothing()
    explain: Callable[..., None] = explain_nothing
    note: Callable[..., None] = note_nothing
    settle: Callable[..., None] = settle_nothing
    suppose: Callable[..., None] = suppose_nothing
    retract: Callable[..., None] = retract_nothing
    grow: Callable[[Any, int], Any] = lambda memory, _: memory
    knows_units: bool = False
