"""Algorithm 2 in one loop: the same rows as fact by fact, bit for bit."""

from __future__ import annotations

from typing import Any

from hypothesis import given

from dtrbandit.evaluation.replay.players import (
    BuiltinPlayer,
    CohortFacts,
    PythonPlayer,
    arrays_of,
    material_of,
    player_of,
)
from evaluation.replay_worlds import few, names, seeds, world


def learnt(state: Any) -> dict[str, bytes]:
    """Return what a state knows."""
    return {name: array.tobytes() for name, array in state.arrays().items()}


@given(names, seeds)
@few
def test_the_compiled_loop_accepts_what_python_does_and_learns_the_same(name: str, seed: int) -> None:
    cohort, policy, rng = world(seed, name)
    order = rng.integers(len(cohort), size=500)
    compiled = player_of(policy, material_of(policy, cohort), cohort.design, horizon=40, seed=seed)
    through_python = PythonPlayer(policy, CohortFacts(cohort), horizon=40, seed=seed)

    offered = compiled.offer(order[:200]), compiled.offer(order[200:])

    assert (through_python.offer(order[:200]), through_python.offer(order[200:])) == offered
    assert compiled.rounds == through_python.rounds
    accepted = slice(compiled.rounds)
    assert compiled.accepted[accepted].tolist() == through_python.accepted[accepted].tolist()
    assert compiled.rounds > 5 or name.startswith("LSVI")
    if isinstance(compiled, BuiltinPlayer):
        assert learnt(compiled.state) == learnt(through_python.state)
    if compiled.rounds < 40:
        assert compiled.agreeing().tolist() == through_python.agreeing().tolist()


def test_rare_switching_over_three_stages_is_played_through_python_because_it_must() -> None:
    """Here a unit's first row, counted on its way, changes what it is given at its third stage."""
    cohort, policy, rng = world(2, "LSVI-UCB, rare")
    order = rng.integers(len(cohort), size=800)
    chosen = player_of(policy, material_of(policy, cohort), cohort.design, horizon=60, seed=2)
    exact = PythonPlayer(policy, CohortFacts(cohort), horizon=60, seed=2)
    too_simple = BuiltinPlayer(policy, cohort.design, arrays_of(cohort), horizon=60, seed=2)

    for player in (chosen, exact, too_simple):
        player.offer(order)

    assert chosen.accepted.tolist() == exact.accepted.tolist()
    assert too_simple.accepted.tolist() != exact.accepted.tolist()
