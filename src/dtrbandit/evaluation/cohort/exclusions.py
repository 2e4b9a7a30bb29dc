"""Columns of a frame that say for whom an arm is contraindicated."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from dtrbandit.design.feasibility import left_for_sets, sets_of
from dtrbandit.design.spec import Design
from dtrbandit.design.values import shown
from dtrbandit.evaluation.cohort.frames import numbers
from dtrbandit.kernels.arrays import Mask

if TYPE_CHECKING:
    import pandas as pd

    from dtrbandit.evaluation.cohort.cohort import Cohort

Columns = Mapping[str, Mapping[str, str]]  # by stage and arm


def strange_exclusions(design: Design, exclude: object) -> list[str]:
    """Say what does not fit the design in ``exclude``."""
    example = "{'first': {'ssri': 'no_ssri'}}"
    if not isinstance(exclude, Mapping) or not all(isinstance(each, Mapping) for each in exclude.values()):
        return [f"exclude must map stages to arms to columns, such as {example}, found {shown(exclude)}"]
    stages, wrong = {stage.name: stage.arms for stage in design.stages}, []
    for name, columns in exclude.items():
        if name not in stages:
            wrong.append(f"exclude names the stage {shown(name)}; the stages are {list(stages)}")
        elif strange := [arm for arm in columns if arm not in stages[name]]:
            wrong.append(
                f"exclude names the arm {shown(strange[0])} of stage {name!r}; its arms are {list(stages[name])}"
            )
        elif strange := [column for column in columns.values() if not isinstance(column, str)]:
            wrong.append(f"exclude leads to columns, called by a text, found {shown(strange[0])}")
    return wrong


def read_exclusions(frame: pd.DataFrame, design: Design, exclude: Columns) -> tuple[tuple[Mask, ...], dict[str, Mask]]:
    """Return for whom each arm is contraindicated, (n, K_m) for each stage; and by column which cells are neither."""
    masks = tuple(np.zeros((len(frame), count), dtype=np.bool_) for count in design.arm_counts)
    wrong: dict[str, Mask] = {}
    for m, stage in enumerate(design.stages):
        for arm, column in exclude.get(stage.name, {}).items():
            values, _ = numbers(frame[column].astype(float) if frame[column].dtype == np.bool_ else frame[column])
            wrong[column] = ~np.isin(values, (0.0, 1.0))
            masks[m][:, stage.arms.index(arm)] = values == 1.0
    return masks, wrong


class Left:
    """What is left for each unit of a frame, at whatever node it comes to."""

    def __init__(self, design: Design, masks: tuple[Mask, ...]) -> None:
        self._barring, sets = sets_of(masks, len(masks[0]))
        self._left = left_for_sets(design.tree, sets)
        self.nobody: Mask = ~self._left[self._barring, 0].any(axis=1)  # for whom no plan is left

    def at(self, node: np.typing.NDArray[np.int64]) -> Mask:
        """Return which arms are left for each unit at its node, (n, K)."""
        left: Mask = self._left[self._barring, node]
        return left


def infeasible_arms(cohort: Cohort) -> tuple[Mask, ...] | None:
    """Return which arms each unit could not have, (n, K_m) for each stage; one that it had it could have."""
    if cohort.excluded is None:
        return None
    given = (cohort.arms[:, m, None] == np.arange(count) for m, count in enumerate(cohort.design.arm_counts))
    return tuple(excluded & ~had for excluded, had in zip(cohort.excluded, given, strict=True))
