"""Every policy of ours keeps the contract, and so does one of a third party."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

import dtrbandit as dtr
from dtrbandit.policies import Choice, Policy
from dtrbandit.policies.registry import BUILTIN
from dtrbandit.record import History
from dtrbandit.record.events import Fact
from dtrbandit.testing import PolicyContract as UntaughtContract


class PolicyContract(UntaughtContract):
    """The contract with an earlier trial, which all policies here can learn from."""

    teachable = True


def contract_of(example: Policy[Any]) -> type[PolicyContract]:
    """Return the contract that an example of a built-in policy must keep."""
    return type("Contract", (PolicyContract,), {"policy": lambda _: example, "__doc__": repr(example)})


for name, kind in BUILTIN.items():
    for number, example in enumerate(kind.examples()):
        contract = contract_of(example)
        globals()[f"Test{name}{number or ''}"] = pytest.mark.full(contract) if number else contract


# -- with parameters that depend on the design, and options that no example has -----------------------------------


class TestDTRBanditPermuted(PolicyContract):
    def policy_for(self, design: dtr.Design) -> Policy[Any]:
        return dtr.DTRBandit(q=1, delta=(0.5, 2.0, 1.0)[: len(design.stages)], schedule="permuted")


class TestDTRBanditWithFloor(PolicyContract):
    def policy(self) -> Policy[Any]:
        return dtr.DTRBandit(q=1, delta=0.5, floor=0.15)


class TestLSVIUCBWithBounds(PolicyContract):
    def policy_for(self, design: dtr.Design) -> Policy[Any]:
        bound = (1.0, (1.0, 2.0, 3.0), 2.0)[: len(design.stages)]
        return dtr.LSVIUCB(beta=0.5, bound=bound, clip=5.0, leavers="optimistic")


@pytest.mark.full
class TestLSVIUCBRareSwitching(PolicyContract):
    def policy(self) -> Policy[Any]:
        return dtr.LSVIUCB(beta=0.5, switching="rare")


class TestFixedRegime(PolicyContract):
    def policy_for(self, design: dtr.Design) -> Policy[Any]:
        rule: dict[str, Any] = {"first": {"a": [0, 1], "b": [0.2, 0]}, "second": "b", "third": "b"}
        return dtr.FixedRegime(rule={stage.name: rule[stage.name] for stage in design.stages})


# -- of a third party ---------------------------------------------------------------------------------------------


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
