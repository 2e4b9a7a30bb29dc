"""Runs of the whole package lead to what they led to before, bit for bit."""

from __future__ import annotations

import math
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import dtrbandit as dtr
from digest_runs import (
    FILE,
    SCHEDULES,
    Run,
    all_runs,
    differences,
    digest_of,
    late_units,
    overrides_back,
    recorded,
    session_digests,
)
from make_digests import renew

BEFORE = recorded(FILE)
REMEDY = "A decision on the same log must not change. If a run was meant to: python tests/make_digests.py"


@cache
def runs() -> dict[str, Run]:
    """Return all runs. Some need a finished trial, so that they are made when the first test asks."""
    return all_runs()


@pytest.mark.parametrize("name", BEFORE)
def test_a_run_leads_to_what_it_led_to_before(name: str) -> None:
    now = runs()[name]()

    assert differences({name: BEFORE[name]}, {name: now}) == [], REMEDY


def test_every_run_has_its_digests_on_file() -> None:
    assert list(runs()) == list(BEFORE), REMEDY


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_late_units_of_both_first_blocks_are_free_and_have_a_forced_estimate(schedule: Any) -> None:
    late = [call.answer for call in late_units(dtr.DTRBandit(q=1, delta=0.5, schedule=schedule))[-4:]]

    free = [each for each in late if isinstance(each, dtr.Decision) and each.reason != "forced"]
    assert {"u0", "u1"} & {each.unit for each in free}
    assert {"u5", "u6"} & {each.unit for each in free}
    assert all(any(q is not None for q in each.q_tilde.values()) for each in free)


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_overrides_that_are_taken_back_make_later_stages_forced_again(schedule: Any) -> None:
    reasons: dict[str, list[bool]] = {}
    again = 0
    for call in overrides_back(dtr.DTRBandit(q=1, delta=0.5, schedule=schedule)):
        if isinstance(call.answer, dtr.Decision) and call.verb != "override":
            before = reasons[call.answer.unit] if call.verb == "respond" else []
            again += call.answer.reason == "forced" and not all(before)
            reasons[call.answer.unit] = [*before, call.answer.reason == "forced"]

    assert again > 0


def test_another_delta_changes_digests_and_the_run_and_the_quantities_are_named() -> None:
    before, now = (
        {"a session": session_digests("leavers", dtr.DTRBandit(q=1, delta=delta), "delays", 40)} for delta in (0.5, 4.0)
    )

    (line,) = differences(before, now)

    assert line.startswith("changed: a session: arms, reasons")


def test_another_seed_changes_every_quantity() -> None:
    policy = dtr.DTRBandit(q=1, delta=0.5, floor=0.125)

    before, now = (session_digests("leavers", policy, "delays", 40, seed=seed) for seed in (1, 2))

    assert differences({"it": before}, {"it": now}) == [
        "changed: it: arms, reasons, propensities, tilde, hat, estimates"
    ]


def test_a_digest_sees_the_last_bit_the_sign_of_zero_and_what_is_missing() -> None:
    alike: list[list[object]] = [
        [1.0],
        [math.nextafter(1.0, 2.0)],
        [0.0],
        [-0.0],
        [None],
        ["None"],
        [math.nan],
        [1],
        [],
    ]

    assert len({digest_of(items) for items in alike}) == len(alike)
    assert digest_of([math.nan]) == digest_of([-math.nan])


def test_runs_that_come_and_go_are_named() -> None:
    same = {"arms": "1", "hat": "2"}

    assert differences({"a": same, "b": same}, {"b": {**same, "hat": "3"}, "c": same}) == [
        "removed: a",
        "added: c",
        "changed: b: hat",
    ]
    assert differences({"a": {"arms": "1"}}, {"a": same}) == ["changed: a: hat"]


def test_making_digests_anew_says_what_changed(tmp_path: Path) -> None:
    file = tmp_path / "digests.json"

    first = renew(file, {"a": lambda: {"arms": "1"}, "b": lambda: {"arms": "1"}})
    again = renew(file, {"a": lambda: {"arms": "1"}, "b": lambda: {"arms": "2"}})
    unchanged = renew(file, {"a": lambda: {"arms": "1"}, "b": lambda: {"arms": "2"}})

    assert (first, again, unchanged) == (["added: a", "added: b"], ["changed: b: arms"], [])
    assert recorded(file) == {"a": {"arms": "1"}, "b": {"arms": "2"}}
