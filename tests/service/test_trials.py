"""Endpoints about the service and a trial, over real HTTP."""

from __future__ import annotations

import hashlib
import json

import pytest

import dtrbandit as dtr
from dtrbandit.record.chain import linked
from dtrbandit.record.log_file import line_of
from extras import needed
from serving.served import TRIAL, Answer, Served

needed("starlette")

from dtrbandit.service.trials import WITHHELD, record_seen, summary_seen, trial_seen  # noqa: E402


def test_a_trial_begins_in_rehearsal_and_shows_what_to_send(served: Served, trial: str, keys: dict[str, str]) -> None:
    shown = served.get(trial, key=keys["site"]).json

    assert (shown["phase"], shown["log"]) == ("rehearsal", "rehearsal")
    assert shown["stages"] == [
        {"name": "first", "arms": ["a", "b"], "columns": ["x"]},
        {"name": "second", "arms": ["a", "b"], "columns": ["z"]},
    ]
    assert trial.removeprefix("/trials/") in served.get("/trials").json["trials"]


def test_a_name_is_given_once_and_the_same_again_changes_nothing(served: Served, trial: str) -> None:
    name = trial.removeprefix("/trials/")
    other = {"name": "DTRBandit", "q": 2, "delta": 0.5, "schedule": "permuted"}

    assert served.post("/trials", {"name": name, **TRIAL}).status == 200
    assert served.post("/trials", {**TRIAL, "name": name, "policy": other}).status == 409
    assert served.records(trial) == 1


BAD = {
    "a policy that is unknown": ({**TRIAL, "policy": {"name": "Guess"}}, "Guess"),
    "a policy without its parameters": ({**TRIAL, "policy": {"name": "DTRBandit"}}, "q"),
    "a design without stages": ({**TRIAL, "design": {}}, "stage"),
    "features that would run code": (
        {**TRIAL, "design": {"stage": [{"name": "s", "arms": ["a", "b"], "features": "__import__('os')"}]}},
        "features",
    ),
    "stages of numbers": ({**TRIAL, "design": {"stage": [1]}}, "stage"),
    "a seed": ({**TRIAL, "seed": 1}, "seed"),
    "a name of nothing": ({**TRIAL, "name": ""}, "name"),
}


@pytest.mark.parametrize("case", BAD)
def test_a_bad_set_up_is_refused(served: Served, case: str) -> None:
    body, word = BAD[case]

    answer = served.post("/trials", {"name": "bad", **body})

    assert answer.status == 422
    assert word in answer.json["detail"]
    assert "bad" not in served.get("/trials").json["trials"]


def test_lock_begins_a_new_log_and_can_be_repeated(served: Served, trial: str) -> None:
    served.post(f"{trial}/units", {"unit": "u1", "context": {"x": 0.5}})

    answers = [served.post(f"{trial}/lock", {"reason": "ethics approval"}) for _ in range(2)]

    assert [(answer.json["phase"], answer.json["log"]) for answer in answers] == [("live", "live")] * 2
    assert served.records(trial) == 1
    assert served.get(f"{trial}/units/u1").status == 404
    assert served.post(f"{trial}/units", {"unit": "u1", "context": {"x": -0.5}}).status == 200


def test_a_lock_that_is_meant_for_the_live_log_is_refused(served: Served, trial: str) -> None:
    def lock(log: str) -> Answer:
        return served.post(f"{trial}/lock", {"reason": "approved"}, headers={"Dtrbandit-Log": log})

    live, nonsense = lock("live"), lock("nonsense")

    assert (live.status, live.json["error"]) == (409, "OtherLog")
    assert "a lock ends the rehearsal" in live.json["detail"]
    assert (nonsense.status, served.get(trial).json["phase"]) == (400, "rehearsal")
    assert [lock("rehearsal").status for _ in range(2)] == [200, 200]
    assert served.get(trial).json["phase"] == "live"


def test_lock_refuses_the_papers_schedule_unless_told(served: Served) -> None:
    policy = {"name": "DTRBandit", "q": 1, "delta": 0.5}
    served.post("/trials", {**TRIAL, "name": "guessable", "policy": policy})

    assert served.post("/trials/guessable/lock", {"reason": "go"}).status == 409
    assert served.post("/trials/guessable/lock", {"reason": "go", "paper_schedule": True}).status == 200


