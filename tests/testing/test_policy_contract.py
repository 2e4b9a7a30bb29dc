"""The contract of policies catches what breaks it, and its script has all that can happen."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

import dtrbandit as dtr
from dtrbandit.design.feasibility import Tree, grow_tree
from dtrbandit.policies import Choice
from dtrbandit.policies.policy import certain
from dtrbandit.record import History
from dtrbandit.record.events import (
    Assigned,
    Completed,
    Corrected,
    Event,
    Fact,
    Overridden,
    Responded,
    UnitFact,
    Voided,
    Withdrawn,
)
from dtrbandit.testing import PolicyContract
from dtrbandit.testing.policy_contract import ROUNDS, drive


class Overconfident:
    """Draws uniformly, and claims to be nearly certain."""

    def init(self, design: dtr.Design) -> None: ...

    def update(self, state: None, history: History, event: Fact) -> None: ...

    def decide(self, state: None, history: History, u: float) -> Choice:  # noqa: ARG002
        arms = [arm for arm, yes in enumerate(history.feasible) if yes]
        claimed = dict.fromkeys(arms, 0.1 / len(arms))
        claimed[arms[0]] += 0.9
        return Choice(
            arms[int(u * len(arms))], "sure", tuple(claimed.get(arm, 0.0) for arm in range(len(history.feasible)))
        )


class Restless:
    """Changes its state while deciding."""

    def init(self, design: dtr.Design) -> list[int]:  # noqa: ARG002
        return []

    def update(self, state: list[int], history: History, event: Fact) -> list[int]:  # noqa: ARG002
        return state

    def decide(self, state: list[int], history: History, u: float) -> Choice:  # noqa: ARG002
        state.append(history.round)
        arm = history.feasible.index(True)
        return Choice(arm, "restless", tuple(float(a == arm) for a in range(len(history.feasible))))


class Wandering(Restless):
    """Decides by how many facts it was ever told, in whatever session."""

    def __init__(self) -> None:
        self.told = 0

    def update(self, state: list[int], history: History, event: Fact) -> list[int]:  # noqa: ARG002
        self.told += 1
        return state

    def decide(self, state: list[int], history: History, u: float) -> Choice:  # noqa: ARG002
        arms = [arm for arm, yes in enumerate(history.feasible) if yes]
        return certain(arms[self.told % 7 % len(arms)], history, "wandering")


class Lawless(Restless):
    """Gives arm 0 for one u that no session is likely to draw, feasible or not."""

    def decide(self, state: list[int], history: History, u: float) -> Choice:  # noqa: ARG002
        usual = certain(history.feasible.index(True), history, "lawless")
        return usual._replace(arm=0) if u == 0.5 else usual


class Careful:
    """Keeps the design, and looks at what it computes when it decides."""

    def init(self, design: dtr.Design) -> tuple[dtr.Design, Tree]:
        return dtr.Design(design.stages, design.plans), grow_tree(design.arm_plans, design.arm_counts)

    def update(self, state: tuple[dtr.Design, Tree], history: History, event: Fact) -> tuple[dtr.Design, Tree]:  # noqa: ARG002
        return state

    def decide(self, state: tuple[dtr.Design, Tree], history: History, u: float) -> Choice:  # noqa: ARG002
        design, tree = state
        assert design.tree.parents == tree.parents
        assert sum(map(len, design.columns)) < sum(design.dimensions)
        return certain(history.feasible.index(True), history, "careful")


def contract(policy: Any) -> PolicyContract:
    broken = PolicyContract()
    broken.policy = lambda: policy  # type: ignore[method-assign]
    return broken


def test_the_contract_catches_dishonest_propensities() -> None:
    with pytest.raises(AssertionError, match="claimed"):
        contract(Overconfident()).test_propensities_are_honest()


def test_the_contract_catches_a_policy_that_changes_while_deciding() -> None:
    with pytest.raises(AssertionError, match="changed the state"):
        contract(Restless()).test_deciding_changes_nothing()


@pytest.mark.slow
def test_the_contract_holds_for_a_policy_that_keeps_the_design_in_its_state() -> None:
    held = contract(Careful())

    for name in (name for name in dir(held) if name.startswith("test_")):
        getattr(held, name)()


def test_the_contract_catches_a_policy_that_remembers_other_sessions() -> None:
    with pytest.raises(AssertionError):
        contract(Wandering()).test_the_same_facts_lead_to_the_same_decisions()
    with pytest.raises(dtr.LogError, match="policy, 'Wandering' uses another value there than here"):
        contract(Wandering()).test_a_resumed_session_makes_the_same_next_decisions()


def test_the_contract_catches_an_infeasible_arm() -> None:
    with pytest.raises(AssertionError, match="arm 0 is infeasible"):
        contract(Lawless()).test_only_feasible_arms_are_chosen()


class Surprised(Restless):
    """Keeps a list by round, which a unit without a round breaks."""

    def update(self, state: list[int], history: History, event: Fact) -> list[int]:  # noqa: ARG002
        if history.round < 1:
            raise IndexError(history.round)
        return state

    def decide(self, state: list[int], history: History, u: float) -> Choice:  # noqa: ARG002
        return certain(history.feasible.index(True), history, "the first")


def test_only_the_contract_of_a_policy_that_is_to_be_taught_begins_with_an_earlier_trial() -> None:
    usual, teachable = contract(Surprised()), contract(Surprised())
    teachable.teachable = True

    usual.test_an_earlier_trial_teaches_and_takes_no_round()
    with pytest.raises(IndexError):
        teachable.test_an_earlier_trial_teaches_and_takes_no_round()


def test_a_contract_without_a_policy_says_what_it_needs() -> None:
    with pytest.raises(TypeError, match=r"needs a method policy\(\)"):
        PolicyContract().test_deciding_changes_nothing()


@pytest.mark.parametrize("design", PolicyContract().designs(), ids=["two stages", "three stages"])
def test_the_script_of_the_contract_amends_what_was_already_learnt(design: dtr.Design) -> None:
    session = dtr.Session(design, dtr.UniformRandom(), seed=3)

    drive(session, range(ROUNDS))

    seen: dict[str, list[type[Event]]] = {}
    happened: Counter[str] = Counter()
    for event in session.log:
        if not isinstance(event, UnitFact):
            continue
        before = seen.setdefault(event.unit, [])
        before.append(type(event))
        happened["completed"] += isinstance(event, Completed)
        happened["withdrawn"] += isinstance(event, Withdrawn)
        happened["left early"] += isinstance(event, Completed) and before.count(Assigned) < len(design.stages)
        happened["late override"] += isinstance(event, Overridden) and Responded in before
        happened["override after the outcome"] += isinstance(event, Overridden) and Completed in before
        happened["late correction"] += isinstance(event, Corrected) and event.stage is not None and Responded in before
        happened["voided"] += isinstance(event, Voided)
        happened["corrected outcome"] += isinstance(event, Corrected) and event.outcome is not None
    assert min(happened.values()) >= 3, happened
