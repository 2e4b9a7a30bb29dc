"""A rule that was settled beforehand: by coefficients, by arms, or by a function."""

from __future__ import annotations

from typing import Any

import pytest

import dtrbandit as dtr
from dtrbandit.record import History

DESIGN = dtr.Design(
    [dtr.Stage("first", ("a", "b"), "1 + x"), dtr.Stage("second", ("a", "b"), "1 + z", enter_if="r > 0")],
    plans=[("a", "a"), ("a", "b"), ("b", "b")],
)


def test_a_fixed_regime_follows_its_coefficients_among_feasible_arms() -> None:
    rule: dict[str, Any] = {"first": {"a": [0.0, 1.0], "b": [0.5, 0.0]}, "second": "b"}
    session = dtr.Session(DESIGN, dtr.FixedRegime(rule=rule))

    assert session.enroll("u1", {"x": 0.6}).arm == "a"
    assert session.enroll("u2", {"x": 0.4}).arm == "b"
    second = session.respond("u1", {"z": 0.0, "r": 1.0})
    only = session.respond("u2", {"z": 0.0, "r": 1.0})
    assert second is not None
    assert only is not None
    assert (second.arm, second.reason) == ("b", "rule")
    assert (only.arm, only.reason) == ("b", "only_feasible")


def by_round(history: History) -> str:
    return "ab"[history.round % 2]


def test_a_regime_given_as_a_function_needs_the_function_to_resume() -> None:
    session = dtr.Session(DESIGN, dtr.FixedRegime(rule=by_round))
    assert [session.enroll(f"u{t}", {"x": 0.0}).arm for t in (1, 2)] == ["b", "a"]

    with pytest.raises(dtr.DesignError, match="policy="):
        dtr.Session.resume(session.log)
    resumed = dtr.Session.resume(session.log, policy=dtr.FixedRegime(rule=by_round))
    assert resumed.enroll("u3", {"x": 0.0}) == session.enroll("u3", {"x": 0.0})


def test_a_rule_that_names_an_infeasible_arm_is_refused_and_nothing_is_recorded() -> None:
    session = dtr.Session(DESIGN, dtr.FixedRegime(rule=lambda _: "z"))

    with pytest.raises(dtr.DesignError, match="'z'"):
        session.enroll("u1", {"x": 0.0})

    assert len(session.log) == 1
