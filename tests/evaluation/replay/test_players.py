"""Policies at play: what they are asked leaves no trace, and what they are told is what a session would be told."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given

import dtrbandit as dtr
from dtrbandit.evaluation import Cohort
from dtrbandit.evaluation.replay.players import CohortFacts, earlier_of, material_of, player_of
from dtrbandit.evaluation.replay.replay import replay
from dtrbandit.record.events import Completed, Enrolled, Responded
from dtrbandit.record.histories import History
from evaluation.cohorts import session_of
from evaluation.replay_worlds import few, names, points, random_cohort, random_design, seeds, world
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


# -- A cohort as facts: what a session that met its units would have recorded, and what a policy would have seen


SEEDS = range(6)


class Watching:
    """A policy that keeps every history it is shown, with the fact."""

    def __init__(self, policy: Any) -> None:
        self.policy, self.seen = policy, list[tuple[History, Any]]()

    def init(self, design: dtr.Design) -> Any:
        return self.policy.init(design)

    def update(self, state: Any, history: History, event: Any) -> Any:
        self.seen.append((history, event))
        return self.policy.update(state, history, event)

    def decide(self, state: Any, history: History, u: float) -> Any:
        return self.policy.decide(state, history, u)


def whole(seed: int) -> Cohort:
    """Draw units of which nobody dropped out: a session can be told all of them."""
    rng = np.random.default_rng(seed)
    return random_cohort(random_design(rng), 30, rng, dropped_out=0.0)


def told(facts: CohortFacts, row: int) -> list[tuple[History, Any]]:
    """Return what a policy is told of a unit in the round of its row, without what was decided."""
    t, given = row + 1, len(facts.arms[row])
    arrived = [facts.arrived(row, t, m) for m in range(min(given + 1, len(facts.design.stages)))]
    return [*arrived, facts.end(row, t)]


@pytest.mark.parametrize("seed", SEEDS)
def test_a_session_that_met_the_units_recorded_the_same_facts(seed: int) -> None:
    cohort = whole(seed)
    facts = CohortFacts(cohort)

    log = session_of(cohort, dtr.UniformRandom()).log

    expected = [event for event in log if isinstance(event, Enrolled | Responded | Completed)]
    found = [fact for row in range(len(cohort)) for _, fact in told(facts, row)]
    assert [_without_unit(fact) for fact in found] == [_without_unit(event) for event in expected]


def _without_unit(event: Any) -> tuple[object, ...]:
    fields = event._asdict() | {"unit": ""}
    return type(event), *(dict(value) if name == "context" else value for name, value in fields.items())


@pytest.mark.parametrize("seed", SEEDS)
def test_a_policy_would_have_seen_the_same_histories(seed: int) -> None:
    cohort = whole(seed)
    facts, watching = CohortFacts(cohort), Watching(dtr.UniformRandom())

    session_of(cohort, watching)

    expected = [history for history, event in watching.seen if isinstance(event, Enrolled | Responded | Completed)]
    found = [history for row in range(len(cohort)) for history, _ in told(facts, row)]
    assert len(found) == len(expected)
    for one, other in zip(found, expected, strict=True):
        assert (one.round, one.node, one.arms, one.outcome) == (other.round, other.node, other.arms, other.outcome)
        assert [psi.tolist() for psi in one.features] == [psi.tolist() for psi in other.features]


def test_after_an_arm_a_history_has_it_and_nothing_is_open() -> None:
    cohort = whole(1)
    facts = CohortFacts(cohort)
    first = int(cohort.arms[0, 0])

    history = facts.given(0, 7, 0)

    assert (history.unit, history.round, history.arms, history.feasible) == ("u7", 7, (first,), ())
    assert history.node == cohort.design.tree.after((first,))


def test_features_of_a_history_cannot_be_changed() -> None:
    history, _ = CohortFacts(whole(0)).arrived(0, 1, 0)

    with pytest.raises(ValueError, match="read-only"):
        history.features[0][0] = 2.0
