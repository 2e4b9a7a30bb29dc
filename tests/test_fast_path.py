"""Usual verbs in one function: the same answers, errors, facts and bits as by the rules."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dtrbandit as dtr
from dtrbandit.record.snapshot import frozen
from effort import seeded
from policies.states import bits, every_policy

TWO = dtr.Design(
    [
        dtr.Stage("first", ("a", "b"), "1 + x"),
        dtr.Stage("second", ("a", "b"), "1 + z", enter_if="r > 0"),
    ],
    plans=[("a", "a"), ("a", "b"), ("b", "b")],
)
THREE = dtr.Design(
    [
        dtr.Stage("one", ("a", "b"), "1 + x"),
        dtr.Stage("two", ("a", "b", "c"), "1 + y*C(one)"),
        dtr.Stage("three", ("a", "b"), "1"),  # observes nothing new
    ]
)
ODD: tuple[Any, ...] = (1, True, "1.0", None, float("nan"), 1e200, np.float64(0.5), np.float32(0.5))
IDS = ("u1", "U1", "é", "e\u0301", " u", "", "u\n", 7, None)


def steps(session: dtr.Session, rng: np.random.Generator) -> list[Callable[[], Any]]:
    """Return a verb with its values, often a usual one, sometimes one that must be refused."""
    unit: Any = f"u{rng.integers(30)}" if rng.random() < 0.9 else IDS[rng.integers(len(IDS))]
    numbers: list[Any] = rng.normal(size=3).round(2).tolist()
    if rng.random() < 0.1:
        numbers[rng.integers(3)] = ODD[rng.integers(len(ODD))]
    contexts = [dict(zip(columns, numbers, strict=False)) for columns in session.design.columns]
    context: Any = contexts[rng.integers(1, len(contexts))] if rng.random() < 0.9 else {"what": 1.0}
    stage = session.design.stages[-1]
    usual = [
        lambda: session.enroll(unit, contexts[0]),
        lambda: session.respond(unit, context),
        lambda: session.complete(unit, numbers[0]),
    ]
    rare = [
        lambda: session.withdraw(unit, reason="moved away"),
        lambda: session.override(unit, "b", reason="allergy"),
        lambda: session.correct(unit, outcome=numbers[1], reason="misread"),
        lambda: session.void(unit, reason="twice"),
        lambda: session.enroll(unit, contexts[0], site="north"),
        lambda: session.enroll(unit, contexts[0], exclude={stage.name: ["a"]}, reason="allergy"),
        lambda: session.respond(unit, context, stage=stage.name),
        lambda: session.hold(reason="supply"),
        lambda: session.release(reason="supply is back"),
        lambda: session.close_arm(stage.name, "a", reason="harm"),
    ]
    chosen: list[Callable[[], Any]] = usual if rng.random() < 0.9 else rare
    return [chosen[rng.integers(len(chosen))]]


def outcome_of(step: Callable[[], Any]) -> Any:
    try:
        return step()
    except dtr.DTRError as error:
        return type(error), str(error)


@pytest.mark.parametrize("design", [TWO, THREE], ids=["two stages", "three stages"])
@seeded(8)
def test_both_ways_lead_to_the_same_answers_errors_facts_and_bits(
    design: dtr.Design, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    policies = every_policy(design)
    policy: Any = policies[seed % len(policies)]
    straight, careful = (dtr.Session(design, policy, seed=seed) for _ in range(2))
    by_rules = careful._belief
    monkeypatch.setattr(by_rules, "fast_path", None)
    one, other = (np.random.default_rng(seed) for _ in range(2))

    for _ in range(250):
        ((found,), (expected,)) = (steps(each, rng) for each, rng in ((straight, one), (careful, other)))
        assert outcome_of(found) == outcome_of(expected)
        assert careful._belief is by_rules  # nobody read the log again

    assert list(straight.log) == list(careful.log)
    assert bits(straight._belief.state) == bits(careful._belief.state)
    assert frozen(straight.histories).snapshot().header == frozen(careful.histories).snapshot().header
    assert dtr.Session.resume(straight.log).summary().status == straight.summary().status
    dtr.verify(straight.log)


def test_usual_verbs_do_not_ask_the_rules(monkeypatch: pytest.MonkeyPatch) -> None:
    session = dtr.Session(TWO, dtr.Greedy())

    def refuse(*_: object) -> None:
        raise AssertionError("the rules were asked")

    monkeypatch.setattr(type(session._belief), "find", refuse)

    session.enroll("u1", {"x": 0.5})
    session.respond("u1", {"z": 0.25, "r": 1.0})
    session.complete("u1", 2.0)

    assert session.version == 6


def test_a_policy_of_ones_own_has_no_straight_verbs() -> None:
    class Own:
        def init(self, design: dtr.Design) -> dtr.Design:
            return design

        def update(self, state: Any, history: Any, event: Any) -> Any:  # noqa: ARG002  # learns nothing
            return state

        def decide(self, state: Any, history: Any, u: float) -> Any:  # noqa: ARG002  # looks at nothing
            from dtrbandit.policies import Choice

            return Choice(0, "rule", (1.0, 0.0))

    session = dtr.Session(TWO, Own())

    assert session._belief.fast_path is None
    assert session.enroll("u1", {"x": 0.5}).arm == "a"
