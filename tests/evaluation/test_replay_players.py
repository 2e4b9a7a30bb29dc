"""Algorithm 2, compiled and through Python: the same rows, bit for bit, as the paper's lines say."""

from __future__ import annotations

from itertools import chain, islice
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import dtrbandit as dtr
from dtrbandit.evaluation.cohort import Cohort
from dtrbandit.evaluation.proposals import drawn_rows, weigh
from dtrbandit.evaluation.replay import POLICY, ROWS, SmallCohort, replay
from dtrbandit.evaluation.replay_players import CompiledPlayer, PythonPlayer, material_of, player_of
from dtrbandit.evaluation.retold import Retold
from evaluation.replay_worlds import policies, random_cohort, random_design
from plain.replay import Algorithm, Point, replay_dtr
from policies.twins import plain_twin
from simulation.worlds import Own

seeds = st.integers(0, 2**32 - 1)
names = st.sampled_from(list(policies(dtr.Design([dtr.Stage("s", ("a", "b"), "1")]))))
few = settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
small = pytest.mark.filterwarnings("ignore::dtrbandit.evaluation.replay.SmallCohort")


def world(seed: int, name: str, n: int = 50) -> tuple[Cohort, Any, np.random.Generator]:
    rng = np.random.default_rng(seed)
    design = random_design(rng)
    policy = policies(design)[name]
    return random_cohort(design, n, rng), dtr.LSVIUCB(beta=3.0) if name == "LSVI-UCB, theory" else policy, rng


def small_arrays(state: Any) -> list[bytes]:
    """Return what a state has learnt, apart from arrays that grow with the number of units."""
    learner, memory = state.learner, state.memory
    kept = learner.pages, learner.tallies, memory.tally, memory.tilde, memory.frozen, memory.drawn, memory.ridge
    return [array.tobytes() for array in kept]


def dump(state: Any) -> list[bytes]:
    return [array.tobytes() for array in state.arrays]


def points(cohort: Cohort) -> list[Point | None]:
    """Return a cohort's rows as the paper writes them."""
    found: list[Point | None] = []
    for row, arms in enumerate(cohort.arms.tolist()):
        if np.isnan(cohort.outcome[row]):
            found.append(None)
            continue
        own = [arm for arm in arms if arm >= 0]
        seen = min(len(own) + 1, len(arms))
        contexts = tuple(
            {name: float(values[row]) for name, values in context.items() if np.isfinite(values[row])}
            for context in cohort.contexts[:seen]
        )
        labels = tuple(stage.arms[arm] for stage, arm in zip(cohort.design.stages, own, strict=False))
        found.append(Point(contexts, labels, float(cohort.outcome[row])))
    return found


def streams(seed: int, path: int) -> tuple[np.random.Generator, int]:
    rows, policy = (np.random.SeedSequence(seed, spawn_key=(path, stream)) for stream in (ROWS, POLICY))
    return np.random.default_rng(rows), int(policy.generate_state(1, np.uint64)[0])


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


@pytest.mark.parametrize(
    ("name", "seed"),
    [
        ("DTRB", 12),
        ("DTRB", 24),
        ("0.3-Greedy", 12),
        ("Greedy", 24),
        ("LSVI-UCB", 12),
        ("LSVI-UCB, optimistic", 24),
    ],
)
@small
def test_replay_is_algorithm_2_with_the_plain_refit(name: str, seed: int) -> None:
    cohort, policy, _ = world(seed, name, n=40)
    found = replay(policy, cohort, horizon=20, paths=1, seed=seed)
    rng, policy_seed = streams(seed, 0)
    order = chain.from_iterable(block.tolist() for block in drawn_rows(weigh(cohort, None), rng))
    rows = points(cohort)

    value, hist = replay_dtr(20, Algorithm(cohort.design, plain_twin(policy), policy_seed), (rows[i] for i in order))

    assert found.value == pytest.approx(value, rel=1e-12)
    assert [rows[row] for row in found.rows[0]] == list(hist)


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
