"""What a learner could not rely on in arrays that were loaded is named.

``tests/policies/test_stored_arrays.py`` spoils all arrays of all policies.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dtrbandit as dtr
from digest_worlds import ThreeStages
from dtrbandit.courses import play, potential_courses
from dtrbandit.estimators.soundness import chains_of, exact_fault, forced_fault, is_outside, optimistic_fault
from dtrbandit.kernels import constants as c

WORLD = ThreeStages()


def state(policy: Any, units: int = 400) -> Any:
    """Return what a policy knows after a study, with room for more units."""
    drawn = WORLD.draw(units, np.random.default_rng(1))
    found: Any = play(policy, potential_courses(drawn), WORLD.design, seed=1).state
    found.reserve(units + 10)
    return found


def test_numbers_are_outside_below_the_lowest_and_from_the_highest_on() -> None:
    assert not is_outside(np.array([-1, 3]), -1, 4)
    assert is_outside(np.array([-2, 3]), -1, 4)
    assert is_outside(np.array([-1, 4]), -1, 4)
    assert not is_outside(np.zeros(0), 5, 6)


def test_chains_of_blocks_hold_the_units_of_all_levels() -> None:
    learner = state(dtr.Greedy()).learner

    for m in range(2):
        depth = int(learner.depth[m])
        chains = chains_of(learner, m, depth)
        assert chains is not None
        fills = np.asarray(learner.fill)[m, :depth]
        assert [len(chain) for chain in chains] == [-(-fill // c.BLOCK) for fill in fills.tolist()]
        assert fills.sum() == learner.held[m] > 0


def write(name: str, number: int, place: tuple[int, ...]) -> Callable[[Any], None]:
    """Return what writes a number into an array of a learner."""

    def spoil(learner: Any) -> None:
        np.asarray(getattr(learner, name))[place] = number

    return spoil


def hold_one_twice(learner: Any) -> None:
    """Let two slots of the first block hold one unit."""
    level = int(np.argmax(np.asarray(learner.fill)[0] >= 2))
    first = int(learner.head[0, level]) * c.BLOCK
    for name in ("units", "nodes"):
        column = np.asarray(getattr(learner, name))[0]
        column[first + 1] = column[first]


EXACT: list[tuple[Callable[[Any], None], str]] = [
    (write("mode", 7, (0, 0)), "the way to solve"),
    (write("counted", 1, (-1, 0)), "a row counts that a unit does not have"),
    (write("old_fill", 1, (0, 0)), "detached"),
    (write("depth", 99, (0,)), "levels are not there"),
    (write("fill", 10**9, (0, 0)), "levels are not there, or hold more"),
    (write("used", 1, (0,)), "leads astray"),
    (write("free", 0, (1,)), "leads astray"),
    (write("held", 0, (0,)), "not as many as they say"),
    (hold_one_twice, "a unit twice"),
]


@pytest.mark.parametrize(("spoil", "said"), EXACT)
def test_what_is_wrong_with_an_exact_learner_is_said(spoil: Callable[[Any], None], said: str) -> None:
    learner = state(dtr.Greedy()).learner
    assert exact_fault(learner) == ""

    spoil(learner)

    assert said in exact_fault(learner)


def test_the_units_of_forced_rounds_are_those_with_a_scheduled_arm_each_once() -> None:
    learner = state(dtr.DTRBandit(q=1, delta=0.5)).forced
    assert forced_fault(learner) == ""

    learner.units[1] = learner.units[0]

    assert "units of forced rounds are not those" in forced_fault(learner)
    learner.scheduled[0, 0] = 9
    assert "an arm is scheduled that is not there" in forced_fault(learner)


@pytest.mark.parametrize(
    ("name", "number", "place", "said"),
    [
        ("used", 10**6, (0,), "more or fewer rows"),
        ("fill", 0, (0, 0), "more or fewer rows"),
        ("node", 10**6, (0, 0), "a node that is not there"),
        ("latest", 0, (0, 0), "not in the latest block of their node"),
    ],
)
def test_what_is_wrong_with_an_optimistic_learner_is_said(
    name: str, number: int, place: tuple[int, ...], said: str
) -> None:
    learner = state(dtr.LSVIUCB(beta=0.5)).learner
    assert optimistic_fault(learner) == ""

    write(name, number, place)(learner)

    assert said in optimistic_fault(learner)
