"""Every policy of ours keeps the contract, and so does one of a third party."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any

import pytest

import dtrbandit as dtr
from dtrbandit.policies import Choice, Policy
from dtrbandit.record import History
from dtrbandit.record.events import (
    Assigned,
    Completed,
    Corrected,
    Event,
    Fact,
    Opened,
    Overridden,
    Responded,
    Withdrawn,
)
from dtrbandit.testing import PolicyContract
from dtrbandit.testing.policy_contract import ROUNDS, drive


class TestDTRBandit(PolicyContract):
    def policy(self) -> Policy[Any]:
        return dtr.DTRBandit(q=1, delta=0.5)


class TestDTRBanditPermuted(PolicyContract):
    def policy_for(self, design: dtr.Design) -> Policy[Any]:
        return dtr.DTRBandit(q=1, delta=(0.5, 2.0, 1.0)[: len(design.stages)], schedule="permuted")


class TestDTRBanditPermutedTwice(PolicyContract):
    def policy(self) -> Policy[Any]:
        return dtr.DTRBandit(q=2, delta=0.5, schedule="permuted")


class TestEpsilonGreedy(PolicyContract):
    def policy(self) -> Policy[Any]:
        return dtr.EpsilonGreedy(epsilon=0.3)


class TestGreedy(PolicyContract):
    def policy(self) -> Policy[Any]:
        return dtr.Greedy()


class TestLSVIUCB(PolicyContract):
    def policy_for(self, design: dtr.Design) -> Policy[Any]:
        bound = (1.0, (1.0, 2.0, 3.0), 2.0)[: len(design.stages)]
        return dtr.LSVIUCB(beta=0.5, bound=bound, clip=5.0, leavers="optimistic")


class TestLSVIUCBRareSwitching(PolicyContract):
    def policy(self) -> Policy[Any]:
        return dtr.LSVIUCB(beta=0.5, switching="rare")


class TestFixedRegime(PolicyContract):
    def policy_for(self, design: dtr.Design) -> Policy[Any]:
        rule: dict[str, Any] = {"first": {"a": [0, 1], "b": [0.2, 0]}, "second": "b", "third": "b"}
        return dtr.FixedRegime(rule={stage.name: rule[stage.name] for stage in design.stages})


class TestUniformRandom(PolicyContract):
    def policy(self) -> Policy[Any]:
        return dtr.UniformRandom()


@dataclass(frozen=True)
class PlayTheWinner:
    """A third party's policy: after a good outcome repeat the unit's first arm, with a little noise."""

    def init(self, design: dtr.Design) -> list[int]:  # noqa: ARG002
        return [0]

    def update(self, state: list[int], history: History, event: Fact) -> list[int]:  # noqa: ARG002
        if history.outcome is not None and history.outcome > 0:
            return [history.arms[0]]
        return state

    def decide(self, state: list[int], history: History, u: float) -> Choice:
        arms = [arm for arm, yes in enumerate(history.feasible) if yes]
        favourite = state[0] if state[0] in arms else arms[0]
        propensities = [0.1 / len(arms) * yes for yes in history.feasible]
        propensities[favourite] += 0.9
        arm = arms[int(u / 0.1 * len(arms))] if u < 0.1 else favourite
        return Choice(arm, "winner", tuple(propensities))


class TestPlayTheWinner(PolicyContract):
    def policy(self) -> Policy[Any]:
        return PlayTheWinner()


class Overconfident:
    """Draws uniformly, and claims to be certain."""

    def init(self, design: dtr.Design) -> None: ...

    def update(self, state: None, history: History, event: Fact) -> None: ...

    def decide(self, state: None, history: History, u: float) -> Choice:  # noqa: ARG002
        arms = [arm for arm, yes in enumerate(history.feasible) if yes]
        claimed = tuple(float(arm == arms[0]) for arm in range(len(history.feasible)))
        return Choice(arms[int(u * len(arms))], "sure", claimed)


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


def test_the_contract_catches_dishonest_propensities() -> None:
    contract = PolicyContract()
    contract.policy = lambda: Overconfident()  # type: ignore[method-assign]

    with pytest.raises(AssertionError, match="claimed"):
        contract.test_propensities_are_honest()


def test_the_contract_catches_a_policy_that_changes_while_deciding() -> None:
    contract = PolicyContract()
    contract.policy = lambda: Restless()  # type: ignore[method-assign]

    with pytest.raises(AssertionError, match="changed the state"):
        contract.test_deciding_changes_nothing()


@pytest.mark.parametrize("design", PolicyContract().designs(), ids=["two stages", "three stages"])
def test_the_script_of_the_contract_amends_what_was_already_learnt(design: dtr.Design) -> None:
    session = dtr.Session(design, dtr.UniformRandom(), seed=3)

    drive(session, range(ROUNDS))

    seen: dict[str, list[type[Event]]] = {}
    happened: Counter[str] = Counter()
    for event in session.log:
        if isinstance(event, Opened):
            continue
        before = seen.setdefault(event.unit, [])
        before.append(type(event))
        happened["completed"] += isinstance(event, Completed)
        happened["withdrawn"] += isinstance(event, Withdrawn)
        happened["left early"] += isinstance(event, Completed) and before.count(Assigned) < len(design.stages)
        happened["late override"] += isinstance(event, Overridden) and Responded in before
        happened["override after the outcome"] += isinstance(event, Overridden) and Completed in before
        happened["late correction"] += isinstance(event, Corrected) and event.stage is not None and Responded in before
        happened["corrected outcome"] += isinstance(event, Corrected) and event.outcome is not None
    assert min(happened.values()) >= 3, happened
