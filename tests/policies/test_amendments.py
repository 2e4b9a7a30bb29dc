"""Overrides and corrections of what policies have learnt from."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dtrbandit as dtr

DESIGN = dtr.Design(
    [dtr.Stage("first", ("a", "b"), "1 + x"), dtr.Stage("second", ("a", "b"), "1 + z", enter_if="r > 0")],
    plans=[("a", "a"), ("a", "b"), ("b", "b")],
)


LOOKS_BACK = dtr.Design(
    [dtr.Stage("first", ("a", "b"), "1 + x"), dtr.Stage("second", ("a", "b"), "1 + x + z + C(first)")]
)


@pytest.mark.parametrize(
    ("policy", "ridge"), [(dtr.DTRBandit(q=1, delta=1.0), 0), (dtr.Greedy(), 0), (dtr.LSVIUCB(beta=1.0), 1)]
)
@pytest.mark.parametrize("ended", [False, True], ids=["before the outcome", "after the outcome"])
@pytest.mark.parametrize(
    ("amend", "psi"),
    [
        (lambda session: session.override("u1", "b", stage="first", reason="from the chart"), (1.0, 1.0, 2.0, 1.0)),
        (lambda session: session.correct("u1", stage="first", context={"x": 3.0}, reason="misread"), (1, 3, 2, 0)),
    ],
    ids=["override", "correction"],
)
def test_amending_the_past_changes_the_features_of_later_stages(
    policy: Any, ridge: float, amend: Callable[[dtr.Session], object], psi: tuple[float, ...], ended: bool
) -> None:
    """One row ψ with outcome y: the shortest solution is y·ψ/‖ψ‖², with ridge λ it is y·ψ/(λ + ‖ψ‖²)."""
    session = dtr.Session(LOOKS_BACK, policy)
    first = session.enroll("u1", {"x": 1.0})
    second = session.respond("u1", {"z": 2.0})
    if ended:
        session.complete("u1", 10.0)

    amend(session)
    if not ended:
        session.complete("u1", 10.0)

    assert first.arm == "a"
    assert second is not None
    found = [c.hat for c in session.coefficients() if (c.stage, c.arm) == ("second", second.arm)]
    assert found == pytest.approx(10.0 * np.array(psi) / (ridge + np.dot(psi, psi)))


@pytest.mark.parametrize("policy", [dtr.Greedy(), dtr.DTRBandit(q=1, delta=1.0), dtr.LSVIUCB(beta=1e-9, ridge=1e-9)])
def test_a_late_override_changes_which_arms_a_target_may_look_at(policy: Any) -> None:
    """After a both second arms are feasible, after b only b: the target of u3 falls from 9 to 1."""
    session = dtr.Session(DESIGN, policy)
    for name, arms, y in (("u1", "aa", 9.0), ("u2", "bb", 1.0), ("u3", "ab", 1.0)):
        if session.enroll(name, {"x": 0.0}).arm != arms[0]:
            session.override(name, arms[0], reason="allergy")
        second = session.respond(name, {"z": 0.0, "r": 1.0})
        if second is not None and second.arm != arms[1]:
            session.override(name, arms[1], reason="allergy")
        session.complete(name, y)

    before = session.q_hat("first", {"x": 0.0})
    session.override("u3", "b", stage="first", reason="from the chart")
    after = session.q_hat("first", {"x": 0.0})

    assert before == {"a": pytest.approx(9.0), "b": pytest.approx(1.0)}
    assert after == {"a": pytest.approx(9.0), "b": pytest.approx(1.0)}


@pytest.mark.parametrize(("policy", "ridge"), [(dtr.Greedy(), 0), (dtr.LSVIUCB(beta=1e-9), 1)])
def test_an_override_after_the_response_moves_the_row_at_once(policy: Any, ridge: float) -> None:
    """u2 has responded, its outcome is out: its row (1, x) counts at stage 1, with the best Q̂₂ as its target."""
    session = dtr.Session(LOOKS_BACK, policy)
    session.enroll("u1", {"x": 0.0})
    session.respond("u1", {"z": 0.0})
    session.complete("u1", 5.0)
    given = session.enroll("u2", {"x": 2.0}).arm
    session.respond("u2", {"z": 0.0})
    other = "b" if given == "a" else "a"

    session.override("u2", other, stage="first", reason="from the chart")

    history: dict[str, float | str] = {"x": 2.0, "z": 0.0, "first": other}
    target = max(q for q in session.q_hat("second", history).values() if q is not None)
    psi = np.array([1.0, 2.0])
    first = [c.hat for c in session.coefficients() if (c.stage, c.arm) == ("first", other)]
    assert first == pytest.approx(target * psi / (ridge + psi @ psi), abs=1e-6)
