"""Uniform randomisation: every feasible arm with the same probability."""

from __future__ import annotations

import numpy as np

import dtrbandit as dtr

DESIGN = dtr.Design(
    [dtr.Stage("first", ("a", "b", "c"), "1"), dtr.Stage("second", ("a", "b"), "1")],
    plans=[("a", "a"), ("a", "b"), ("b", "b"), ("c", "a"), ("c", "b")],
)


def test_arms_are_uniform_over_those_that_are_feasible() -> None:
    """3000 draws of three arms: four standard errors are 4·√(2/9/3000) = 0.034."""
    session = dtr.Session(DESIGN, dtr.UniformRandom(), seed=1)

    decisions = [session.enroll(f"u{t}", {}) for t in range(3000)]

    for arm in "abc":
        assert abs(np.mean([decision.arm == arm for decision in decisions]) - 1 / 3) < 0.034
    assert {decision.propensity for decision in decisions} == {1 / 3}
    assert {decision.reason for decision in decisions} == {"uniform"}
    assert decisions[0].contenders == ("a", "b", "c")


def test_where_one_arm_is_feasible_it_is_certain() -> None:
    session = dtr.Session(DESIGN, dtr.UniformRandom(), seed=1)
    unit = next(f"u{t}" for t in range(100) if session.enroll(f"u{t}", {}).arm == "b")

    second = session.respond(unit, {})

    assert second is not None
    assert (second.arm, second.reason, second.propensity) == ("b", "only_feasible", 1.0)


def test_another_seed_gives_other_arms_and_the_same_seed_the_same() -> None:
    def arms(seed: int) -> list[str]:
        session = dtr.Session(DESIGN, dtr.UniformRandom(), seed=seed)
        return [session.enroll(f"u{t}", {}).arm for t in range(20)]

    assert arms(1) == arms(1) != arms(2)


def test_it_has_no_estimates() -> None:
    session = dtr.Session(DESIGN, dtr.UniformRandom())

    assert session.enroll("u1", {}).q_hat == {"a": None, "b": None, "c": None}
