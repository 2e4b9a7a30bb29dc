"""ε-Greedy: initial pulls that are made up for, and exploring."""

from __future__ import annotations

import numpy as np

import dtrbandit as dtr

DESIGN = dtr.Design(
    [dtr.Stage("first", ("a", "b"), "1 + x"), dtr.Stage("second", ("a", "b"), "1 + z", enter_if="r > 0")],
    plans=[("a", "a"), ("a", "b"), ("b", "b")],
)


def test_a_unit_withdrawn_before_the_last_stage_is_made_up_for() -> None:
    session = dtr.Session(DESIGN, dtr.Greedy())
    arms = [session.enroll(f"u{t}", {"x": float(t)}).arm for t in range(5)]
    session.withdraw("u4", reason="moved away")  # it was the first pull of (b, b)

    arms += [session.enroll(f"u{t}", {"x": float(t)}).arm for t in range(5, 7)]
    free = session.enroll("u7", {"x": 0.0})

    assert arms == ["a", "a", "a", "a", "b", "b", "b"]
    assert free.reason != "forced"


def test_a_unit_withdrawn_after_the_last_stage_is_not_made_up_for() -> None:
    session = dtr.Session(DESIGN, dtr.Greedy())
    for t in range(6):  # all initial pulls: three plans, two features
        session.enroll(f"u{t}", {"x": float(t)})
    session.respond("u0", {"z": 0.0, "r": 1.0})

    session.withdraw("u0", reason="moved away")

    assert session.enroll("u6", {"x": 0.0}).reason == "greedy"


def test_a_leaver_that_is_then_withdrawn_is_made_up_for_once() -> None:
    session = dtr.Session(DESIGN, dtr.Greedy())
    for t in range(6):
        session.enroll(f"u{t}", {"x": float(t)})
    session.respond("u4", {"r": -1.0})  # it was the first pull of (b, b)

    session.withdraw("u4", reason="moved away")
    again, free = session.enroll("u6", {"x": 0.0}), session.enroll("u7", {"x": 0.0})

    assert (again.arm, again.reason) == ("b", "forced")
    assert free.reason == "greedy"


def test_exploring_is_uniform_over_the_other_feasible_arms() -> None:
    stages = [dtr.Stage("s", ("a", "b", "c", "d"), "1")]
    design = dtr.Design(stages, plans=[("a",), ("c",), ("d",), ("b",)])
    session = dtr.Session(design, dtr.EpsilonGreedy(epsilon=0.3), seed=5)
    for t in range(4):
        session.enroll(f"u{t}", {})
        session.complete(f"u{t}", float(t))

    decisions = [session.enroll(f"v{t}", {}) for t in range(3000)]

    shares = {arm: sum(d.arm == arm for d in decisions) / 3000 for arm in "abcd"}
    assert {round(d.propensity or 0, 12) for d in decisions} == {0.7, 0.1}
    for arm, share in {"a": 0.1, "b": 0.1, "c": 0.1, "d": 0.7}.items():
        assert abs(shares[arm] - share) < 4 * np.sqrt(share * (1 - share) / 3000)  # four standard errors
    assert {d.reason for d in decisions} == {"greedy", "explore"}