def test_accrual_is_held_and_released(served: Served, trial: str) -> None:
    def enrol(unit: str) -> int:
        return served.post(f"{trial}/units", {"unit": unit, "context": {"x": 0.5}}).status

    assert served.post(f"{trial}/hold", {"reason": "review"}).json["recorded"] == "hold"
    assert enrol("u1") == 409
    assert served.post(f"{trial}/release", {"reason": "reviewed"}).status == 200
    assert enrol("u1") == 200


def test_accrual_is_held_at_one_site(served: Served, trial: str, keys: dict[str, str]) -> None:
    south = served.new_key("site", trial=trial.removeprefix("/trials/"), site="south")

    def enrol(unit: str, key: str) -> int:
        return served.post(f"{trial}/units", {"unit": unit, "context": {"x": 0.5}}, key=key).status

    assert served.post(f"{trial}/hold", {"reason": "no staff", "site": "north"}).json["keys"] == 1
    assert (enrol("u1", keys["site"]), enrol("u2", south)) == (409, 200)
    assert served.get(f"{trial}/summary").json["held_sites"] == {"north": "no staff"}
    assert served.post(f"{trial}/release", {"reason": "back", "site": "south"}).status == 409
    assert served.post(f"{trial}/release", {"reason": "back", "site": "north"}).status == 200
    assert enrol("u1", keys["site"]) == 200
    assert served.post(f"{trial}/hold", {"reason": "no staff", "site": "nort"}).json["keys"] == 0  # a slip


def test_a_closed_arm_is_given_no_more(served: Served, trial: str) -> None:
    closing = {"stage": "first", "arm": "a", "reason": "harm"}

    assert served.post(f"{trial}/arms/close", closing).json["recorded"] == "closed arm"

    units = [{"unit": f"u{number}", "context": {"x": 0.5}} for number in range(6)]
    assert {served.post(f"{trial}/units", unit).json["arm"] for unit in units} == {"b"}
    assert served.post(f"{trial}/arms/close", {**closing, "arm": "b"}).status == 409
    assert served.post(f"{trial}/arms/close", closing).headers["repeated"] == "true"


def test_an_ended_trial_decides_no_more_and_shows_its_seed(served: Served, trial: str) -> None:
    served.post(f"{trial}/units", {"unit": "u1", "context": {"x": 0.5}})
    opened = served.get(f"{trial}/log").body.splitlines()[0]
    assert b"withheld" in opened

    ended = served.post(f"{trial}/end", {"reason": "complete"})

    assert (ended.status, ended.json["recorded"], ended.json["rehearsal"]) == (200, "end", True)
    assert served.get(trial).json["phase"] == "ended"
    assert served.post(f"{trial}/units", {"unit": "u2", "context": {"x": 0.5}}).status == 409
    assert type(json.loads(served.get(f"{trial}/log").body.splitlines()[0])["event"]["seed"]) is int


def test_the_log_is_a_chain_without_the_seed(served: Served, trial: str, keys: dict[str, str]) -> None:
    for unit in ("u1", "u2"):
        served.post(f"{trial}/units", {"unit": unit, "context": {"x": 0.5}}, key=keys["site"])

    answer = served.get(f"{trial}/log", key=keys["auditor"])
    lines = answer.body.splitlines()
    records = [json.loads(line) for line in lines]

    assert [record["sequence"] for record in records] == [1, 2, 3, 4, 5]
    assert "site" in records[1]["actor"]
    assert records[0]["event"]["seed"] == "withheld while the trial runs"
    for before, line, record in zip(records, lines[1:], records[1:], strict=False):
        text = line[: -len(',"hash":""}') - 64] + b"}"
        assert record["hash"] == hashlib.sha256(before["hash"].encode() + text).hexdigest()
    assert served.get(f"{trial}/head").json == {"sequence": 5, "hash": records[-1]["hash"]}


