"""What a page says where there are no values of plans: what is missing, and when it will be there."""

from __future__ import annotations

from typing import Any

import dtrbandit as dtr
from dtrbandit.policies.policy import Policy
from extras import needed
from web.course import STAGES, small_course

for module in ("starlette", "jinja2", "uvicorn"):
    needed(module)

from dtrbandit.web.empty_state import (  # noqa: E402
    NO_FORCED,
    NO_FREE,
    NOBODY,
    OTHERWISE,
    SURE,
    why_no_forced_values,
    why_no_free_values,
)


def begun(policy: Policy[Any]) -> dtr.Trial:
    return dtr.Trial.create("begun", dtr.Design(STAGES), policy, storage="memory://", seed=1)


def both(trial: dtr.Trial) -> tuple[str, str]:
    ledger = trial.ledger()
    return why_no_forced_values(ledger), why_no_free_values(ledger, trial)


def test_before_anybody_enrolled_nobody_has() -> None:
    assert both(begun(dtr.Greedy())) == (NOBODY, NOBODY)


def test_the_plans_that_lack_units_are_counted_and_who_holds_others_back_is_named() -> None:
    trial = begun(dtr.DTRBandit(q=2, delta=1.0, schedule="permuted"))
    trial.enroll("slow", {"x": 0.5})
    trial.enroll("fast", {"x": 0.5})
    trial.respond("fast", {"z": 0.5})
    trial.complete("fast", 1.0)

    forced, free = both(trial)
    trial.withdraw("slow", reason="lost")
    after, _ = both(trial)

    none = "a, then a: 0; a, then b: 0; b, then a: 0; b, then b: 0"
    arms = trial.unit("fast").arms
    one = none.replace(f"{arms['first']}, then {arms['second']}: 0", f"{arms['first']}, then {arms['second']}: 1")
    assert forced == (
        f"Not yet. Each plan needs 5 units that followed it to their outcome; too few so far: {none}. Units count in "
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

    forced, _ = both(trial)

    for plan in ("a, then a", "a, then b", "b, then a", "b, then b"):
        assert f"{plan}: {int(plan.startswith(arm))}" in forced


def test_a_policy_that_is_certain_of_its_arms_is_told_from_one_that_needs_more_units() -> None:
    _, sure = both(small_course(60, tidy=True))
    enough, unsure = both(small_course(60, floor=0.2, tidy=True))

    assert sure == SURE
    assert unsure.startswith("Not yet. Each plan needs 5 units")
    assert enough == OTHERWISE  # which is not asked then: there are values


def test_drop_outs_under_a_policy_that_learns_are_told() -> None:
    trial = small_course(20, floor=0.2, tidy=True)
    trial.enroll("gone", {"x": 0.5})
    trial.withdraw("gone", reason="moved")

    _, free = both(trial)

    assert free.startswith("Not in this trial: 1 unit dropped out,")


def test_a_policy_without_forced_rounds_has_none() -> None:
    trial = begun(dtr.UniformRandom())
    trial.enroll("u1", {"x": 0.5})

    assert both(trial)[0] == NO_FORCED
