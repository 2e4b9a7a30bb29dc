"""What rules have in common: their types, and what a decision on record must be."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import isfinite
from typing import Any

from dtrbandit.design.values import shown
from dtrbandit.record.events import Decision, Fact
from dtrbandit.record.histories import UnitRecord
from dtrbandit.record.units import Histories
from dtrbandit.record.values import Values

ROUNDING = 1e-9  # by which a propensity may be above one

# the fact to record, None if it is on record, and the unit's record so far, None if it enrols or if there is no unit
Found = tuple[Fact | None, UnitRecord | None]
Rules = dict[type, Callable[[Histories, Any], Found]]  # by the kind of fact


def is_usual(decision: Decision, arms: tuple[str, ...]) -> bool:
    """Say, in little time, whether a decision is as sessions make them, so that nothing is wrong with it."""
    _, _, _, _, reason, propensity, tilde, hat, contenders, infeasible = decision
    if type(tilde) is not Values or type(hat) is not Values or type(reason) is not str or type(propensity) is not float:
        return False
    if type(contenders) is not tuple or infeasible != () or not reason or not 0.0 <= propensity <= 1.0:
        return False
    for label in contenders:
        if label not in arms:
            return False
    size = 8 * len(arms)
    return tilde.labels == arms == hat.labels and len(tilde.packed) == size == len(hat.packed)


def what_is_wrong(decision: Decision, arms: tuple[str, ...]) -> str | None:
    """Say which field of a decision a log cannot hold; None if it can hold all."""
    _, _, _, _, reason, propensity, tilde, hat, contenders, infeasible = decision
    if type(reason) is not str or not reason:
        return f"the reason {shown(reason)}; it must be a text"
    if propensity is not None and (type(propensity) is not float or not 0 <= propensity <= 1 + ROUNDING):
        return f"the propensity {shown(propensity)}; it must be a number from 0 to 1, or None"
    if type(contenders) is not tuple or not all(label in arms for label in contenders):
        return f"the contenders {shown(contenders)}; they must be a tuple of arms, which are {list(arms)}"
    usual = type(infeasible) is tuple and all(type(pair) is tuple and len(pair) == 2 for pair in infeasible)
    if not usual or not all(arm in arms and type(why) is str for arm, why in infeasible):
        return f"as infeasible {shown(infeasible)}; it must have a reason for each of some of {list(arms)}"
    for name, values in (("q_tilde", tilde), ("q_hat", hat)):
        if type(values) is Values and values.labels == arms and len(values.packed) == 8 * len(arms):
            continue  # the usual case, without ado
        usual = isinstance(values, Mapping) and all(label in arms for label in values)
        if not usual or not all(q is None or (type(q) is float and isfinite(q)) for q in values.values()):
            return f"{name} {shown(values)}; it must have a finite number or None for each of {list(arms)}"
    return None
