"""Algorithm 2, compiled and through Python: the same rows, bit for bit, as the paper's lines say."""

from __future__ import annotations

from itertools import chain, islice
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import dtrbandit as dtr
from dtrbandit.evaluation.replay.facts import Retold
from dtrbandit.evaluation.replay.players import CompiledPlayer, PythonPlayer, material_of, player_of, units_of
from dtrbandit.evaluation.replay.replay import SmallCohort, replay
from dtrbandit.evaluation.replay.sampling import drawn_rows, weigh
from evaluation.replay_worlds import points, policies, random_cohort, streams, world
from plain.replay import Algorithm
from simulation.worlds import Own

seeds = st.integers(0, 2**32 - 1)
names = st.sampled_from(list(policies(dtr.Design([dtr.Stage("s", ("a", "b"), "1")]))))
few = settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
small = pytest.mark.filterwarnings("ignore::dtrbandit.evaluation.SmallCohort")


def small_arrays(state: Any) -> list[bytes]:
    """Return what a state has learnt, apart from arrays that grow with the number of units."""
    state.settle()
    small = "pages", "tallies", "tally", "tilde", "frozen", "drawn", "ridge", "fixed"
    groups = state.beliefs, state.memory
    return [getattr(group, name).tobytes() for group in groups for name in small if hasattr(group, name)]


def dump(state: Any) -> list[bytes]:
    state.settle()  # what asking reads is refitted, which changes no decision
    return [array.tobytes() for array in state.arrays()]


@given(names, seeds)
@few
def test_the_compiled_loop_accepts_what_python_does_and_learns_the_same(name: str, seed: int) -> None:
    cohort, policy, rng = world(seed, name)
    order = rng.integers(len(cohort), size=500)
    compiled = player_of(policy, material_of(policy, cohort), cohort.design, horizon=40, seed=seed)
    through_python = PythonPlayer(policy, Retold(cohort), horizon=40, seed=seed)

    offered = compiled.offer(order[:200]), compiled.offer(order[200:])

    assert (through_python.offer(order[:200]), through_python.offer(order[200:])) == offered
    assert compiled.rounds == through_python.rounds
    accepted = slice(compiled.rounds)
    assert compiled.accepted[accepted].tolist() == through_python.accepted[accepted].tolist()
    assert compiled.rounds > 5 or name.startswith("LSVI")
    if isinstance(compiled, CompiledPlayer):
        assert small_arrays(compiled.state) == small_arrays(through_python.state)
    if compiled.rounds < 40:
        assert compiled.agreeing().tolist() == through_python.agreeing().tolist()


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


def test_rare_switching_over_three_stages_is_played_through_python_because_it_must() -> None:
    """Here a unit's first row, counted on its way, changes what it is given at its third stage."""
    cohort, policy, rng = world(2, "LSVI-UCB, rare")
    order = rng.integers(len(cohort), size=800)
    chosen = player_of(policy, material_of(policy, cohort), cohort.design, horizon=60, seed=2)
    exact = PythonPlayer(policy, Retold(cohort), horizon=60, seed=2)
    too_simple = CompiledPlayer(policy, cohort.design, units_of(cohort), horizon=60, seed=2)

    for player in (chosen, exact, too_simple):
        player.offer(order)

    assert chosen.accepted.tolist() == exact.accepted.tolist()
    assert too_simple.accepted.tolist() != exact.accepted.tolist()


@small
def test_early_leavers_match_on_the_stages_they_entered_and_drop_outs_never() -> None:
    cohort, policy, _ = world(12, "DTRB", n=80)
    assert cohort.left_early.sum() > 5
    assert cohort.dropped_out.sum() > 5

    found = replay(policy, cohort, horizon=300, paths=2)

    assert not cohort.dropped_out[found.rows].any()
    assert cohort.left_early[found.rows].mean() > 0.05
    assert (found.arms == cohort.arms[found.rows]).all()
    assert (found.outcomes == cohort.outcome[found.rows]).all()


@small
def test_all_policies_are_offered_the_same_rows_in_the_same_order() -> None:
    cohort, _, _ = world(3, "DTRB")
    for name in ("DTRB", "uniform", "rule"):
        found = replay(policies(cohort.design)[name], cohort, horizon=50, paths=2, seed=9)
        for path in range(2):
            offered = chain.from_iterable(drawn_rows(weigh(cohort, None), streams(9, path)[0]))
            among = list(islice(offered, int(found.draws[path])))
            left = iter(among)

            assert all(row in left for row in found.rows[path])  # in order: the iterator goes on where it was
            assert among[-1] == found.rows[path, -1]


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


def test_a_warning_says_that_a_cohort_is_small() -> None:
    cohort, policy, _ = world(5, "Greedy")

    with pytest.warns(SmallCohort, match="exceeds the effective sample size"):
        replay(policy, cohort, horizon=60, paths=1)
