"""Policies at play: what they are asked leaves no trace, and what they are told is what a session would be told."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given

import dtrbandit as dtr
from dtrbandit.evaluation.replay.algorithm_2 import replay
from dtrbandit.evaluation.replay.players import earlier_of, material_of, player_of
from evaluation.replay_worlds import few, names, points, random_cohort, seeds, world
from plain.replay import Algorithm
from simulation.worlds import Own
from small_taught import earlier_trial

pytestmark = pytest.mark.filterwarnings(
    "ignore::dtrbandit.evaluation.EqualWeights"
)  # leavers, drawn with equal weights
small = pytest.mark.filterwarnings("ignore::dtrbandit.evaluation.SmallCohort")


def dump(state: Any) -> dict[str, bytes]:
    return {name: array.tobytes() for name, array in state.arrays().items()}  # what asking reads is refitted


@given(names, seeds)
@few
def test_a_rejected_replay_round_leaves_no_trace(name: str, seed: int) -> None:
    cohort, policy, rng = world(seed, name)
    player, undisturbed = (
        player_of(policy, material_of(policy, cohort), cohort.design, horizon=60, seed=seed) for _ in range(2)
    )

    player.offer(rng.integers(len(cohort), size=100))
    refused = np.flatnonzero(~player.agreeing())
    player.offer(rng.permutation(np.repeat(refused, 3)))

    undisturbed.offer(player.accepted[: player.rounds].astype(np.int64))  # as if no other row had come
    assert undisturbed.rounds == player.rounds
    assert dump(player.state) == dump(undisturbed.state)  # type: ignore[attr-defined]  # both kinds have one here


@given(names, seeds)
@few
def test_a_session_told_the_accepted_units_would_have_given_their_arms(name: str, seed: int) -> None:
    cohort, policy, rng = world(seed, name)
    player = player_of(policy, material_of(policy, cohort), cohort.design, horizon=40, seed=seed)
    player.offer(rng.integers(len(cohort), size=400))
    rows = points(cohort)
    algorithm = Algorithm(cohort.design, policy, seed)
    session = dtr.Session(cohort.design, policy, seed=seed)

    for t, row in enumerate(player.accepted[: player.rounds].tolist(), 1):
        point = rows[row]

        assert point is not None
        assert algorithm._tell(session, f"u{t}", point.contexts) == point.arms
        session.complete(f"u{t}", point.outcome)


@given(names, seeds)
@few
def test_a_session_that_was_taught_would_have_given_the_arms_of_a_replay_that_was(name: str, seed: int) -> None:
    cohort, policy, rng = world(seed, name)
    prior = earlier_trial(cohort.design, 25, seed=seed)
    earlier = earlier_of(prior, cohort.design)
    player = player_of(policy, material_of(policy, cohort), cohort.design, horizon=40, seed=seed, earlier=earlier)
    player.offer(rng.integers(len(cohort), size=400))
    rows, algorithm = points(cohort), Algorithm(cohort.design, policy, seed)
    session = dtr.Session(cohort.design, policy, seed=seed, prior=prior)

    for t, row in enumerate(player.accepted[: player.rounds].tolist(), 1):
        point = rows[row]

        assert point is not None
        assert algorithm._tell(session, f"u{t}", point.contexts) == point.arms
        session.complete(f"u{t}", point.outcome)


@small
def test_a_policy_of_the_callers_own_plays_as_the_one_it_wraps_after_an_earlier_trial() -> None:
    cohort, policy, _ = world(5, "DTRB, permuted")
    prior = earlier_trial(cohort.design, 25, seed=1)

    own, built_in = (replay(each, cohort, horizon=60, paths=2, prior=prior) for each in (Own(policy), policy))
    untaught = replay(policy, cohort, horizon=60, paths=2)

    assert (own.rows == built_in.rows).all()
    assert (own.rows != untaught.rows).any()


@small
def test_a_policy_of_the_callers_own_plays_as_the_one_it_wraps() -> None:
    cohort, policy, _ = world(5, "DTRB, permuted")

    own, built_in = (replay(each, cohort, horizon=60, paths=2) for each in (Own(policy), policy))

    assert (own.rows == built_in.rows).all()
    assert (own.draws == built_in.draws).all()


@small
def test_a_rule_in_python_plays_as_the_same_rule_compiled() -> None:
    design = dtr.Design([dtr.Stage("s0", ("a", "b"), "1 + x0"), dtr.Stage("s1", ("a", "b"), "1 + x1")])
    cohort = random_cohort(design, 60, np.random.default_rng(0))
    rule = dtr.FixedRegime(rule=lambda history: "a" if history.features[-1][1] > 0.205 else "b")
    lines = {stage.name: {"a": [-0.205, 1.0], "b": [0.0, 0.0]} for stage in design.stages}

    through_python, compiled = (
        replay(each, cohort, horizon=80, paths=2) for each in (rule, dtr.FixedRegime(rule=lines))
    )

    assert (through_python.rows == compiled.rows).all()
