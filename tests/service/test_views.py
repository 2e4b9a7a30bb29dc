"""What each role sees (P8)."""

from __future__ import annotations

import json

import pytest

import dtrbandit as dtr
from dtrbandit.record.chain import linked
from dtrbandit.record.log_file import line_of
from dtrbandit.service.keys import Role
from dtrbandit.storage import ApiKey
from extras import needed

needed("starlette")

from dtrbandit.service.views import (  # noqa: E402
    WITHHELD,
    decision_explained,
    decision_seen,
    key_seen,
    record_seen,
    replied,
    status_seen,
    story_seen,
    summary_seen,
    trial_seen,
)

DESIGN = dtr.Design(
    [dtr.Stage("first", ("a", "b"), "1 + x", expected_days=7), dtr.Stage("second", ("a", "b"), "1 + z")]
)


@pytest.fixture
def trial() -> dtr.Trial:
    policy = dtr.DTRBandit(q=1, delta=0.5, schedule="permuted")
    found = dtr.Trial.create("pilot", DESIGN, policy, storage="memory://", seed=77)
    found.enroll("u1", {"x": 0.5}, actor="nurse")
    return found


def test_a_site_sees_of_a_decision_the_arm(trial: dtr.Trial) -> None:
    decision = trial.unit("u1").decisions[0]

    assert set(decision_seen(decision)) == {"unit", "stage", "arm"}
    assert {"round", "q_hat", "explanation"} < set(decision_explained(decision))
    json.dumps(decision_explained(decision), allow_nan=False)


def test_a_list_of_units_has_no_arms_for_a_site(trial: dtr.Trial) -> None:
    (status,) = trial.units()

    assert {"arm", "round"}.isdisjoint(status_seen(status, Role.SITE))
    assert status_seen(status, Role.AUDITOR)["round"] == 1
    assert str(status_seen(status, Role.SITE)["due"]).endswith("Z")


def test_a_story_tells_each_role_its_part(trial: dtr.Trial) -> None:
    story = trial.unit("u1")

    assert set(story_seen(story, Role.SITE)) == {"unit", "status", "arms"}
    assert set(story_seen(story, Role.AUDITOR)) == {"unit", "status", "arms", "site", "round", "records"}
    assert {"decisions", "text"} < set(story_seen(story, Role.STATISTICIAN))


def test_a_trial_shows_its_columns_and_never_its_policy(trial: dtr.Trial) -> None:
    shown = trial_seen(trial)

    assert "policy" not in shown
    assert [stage["columns"] for stage in shown["stages"]] == [["x"], ["z"]]  # type: ignore[attr-defined]


def test_the_seed_is_withheld_and_nothing_else_is_changed(trial: dtr.Trial) -> None:
    lines = [line_of(stored) for stored in linked(trial.records())]

    seen = [json.loads(record_seen(line, seed=False)) for line in lines]

    assert seen[0]["event"]["seed"] == WITHHELD
    assert record_seen(lines[0], seed=True) == lines[0]
    assert [record_seen(line, seed=False) for line in lines[1:]] == lines[1:]
    opened = json.loads(lines[0])
    assert opened["event"]["seed"] == 77
    assert seen[0] == opened | {"event": opened["event"] | {"seed": WITHHELD}}


def test_a_unit_called_like_an_event_keeps_its_record(trial: dtr.Trial) -> None:
    trial.enroll('"event":"Opened"', {"x": 0.1})
    lines = [line_of(stored) for stored in linked(trial.records())]

    assert json.loads(record_seen(lines[3], seed=False)) == json.loads(lines[3])


def test_a_summary_is_plain_json(trial: dtr.Trial) -> None:
    summary = json.loads(json.dumps(summary_seen(trial.summary()), allow_nan=False))

    assert summary["units"] == 1
    assert summary["coefficients"][0]["stage"] == "first"


def test_the_hash_of_a_key_is_not_shown() -> None:
    seen = key_seen(ApiKey("id", "hash", "site", "north", "now", None, None, salt="salt"))

    assert not {"sha256", "salt"} & seen.keys()


def test_a_reply_is_compact_json_and_says_if_it_repeats() -> None:
    first, again = replied({"unit": "ü"}), replied({"unit": "ü"}, repeated=True)

    assert first.body == again.body == b'{"unit":"\\u00fc"}'
    assert "repeated" not in first.headers
    assert again.headers["repeated"] == "true"
