"""A stage of a random linear problem: the mean of its best Q under both laws, by quadrature."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from dtrbandit.environments import Linear
from dtrbandit.environments.linear_stage import LinearStage
from environments.linear_problems import every_problem


def mean_of_best_by_quadrature(stage: LinearStage, side: int) -> float:
    """Return E max_a Q under the upper (1) or lower (−1) law, over midpoints of 1,000 distances and 40 other values."""
    distance = ((np.arange(1000) + 0.5) / 1000) ** (1 / stage.margin)
    other = 2 * ((np.arange(40) + 0.5) / 40) ** 0.25 - 1
    total = 0.0
    for crossing, cell_side, share in zip(*stage.cells[:3], strict=True):
        first = (crossing + cell_side * distance) / stage.cells.scale
        grid = np.meshgrid(first, *[other] * (len(stage.reflection) - 1), indexing="ij")
        x = np.tensordot(stage.reflection, side * np.array(grid), axes=1)
        best = np.max([row[0] + np.tensordot(row[1:], x, axes=1) for row in stage.coefficients], axis=0)
        total += share * best.mean()
    return total


@every_problem
def test_backward_induction_by_quadrature_gives_the_values_of_both_laws(problem: Linear) -> None:
    if max(problem.design.dimensions) > 3:
        problem = dataclasses.replace(problem, dimension=3)
    for stage in problem._stages:
        size = np.abs(stage.coefficients).max()

        for side in (-1, 1):  # the midpoint rule is off by less than 1/1,000 of the largest coefficient
            assert mean_of_best_by_quadrature(stage, side) == pytest.approx(
                stage.mean_best + side * stage.rise, abs=1e-3 * size
            )


@every_problem
def test_every_value_of_a_stage_can_be_reached_by_the_next(problem: Linear) -> None:
    for stage, later in zip(problem._stages, problem._stages[1:], strict=False):
        assert stage.middle == pytest.approx(later.mean_best)
        assert stage.width / 2 <= later.rise
