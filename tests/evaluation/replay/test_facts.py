"""A cohort as facts: what a session that met its units would have recorded, and what a policy would have seen."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dtrbandit as dtr
from dtrbandit.evaluation import Cohort
from dtrbandit.evaluation.replay.facts import CohortFacts
from dtrbandit.record.events import Completed, Enrolled, Responded
from dtrbandit.record.histories import History
from evaluation.cohorts import session_of
from evaluation.replay_worlds import random_cohort, random_design

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
