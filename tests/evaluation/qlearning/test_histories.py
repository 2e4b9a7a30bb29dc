"""Typical histories, and which entries matter for the choice between arms."""

from __future__ import annotations

import numpy as np
import pytest

import dtrbandit as dtr
from dtrbandit.errors import DesignError
from dtrbandit.evaluation.qlearning.histories import (
    STEPS,
    around,
    axis_of,
    chosen_entries,
    describe_typical,
    histories_of,
    matters,
    typical,
)
from evaluation.qlearning.crossing import CROSSING, crossing
from evaluation.simulated_cohorts import cohort_of

COHORT = crossing(300, seed=1)
FIT = dtr.QLearning(CROSSING).fit(COHORT)
SECOND, UNITS = histories_of(COHORT, 1)
WEIGHTS = np.ones(SECOND.size)


def test_histories_are_those_of_units_that_had_a_choice() -> None:
    assert (np.flatnonzero(COHORT.entered[:, 1]) == UNITS).all()
    assert SECOND.names == ("x", "w", "z", "r", "first")
    assert (SECOND.features == COHORT.features[1][UNITS]).all()
    assert (SECOND.feasible == COHORT.feasible[1][UNITS]).all()


def test_a_typical_entry_is_the_median_or_the_most_common_of_few() -> None:
    found = typical(SECOND)

    assert found["x"] == np.median(SECOND.entry("x"))
    values, counts = np.unique(SECOND.entry("w"), return_counts=True)
    assert found["w"] == values[counts.argmax()]
    first, counts = np.unique(SECOND.entry("first"), return_counts=True)
    assert found["first"] == first[counts.argmax()]
    assert describe_typical(SECOND, ["w", "first"]) == f"w {found['w']:.4g}, first {'ab'[int(found['first'])]}"


def test_earlier_arms_are_typical_together() -> None:
    design = dtr.Design([dtr.Stage(name, ("a", "b"), "1") for name in ("one", "two", "three")])
    plans = np.repeat([[0, 1, 0], [1, 0, 0], [1, 1, 0]], [5, 4, 3], axis=0)
    cohort = cohort_of(design, [{}, {}, {}], plans, np.zeros(12))

    assert typical(histories_of(cohort, 2)[0]) == {"one": 0.0, "two": 1.0}  # b is the more common first arm


def test_an_entry_matters_by_how_far_it_moves_the_differences_between_arms() -> None:
    coefficients = np.array([[0.0, 0, 0], [0, 0, 3], [0, -2, 0]])  # of 1, x and z
    feasible, (x, z) = SECOND.feasible, (SECOND.entry(name) - np.median(SECOND.entry(name)) for name in "xz")
    both = feasible[:, 2]  # after first arm a all three are feasible

    found = matters(SECOND, coefficients, WEIGHTS)

    moved_by_z = np.where(both, (3 * z) ** 2 * (4 + 1 + 1) / 9, (3 * z) ** 2 / 2)
    moved_by_x = np.where(both, (2 * x) ** 2 * (4 + 1 + 1) / 9, 0.0)
    assert found["z"] == pytest.approx(np.sqrt(moved_by_z.mean()))
    assert found["x"] == pytest.approx(np.sqrt(moved_by_x.mean()))
    assert list(found) == ["z", "x"]
    assert chosen_entries(SECOND, coefficients, WEIGHTS, None) == ("z", "x")


def test_what_shifts_all_arms_alike_does_not_matter() -> None:
    alike = np.tile([1.0, 5.0, -7.0], (3, 1))

    assert chosen_entries(SECOND, alike, WEIGHTS, None) == ()


@pytest.mark.parametrize("over", [[], ["x", "z", "w"], ["nothing"], ["x", "x"], "q"])
def test_other_entries_than_those_of_the_history_are_refused(over: object) -> None:
    with pytest.raises(DesignError, match="over must be one or two of 'x', 'w', 'z', 'r', 'first'; found"):
        chosen_entries(SECOND, FIT.coefficients_[1], WEIGHTS, over)  # type: ignore[arg-type]  # wrong on purpose


def test_grid_points_are_the_values_if_there_are_few_and_else_steps() -> None:
    few, arms, many = (axis_of(SECOND, name) for name in ("w", "first", "x"))

    assert (few.grid.tolist(), few.labels) == ([0.0, 1.0], ("0", "1"))
    assert (arms.grid.tolist(), arms.labels) == ([0.0, 1.0], ("a", "b"))
    assert (len(many.grid), many.labels) == (STEPS, ())
    assert (many.grid[0], many.grid[-1]) == (SECOND.entry("x").min(), SECOND.entry("x").max())


def test_histories_around_the_typical_one_differ_in_the_axes_alone() -> None:
    found = around(SECOND, [axis_of(SECOND, "w"), axis_of(SECOND, "first")])

    assert found.entry("w").tolist() == [0, 1, 0, 1]
    assert found.entry("first").tolist() == [0, 0, 1, 1]
    assert found.feasible.tolist() == [[True] * 3] * 2 + [[True, True, False]] * 2
    for name in ("x", "z", "r"):
        assert (found.entry(name) == typical(SECOND)[name]).all()


def test_arms_that_are_in_no_plan_leave_nothing_feasible() -> None:
    design = dtr.Design(
        [dtr.Stage(name, ("a", "b"), "1") for name in ("one", "two", "three")],
        plans=[("a", "a", "a"), ("a", "a", "b"), ("b", "b", "a"), ("b", "b", "b")],
    )
    plans = np.repeat([[0, 0, 0], [1, 1, 1]], 3, axis=0)
    histories, _ = histories_of(cohort_of(design, [{}, {}, {}], plans, np.zeros(6)), 2)

    found = around(histories, [axis_of(histories, "one"), axis_of(histories, "two")])

    assert found.feasible.any(axis=1).tolist() == [True, False, False, True]