def test_the_log_comes_in_parts(served: Served, trial: str) -> None:
    for number in range(3):
        served.post(f"{trial}/units", {"unit": f"u{number}", "context": {"x": 0.5}})

    part = served.get(f"{trial}/log?since=2&most=3").body.splitlines()

    assert [json.loads(line)["sequence"] for line in part] == [3, 4, 5]
    assert served.get(f"{trial}/log?since=7").body == b""
    assert served.get(f"{trial}/log?since=-1").status == 422
    assert served.get(f"{trial}/log?since=x").status == 422


def test_the_summary_counts(served: Served, trial: str) -> None:
    served.post(f"{trial}/units", {"unit": "u1", "context": {"x": 0.5}})

    summary = served.get(f"{trial}/summary").json

    assert summary["units"] == 1
    assert sum(summary["given"]["first"].values()) == 1
    assert summary["text"].startswith("1 unit enrolled under DTRBandit")


def test_an_unknown_trial_is_not_found(served: Served) -> None:
    for path in ("", "/units", "/log", "/head", "/summary", "/units/u1"):
        assert served.get(f"/trials/nowhere{path}").status == 404
    assert served.post("/trials/nowhere/units", {"unit": "u1", "context": {"x": 0.5}}).status == 404


def test_anybody_may_ask_whether_it_is_alive_and_ready(served: Served) -> None:
    assert served.get("/live", key="").json == {"alive": True}
    assert served.get("/ready", key="").json == {"ready": True}


def test_figures_tell_requests_records_and_units_in_flight(served: Served, trial: str, keys: dict[str, str]) -> None:
    served.post(f"{trial}/units", {"unit": "u1", "context": {"x": 0.5}})

    answer = served.get("/metrics", key=keys["auditor"])

    text, name = answer.body.decode(), trial.removeprefix("/trials/")
    assert answer.headers["content-type"].startswith("text/plain; version=0.0.4")
    assert f'dtrbandit_log_records{{trial="{name}"}} 3.0\n' in text
    assert f'dtrbandit_units_in_flight{{trial="{name}"}} 1.0\n' in text
    assert 'dtrbandit_requests_total{endpoint="enroll_unit",status="200"}' in text
    assert 'dtrbandit_request_seconds_bucket{endpoint="enroll_unit",le="+Inf"}' in text
    assert "dtrbandit_ready 1.0\n" in text


# -- what is seen ------------------------------------------------------------------------------------------------

DESIGN = dtr.Design(
    [dtr.Stage("first", ("a", "b"), "1 + x", expected_days=7), dtr.Stage("second", ("a", "b"), "1 + z")]
)


@pytest.fixture
def pilot() -> dtr.Trial:
    policy = dtr.DTRBandit(q=1, delta=0.5, schedule="permuted")
    found = dtr.Trial.create("pilot", DESIGN, policy, storage="memory://", seed=77)
    found.enroll("u1", {"x": 0.5}, actor="nurse")
    return found


def test_a_trial_shows_its_columns_and_never_its_policy(pilot: dtr.Trial) -> None:
    shown = trial_seen(pilot)

    assert "policy" not in shown
    assert [stage["columns"] for stage in shown["stages"]] == [["x"], ["z"]]  # type: ignore[attr-defined]


def test_the_seed_is_withheld_and_nothing_else_is_changed(pilot: dtr.Trial) -> None:
    lines = [line_of(stored) for stored in linked(pilot.records())]

    seen = [json.loads(record_seen(line, seed=False)) for line in lines]

    assert seen[0]["event"]["seed"] == WITHHELD
    assert record_seen(lines[0], seed=True) == lines[0]
    assert [record_seen(line, seed=False) for line in lines[1:]] == lines[1:]
    opened = json.loads(lines[0])
    assert opened["event"]["seed"] == 77
    assert seen[0] == opened | {"event": opened["event"] | {"seed": WITHHELD}}


def test_a_unit_called_like_an_event_keeps_its_record(pilot: dtr.Trial) -> None:
    pilot.enroll('"event":"Opened"', {"x": 0.1})
    lines = [line_of(stored) for stored in linked(pilot.records())]

    assert json.loads(record_seen(lines[3], seed=False)) == json.loads(lines[3])


def test_a_summary_is_plain_json(pilot: dtr.Trial) -> None:
    summary = json.loads(json.dumps(summary_seen(pilot.summary()), allow_nan=False))

    assert summary["units"] == 1
    assert summary["coefficients"][0]["stage"] == "first"
