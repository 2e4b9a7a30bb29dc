"""The feasible plans of a design: checked, and as arm numbers in lexicographic order."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from math import prod

from dtrbandit.design.stages import Stage
from dtrbandit.design.tree import Plan
from dtrbandit.design.values import shown
from dtrbandit.errors import DesignError

MOST_PLANS = 10_000


def checked_plans(stages: tuple[Stage, ...], plans: object) -> list[Plan]:
    """Return plans as arm numbers in lexicographic order, or say what is wrong with them.

    None stands for every combination of arms.
    """
    if plans is None:
        if prod(len(stage.arms) for stage in stages) > MOST_PLANS:
            raise DesignError(f"a design may have {MOST_PLANS} plans; name the feasible ones with plans=")
        return list(product(*(range(len(stage.arms)) for stage in stages)))
    if isinstance(plans, str) or not isinstance(plans, Sequence) or not 0 < len(plans) <= MOST_PLANS:
        raise DesignError(f"plans must be a list of 1 to {MOST_PLANS} plans, found {shown(plans)}")
    for plan in plans:
        _check_plan(stages, plan)
    numbers = sorted({arm_numbers(stages, plan) for plan in plans})
    if len(numbers) < len(plans):
        raise DesignError(f"plans must all be different, found {shown([list(plan) for plan in plans])}")
    for m, stage in enumerate(stages):
        used = {plan[m] for plan in numbers}
        unused = [label for arm, label in enumerate(stage.arms) if arm not in used]
        if unused:
            raise DesignError(f"stage {stage.name!r}: no plan gives {unused}; drop these arms or add a plan")
    return numbers


def _check_plan(stages: tuple[Stage, ...], plan: object) -> None:
    if isinstance(plan, str) or not isinstance(plan, Sequence) or len(plan) != len(stages):
        raise DesignError(
            f"plan {shown(plan)} must name one arm for each of the stages {[stage.name for stage in stages]}"
        )
    for stage, arm in zip(stages, plan, strict=True):
        if arm not in stage.arms:
            raise DesignError(
                f"plan {shown(list(plan))}: unknown arm {shown(arm)} at stage {stage.name!r}, "
                f"whose arms are {list(stage.arms)}"
            )


def arm_numbers(stages: Sequence[Stage], plan: Sequence[str]) -> Plan:
    """Return a plan as the numbers of its arms."""
    return tuple(stage.arms.index(arm) for stage, arm in zip(stages, plan, strict=True))


def arm_labels(stages: Sequence[Stage], plan: Plan) -> tuple[str, ...]:
    """Return a plan as the labels of its arms."""
    return tuple(stage.arms[arm] for stage, arm in zip(stages, plan, strict=True))
