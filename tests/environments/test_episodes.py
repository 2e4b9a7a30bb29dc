"""Units one stage at a time: what is observed of them, what they are given, and how they end."""

from __future__ import annotations

import numpy as np
import pytest

import dtrbandit as dtr
from dtrbandit.environments import PotentialOutcomes, Synthetic
from dtrbandit.environments.episodes import Episodes
from simulation.worlds import DESIGN, Branching

EVERY = np.ones(50, dtype=bool)


def begun(batch: int = 50) -> tuple[Episodes, PotentialOutcomes]:
    """Return fifty units that have come, and the same ones with all that could happen to them."""
    episodes = Episodes(Branching(), 50, batch=batch)
    episodes.begin(EVERY, np.random.default_rng(5))
    return episodes, Branching().draw(batch, np.random.default_rng(5))


def test_before_the_first_unit_there_is_nothing_to_observe() -> None:
    episodes = Episodes(Branching(), 2, batch=4)

    features, stage, feasible = episodes.observe()

    assert episodes.ended.all()
    assert not features.any()
    assert stage.tolist() == [3, 3]
    assert not feasible.any()


def test_a_unit_shows_its_features_and_zeros_behind_them() -> None:
    episodes, units = begun()

    features, stage, feasible = episodes.observe()

    assert features[:, 1].tolist() == units.contexts[0]["x1"].tolist()
    assert not features[:, 2:].any()
    assert stage.tolist() == [0] * 50
    assert feasible.tolist() == [[1, 1, 0]] * 50


def test_who_leaves_early_ends_with_the_outcome_and_the_others_go_on() -> None:
    episodes, units = begun()
    left = units.contexts[1]["x2"][:, 0] <= -1

    episodes.assign(np.zeros(50, dtype=np.int64))

    assert 0 < left.sum() < 50
    assert episodes.ended.tolist() == left.tolist()
    assert episodes.outcome[left].tolist() == units.outcome[left, 0, 0, 0].tolist()
    assert not episodes.outcome[~left].any()
    assert not episodes.observe().features[left].any()


def test_the_last_arm_gives_the_outcome_of_the_plan() -> None:
    episodes, units = begun()
    last = np.zeros(50)
    for arm in (1, 2, 1):
        going = ~episodes.ended
        episodes.assign(np.full(50, arm))
        last[going] = episodes.outcome[going]

    assert episodes.ended.all()
    assert last.tolist() == units.outcome[:, 1, 2, 1].tolist()


def test_units_come_in_batches_and_those_that_wait_can_be_dropped() -> None:
    episodes, units = begun(batch=120)
    rng = np.random.default_rng(0)

    episodes.begin(EVERY, rng)  # the next fifty of the batch
    second = episodes.observe().features[:, 1].tolist()
    episodes.drop_waiting()
    episodes.begin(EVERY, rng)

    assert second == units.contexts[0]["x1"][50:100].tolist()
    assert episodes.observe().features[:, 1].tolist() != units.contexts[0]["x1"][50:100].tolist()


def test_an_infeasible_arm_is_refused_and_nothing_happens() -> None:
    episodes, _ = begun()
    before = episodes.observe()

    with pytest.raises(
        dtr.ProtocolError, match=r"slot 3 cannot be given arm 2 at stage 'first' .*feasible are \[0, 1\]"
    ):
        episodes.assign(np.where(np.arange(50) == 3, 2, 0))

    now = episodes.observe()
    assert np.array_equal(now.features, before.features)
    assert now.stage.tolist() == before.stage.tolist()


def test_units_whose_outcomes_are_no_numbers_are_refused() -> None:
    class Spoilt:
        design = Synthetic().design

        def draw(self, n: int, rng: np.random.Generator) -> PotentialOutcomes:
            units = Synthetic().draw(n, rng)
            units.outcome[1, 0, 1] = np.nan
            return units

    with pytest.raises(dtr.ObservationError, match="not finite numbers"):
        Episodes(Spoilt(), 2, batch=3).begin(np.ones(2, dtype=bool), np.random.default_rng(0))


def test_infeasible_plans_may_be_anything() -> None:
    episodes, units = begun()

    assert np.isnan(units.outcome).any()
    assert not episodes.ended.any()
    assert len(DESIGN.arm_plans) < 12
