"""Values of plans: by valid methods alone, and the same as Python gives."""

from __future__ import annotations

from typing import Any

import pytest

import dtrbandit as dtr
from dtrbandit.policies.policy import Policy
from extras import needed
from web.course import STAGES, small_course

for module in ("starlette", "jinja2", "uvicorn"):
    needed(module)

from dtrbandit.trial.ledger import FREE  # noqa: E402
from dtrbandit.web import contrasts  # noqa: E402
from dtrbandit.web.contrasts import (  # noqa: E402
    NO_FORCED,
    NO_FREE,
    NOBODY,
    OTHERWISE,
    SURE,
    compared,
    forced_cohort,
    why_no_forced_values,
    why_no_free_values,
)


def both(trial: dtr.Trial) -> list[contrasts.Compared]:
    return compared(trial.ledger(), trial)


def test_forced_rounds_give_what_evaluate_gives() -> None:
    trial = small_course(300, tidy=True)

    forced, _ = both(trial)

    plans = {f"{a}, then {b}": dtr.FixedRegime(rule={"first": a, "second": b}) for a in "ab" for b in "ab"}
    expected = dtr.evaluate(dtr.Cohort.from_log(trial.session_log()).forced(), plans)
    frame = expected.to_frame()
    frame = frame[frame["estimator"] == "augmented"]
    assert [(v.regime, v.value, v.low, v.high) for v in forced.values] == list(
        frame[["regime", "value", "low", "high"]].itertuples(index=False, name=None)
    )
    assert len(forced.differences) == 6
    assert "as in a randomised trial" in forced.about[0]


def test_certain_decisions_have_no_recorded_propensities_to_use() -> None:
    _, adaptive = both(small_course(60, tidy=True))

    assert adaptive.values == ()
    assert adaptive.refused is not None


def test_recorded_propensities_are_used_where_all_lie_inside() -> None:
    trial = small_course(200, floor=0.2, tidy=True)

    _, adaptive = both(trial)

    assert adaptive.refused is None
    assert all(value.low < value.value < value.high for value in adaptive.values)


def test_too_few_units_are_told_and_not_valued() -> None:
    forced, _ = both(small_course(4, tidy=True))

    assert forced.values == ()
    assert forced.refused is not None
    assert forced.refused.startswith("Not yet. Each plan needs 8 units that followed it to their outcome;")
    assert "at least 5 are needed" in str(forced.reason)


def test_a_long_log_is_left_to_python(monkeypatch: pytest.MonkeyPatch) -> None:
    trial = small_course(12, tidy=True)
    monkeypatch.setattr(contrasts, "MOST_UNITS", 10)

    _, adaptive = both(trial)

    assert adaptive.refused == contrasts.LONG
    assert "at most 10 units" in str(adaptive.reason)


def test_only_units_of_forced_rounds_are_read() -> None:
    trial = small_course()
    ledger = trial.ledger()

    cohort = forced_cohort(ledger, trial)

    assert len(cohort) <= sum(kind != FREE for kind in ledger.forced)
    assert cohort.origin is not None
    assert cohort.origin.kind == "randomised"


# -- why there are none ------------------------------------------------------------------------------------------


def begun(policy: Policy[Any]) -> dtr.Trial:
    return dtr.Trial.create("begun", dtr.Design(STAGES), policy, storage="memory://", seed=1)


def reasons(trial: dtr.Trial) -> tuple[str, str]:
    ledger = trial.ledger()
    return why_no_forced_values(ledger), why_no_free_values(ledger, trial)


def test_before_anybody_enrolled_nobody_has() -> None:
    assert reasons(begun(dtr.Greedy())) == (NOBODY, NOBODY)


def test_the_plans_that_lack_units_are_counted_and_who_holds_others_back_is_named() -> None:
    trial = begun(dtr.DTRBandit(q=2, delta=1.0, schedule="permuted"))
    trial.enroll("slow", {"x": 0.5})
    trial.enroll("fast", {"x": 0.5})
    trial.respond("fast", {"z": 0.5})
    trial.complete("fast", 1.0)

    forced, free = reasons(trial)
    trial.withdraw("slow", reason="lost")
    after, _ = reasons(trial)

    none = "a, then a: 0; a, then b: 0; b, then a: 0; b, then b: 0"
    arms = trial.unit("fast").arms
    one = none.replace(f"{arms['first']}, then {arms['second']}: 0", f"{arms['first']}, then {arms['second']}: 1")
    assert forced == (
        f"Not yet. Each plan needs 8 units that followed it to their outcome; too few so far: {none}. Units count in "
        "the order of enrolment, before slow, the first still under way. Once they are there, the values appear by "
        "themselves."
    )
    assert f"too few so far: {one}. Once they are there" in after
    assert free == NO_FREE


def test_who_left_early_followed_every_plan_that_begins_so() -> None:
    trial = begun(dtr.DTRBandit(q=1, delta=1.0, schedule="permuted"))
    arm = trial.enroll("u1", {"x": 0.5}).arm
    trial.respond("u1", {"z": -2.0})
    trial.complete("u1", 1.0)

    forced, _ = reasons(trial)

    for plan in ("a, then a", "a, then b", "b, then a", "b, then b"):
        assert f"{plan}: {int(plan.startswith(arm))}" in forced


def test_a_policy_that_is_certain_of_its_arms_is_told_from_one_that_needs_more_units() -> None:
    _, sure = reasons(small_course(60, tidy=True))
    enough, unsure = reasons(small_course(60, floor=0.2, tidy=True))

    assert sure == SURE
    assert unsure.startswith("Not yet. Each plan needs 8 units")
    assert enough == OTHERWISE  # which is not asked then: there are values


def test_drop_outs_under_a_policy_that_learns_are_told() -> None:
    trial = small_course(20, floor=0.2, tidy=True)
    trial.enroll("gone", {"x": 0.5})
    trial.withdraw("gone", reason="moved")

    _, free = reasons(trial)

    assert free.startswith("Not in this trial: 1 unit dropped out,")


def test_a_policy_without_forced_rounds_has_none() -> None:
    trial = begun(dtr.UniformRandom())
    trial.enroll("u1", {"x": 0.5})

    assert reasons(trial)[0] == NO_FORCED
