"""The embedding of one-stage problems (below the theorem in section 4, label "section: theory")."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dtrbandit as dtr
from dtrbandit.courses import play, potential_courses
from dtrbandit.environments import Linear, OneStage
from dtrbandit.errors import DesignError


def test_the_second_context_is_the_one_stage_outcome_and_so_is_the_outcome() -> None:
    embedded = OneStage(arms=3, dimension=4, margin=0.5, suboptimal=1, noise=2.0, seed=5, second_arms=2)
    alone = Linear(stages=1, arms=3, dimension=4, margin=0.5, suboptimal=1, noise=2.0, seed=5)

    units, one = (each.draw(50, np.random.default_rng(0)) for each in (embedded, alone))

    assert units.contexts[0].keys() == one.contexts[0].keys()
    assert all(np.array_equal(units.contexts[0][name], one.contexts[0][name]) for name in one.contexts[0])
    np.testing.assert_array_equal(units.contexts[1]["x2"], one.outcome)
    np.testing.assert_array_equal(units.outcome, np.stack([one.outcome, one.outcome], axis=2))
    assert embedded.optimal_value == alone.optimal_value


@pytest.mark.parametrize("second_arms", [1, 2])
def test_regret_is_exactly_the_one_stage_regret(second_arms: int) -> None:
    units = OneStage(second_arms=second_arms).draw(500, np.random.default_rng(1))
    arms = play(dtr.DTRBandit(q=2, delta=1.0), potential_courses(units), units.design).arms
    rows = np.arange(500)
    assert units.q is not None
    first, second = units.q

    by_stage = [
        first.max(axis=1) - first[rows, arms[:, 0]],
        second[rows, arms[:, 0]].max(axis=1) - second[rows, arms[:, 0], arms[:, 1]],
    ]

    assert by_stage[0].sum() > 0
    assert (by_stage[1] == 0).all()


@pytest.mark.parametrize(
    ("parameters", "words"),
    [({"second_arms": 0}, "second_arms must be a whole number from 1"), ({"margin": -1}, "margin must be")],
)
def test_impossible_parameters_are_refused(parameters: dict[str, Any], words: str) -> None:
    with pytest.raises(DesignError, match=words):
        OneStage(**parameters)
