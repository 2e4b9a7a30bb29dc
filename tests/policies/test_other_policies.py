"""ε-Greedy's make-ups, fixed regimes, LSVI-UCB's options."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dtrbandit as dtr
from dtrbandit.environments import Synthetic
from dtrbandit.policies.builtin import BUILTIN
from dtrbandit.policies.plain_values import policy_from_dict, policy_to_dict
from dtrbandit.record import History

DESIGN = dtr.Design(
    [dtr.Stage("first", ("a", "b"), "1 + x"), dtr.Stage("second", ("a", "b"), "1 + z", enter_if="r > 0")],
    plans=[("a", "a"), ("a", "b"), ("b", "b")],
)

LOOKS_BACK = dtr.Design(
    [dtr.Stage("first", ("a", "b"), "1 + x"), dtr.Stage("second", ("a", "b"), "1 + x + z + C(first)")]
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


def synthetic_path(policy: dtr.LSVIUCB, rounds: int) -> list[tuple[str, str]]:
    units = Synthetic().draw(rounds, np.random.default_rng(3))
    session = dtr.Session(Synthetic().design, policy)
    arms = []
    for i in range(rounds):
        first = session.enroll(f"u{i}", {"x1": units.contexts[0]["x1"][i]}).arm
        second = session.respond(f"u{i}", {"x2": units.contexts[1]["x2"][i, int(first) - 1]})
        assert second is not None
        session.complete(f"u{i}", units.outcome[i, int(first) - 1, int(second.arm) - 1])
        arms.append((first, second.arm))
    return arms


def test_rare_switching_is_not_the_papers_algorithm_but_close_to_it() -> None:
    every = synthetic_path(dtr.LSVIUCB(beta=4.0), 150)
    rare = synthetic_path(dtr.LSVIUCB(beta=4.0, switching="rare"), 150)

    assert every != rare
    assert np.mean([a == b for a, b in zip(every, rare, strict=True)]) > 0.5


def test_dividing_features_by_one_bound_equals_a_smaller_ridge_and_bonus() -> None:
    """φ/c with ridge λ and β gives the w, Λ of φ with ridge c²λ; the bonus is then β·c⁰: ‖φ/c‖_{Λ/c²} = ‖φ‖_Λ."""
    divided = synthetic_path(dtr.LSVIUCB(beta=4.0, ridge=1.0, bound=(2.0, 2.0)), 80)
    plain = synthetic_path(dtr.LSVIUCB(beta=4.0, ridge=4.0), 80)

    assert divided == plain


def test_clipping_limits_what_is_compared_and_what_earlier_stages_learn_from() -> None:
    session = dtr.Session(DESIGN, dtr.LSVIUCB(beta=2.0, clip=(5.0, 0.5)))

    first = session.enroll("u1", {"x": 3.0})
    second = session.respond("u1", {"z": 1.0, "r": 1.0})

    assert second is not None
    assert first.q_hat == {"a": 5.0, "b": 5.0}  # else 2·√(1 + 9)
    assert second.q_hat == {"a": 0.5, "b": 0.5}  # else 2·√2
    weights = [c.hat for c in session.coefficients() if (c.stage, c.arm) == ("first", first.arm)]
    assert weights == pytest.approx(0.5 * np.array([1.0, 3.0]) / (1 + 10))  # one row (1, 3), target 0.5, ridge 1


def test_a_leaver_can_have_the_optimistic_value_of_the_stage_it_did_not_enter() -> None:
    def weights(leavers: str, context: dict[str, float]) -> float:
        session = dtr.Session(DESIGN, dtr.LSVIUCB(beta=2.0, leavers=leavers))  # type: ignore[arg-type]
        session.enroll("u1", {"x": 0.0})
        session.respond("u1", context)
        session.complete("u1", 3.0)
        return float(session.coefficients()[0].hat or 0)

    whole = {"r": -1.0, "z": 2.0}

    assert weights("observed", whole) == pytest.approx(3.0 / 2)  # one row (1, 0), ridge 1
    assert weights("optimistic", whole) == pytest.approx(2.0 * np.sqrt(1 + 4) / 2)  # β‖(1, z)‖/√λ, no row at stage 2
    assert weights("optimistic", {"r": -1.0}) == pytest.approx(3.0 / 2)  # its context carries no features


def test_the_suggested_beta_is_the_published_one_on_the_synthetic_problem() -> None:
    assert dtr.suggested_beta(Synthetic().design, rounds=10_000) == pytest.approx(4 * np.sqrt(np.log(4 * 10_000)))


@pytest.mark.parametrize(
    "policy",
    [
        dtr.DTRBandit(q=2, delta=(0.5, 1.0), schedule="permuted"),
        dtr.EpsilonGreedy(epsilon=0.1),
        dtr.Greedy(),
        dtr.LSVIUCB(beta=1.0, bound=(1.0, (1.0, 26.0)), clip=(1.0, 2.0)),
        dtr.FixedRegime(rule={"first": "a", "second": {"a": (0.0, 1.0), "b": (0.0, 0.0)}}),
        dtr.UniformRandom(),
    ],
    ids=lambda policy: type(policy).__name__,
)
def test_a_policy_survives_a_dict(policy: object) -> None:
    again = policy_from_dict(policy_to_dict(policy))  # type: ignore[arg-type]

    assert again == policy


@pytest.mark.parametrize(
    ("entries", "says"),
    [
        ({"name": "Thompson"}, "DTRBandit"),
        ({"name": "DTRBandit", "q": 1}, "delta"),
        ({"name": "Greedy", "epsilon": 1}, "none"),
        ({}, "None"),
    ],
)
def test_an_unknown_policy_or_parameter_is_named(entries: dict[str, object], says: str) -> None:
    with pytest.raises(dtr.DesignError, match=says):
        policy_from_dict(entries)


def test_all_built_in_policies_are_public() -> None:
    assert all(getattr(dtr, name) is kind for name, kind in BUILTIN.items())
