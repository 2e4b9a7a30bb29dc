"""What all estimators have in common, and the one that learns nothing."""

from __future__ import annotations

import inspect

import numpy as np
import pytest

from dtrbandit.estimators.estimator import NO_ESTIMATOR, Estimator
from dtrbandit.estimators.observed import ARRIVED, COMPLETED
from dtrbandit.kernels.compile import KERNELS
from dtrbandit.policies.builtin import RULES
from estimators.few_units import observed_units, small_design

DESIGN = small_design()
ESTIMATORS = list(dict.fromkeys(rule.estimator for rule in RULES))
each_estimator = pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda estimator: estimator.name)


@each_estimator
def test_the_switch_can_call_its_kernels(estimator: Estimator) -> None:
    assert [*inspect.signature(estimator.learn).parameters] == ["observed", "beliefs", "fact", "unit", "m"]
    assert [*inspect.signature(estimator.begin_anew).parameters] == ["observed", "beliefs"]
    assert {estimator.learn, estimator.begin_anew} <= set(KERNELS.values())


@each_estimator
def test_growing_changes_room_and_nothing_else(estimator: Estimator) -> None:
    before = estimator.create(DESIGN)

    after = estimator.grow(before, 50)

    assert type(after) is type(before)
    for one, other in zip(before, after, strict=True):
        assert one.dtype == other.dtype
        assert np.array_equal(one, other[tuple(slice(length) for length in one.shape)])


def test_names_tell_estimators_apart() -> None:
    assert len({estimator.name for estimator in ESTIMATORS}) == len(ESTIMATORS) > 1


def test_who_estimates_nothing_learns_nothing_and_has_nothing_to_tell() -> None:
    seen = observed_units(DESIGN, 5)
    beliefs = NO_ESTIMATOR.create(DESIGN)

    for fact in (ARRIVED, COMPLETED):
        NO_ESTIMATOR.learn(seen, beliefs, fact, 0, 1)
    NO_ESTIMATOR.begin_anew(seen, beliefs)

    assert beliefs == ()
    assert NO_ESTIMATOR.estimates(DESIGN, seen, beliefs) == ((), None, (), ())
