"""Endpoints about units, over real HTTP: decisions, repeats, contradictions, and what a site may see."""

from __future__ import annotations

import json
import re
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from urllib.parse import quote

import pytest

import dtrbandit as dtr
from dtrbandit.service.keys import Role
from extras import needed
from serving.served import TRIAL, Answer, Served

needed("starlette")

from dtrbandit.service.units import status_seen, unit_seen  # noqa: E402

ENROL = {"unit": "u1", "context": {"x": 0.5}}


def enrol(served: Served, trial: str, unit: str = "u1", **how: Any) -> Answer:
    return served.post(f"{trial}/units", {"unit": unit, "context": {"x": 0.5}}, **how)


def test_a_unit_goes_all_the_way(served: Served, trial: str) -> None:
    first = enrol(served, trial)
    second = served.post(f"{trial}/units/u1/responses", {"context": {"z": 1.0}})
    last = served.post(f"{trial}/units/u1/outcome", {"outcome": 2.5})

    assert first.json == {"unit": "u1", "stage": "first", "arm": first.json["arm"]}
    assert second.json == {"unit": "u1", "stage": "second", "arm": second.json["arm"]}
    assert last.json == {"unit": "u1", "recorded": "outcome"}
    story = served.get(f"{trial}/units/u1").json
    assert story["arms"] == {"first": first.json["arm"], "second": second.json["arm"]}
    assert story["status"] == "it is complete"


def test_a_unit_that_leaves_early_has_no_arm(served: Served, trial: str) -> None:
    enrol(served, trial)

    assert served.post(f"{trial}/units/u1/responses", {"context": {"z": -1.0}}).json == {"unit": "u1", "left": True}
    assert served.post(f"{trial}/units/u1/outcome", {"outcome": 1.0}).status == 200


def test_amendments_are_recorded(served: Served, trial: str) -> None:
    arm = enrol(served, trial).json["arm"]
    other = {"a": "b", "b": "a"}[arm]

    given = served.post(f"{trial}/units/u1/override", {"arm": other, "reason": "allergy"})
    mended = served.post(
        f"{trial}/units/u1/corrections", {"stage": "first", "context": {"x": 0.7}, "reason": "typing error"}
    )
    lost = served.post(f"{trial}/units/u1/withdrawal", {"reason": "moved away"})
    void = served.post(f"{trial}/units/u1/void", {"reason": "not eligible"})

    assert given.json == {"unit": "u1", "stage": "first", "arm": other}
    assert [each.json["recorded"] for each in (mended, lost, void)] == ["correction", "withdrawal", "void"]


def test_a_contraindicated_arm_is_not_given(served: Served, trial: str) -> None:
    body = {"context": {"x": 0.5}, "exclude": {"first": ["a"]}, "reason": "allergy"}

    arms = {served.post(f"{trial}/units", {"unit": f"u{number}", **body}).json["arm"] for number in range(6)}
    later = {"context": {"z": 1.0}, "exclude": {"second": ["b"]}, "reason": "interaction"}

    assert arms == {"b"}
    assert served.post(f"{trial}/units/u1/responses", later).json["arm"] == "a"
    everything = {"unit": "u9", "context": {"x": 0.5}, "exclude": {"first": ["a", "b"]}, "reason": "allergy"}
    assert served.post(f"{trial}/units", everything).status == 409
    assert served.post(f"{trial}/units", {**everything, "exclude": {"first": "a"}}).status == 422
    assert served.get(f"{trial}/units/u9").status == 404


# -- F3, F4, F10 -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("headers", [{"Idempotency-Key": "k1"}, {}], ids=["with a key", "without"])
def test_parallel_repeats_lead_to_one_event_and_equal_bodies(
    served: Served, trial: str, headers: dict[str, str]
) -> None:
    units = [f"u{number}" for number in range(10)]
    posts = [(unit, {name: f"{value}-{unit}" for name, value in headers.items()}) for unit in units for _ in range(8)]

    with ThreadPoolExecutor(16) as pool:
        answers = list(pool.map(lambda post: (post[0], enrol(served, trial, post[0], headers=post[1])), posts))

    for unit in units:
        assert len({answer.body for name, answer in answers if name == unit}) == 1
    assert {answer.status for _, answer in answers} == {200}
    assert sum(answer.headers.get("repeated") != "true" for _, answer in answers) == len(units)
    assert served.records(trial) == 1 + 2 * len(units)


def test_the_same_key_with_another_body_is_refused_and_writes_nothing(served: Served, trial: str) -> None:
    first = enrol(served, trial, headers={"Idempotency-Key": "k1"})
    before = served.records(trial)

    other = enrol(served, trial, "u2", headers={"Idempotency-Key": "k1"})
    again = enrol(served, trial, headers={"Idempotency-Key": "k1"})
    natural = enrol(served, trial)
    contrary = served.post(f"{trial}/units", {"unit": "u1", "context": {"x": 0.6}})

    assert (other.status, again.status, natural.status, contrary.status) == (409, 200, 200, 409)
    assert again.body == natural.body == first.body
    assert served.records(trial) == before


def test_a_key_belongs_to_whoever_sent_it(served: Served, trial: str, keys: dict[str, str]) -> None:
    enrol(served, trial, headers={"Idempotency-Key": "k1"})

    assert enrol(served, trial, "u2", headers={"Idempotency-Key": "k1"}, key=keys["site"]).status == 200


def test_an_outcome_comes_only_when_it_can(served: Served, trial: str) -> None:
    for unit in ("waits", "left", "gone", "done"):
        enrol(served, trial, unit)
    served.post(f"{trial}/units/left/responses", {"context": {"z": -1.0}})
    served.post(f"{trial}/units/done/responses", {"context": {"z": 1.0}})
    served.post(f"{trial}/units/gone/withdrawal", {"reason": "moved away"})

    def outcome(unit: str, value: float = 1.0) -> int:
        return served.post(f"{trial}/units/{unit}/outcome", {"outcome": value}).status

    before = served.records(trial)
    assert [outcome("waits"), outcome("unknown"), outcome("gone")] == [409, 404, 409]
    assert served.records(trial) == before
    assert [outcome("left"), outcome("done")] == [200, 200]
    assert [outcome("done"), outcome("done", 2.0)] == [200, 409]
    assert served.records(trial) == before + 2


# -- F7 --------------------------------------------------------------------------------------------------------

BODIES = {
    "NaN": b'{"unit":"u","context":{"x":NaN}}',
    "Infinity": b'{"unit":"u","context":{"x":Infinity}}',
    "minus Infinity": b'{"unit":"u","context":{"x":-Infinity}}',
    "1e400": b'{"unit":"u","context":{"x":1e400}}',
    "1e300": b'{"unit":"u","context":{"x":1e300}}',
    "beyond 2**53": b'{"unit":"u","context":{"x":9007199254740993}}',
    "a truth": b'{"unit":"u","context":{"x":true}}',
    "a text": b'{"unit":"u","context":{"x":"1.0"}}',
    "null": b'{"unit":"u","context":{"x":null}}',
    "missing": b'{"unit":"u","context":{}}',
    "no context": b'{"unit":"u"}',
    "an extra column": b'{"unit":"u","context":{"x":1,"y":2}}',
    "an extra entry": b'{"unit":"u","context":{"x":1},"arm":"a"}',
    "a list": b'{"unit":"u","context":[1]}',
    "nested deeply": b'{"unit":"u","context":' + b'{"x":' * 10_000 + b"1" + b"}" * 10_001,
    "a key twice": b'{"unit":"u","unit":"v","context":{"x":1}}',
    "a mark": b'\xef\xbb\xbf{"unit":"u","context":{"x":1}}',
    "bad UTF-8": b'{"unit":"\xff","context":{"x":1}}',
    "half a pair": b'{"unit":"\\ud800","context":{"x":1}}',
    "NUL": b'{"unit":"u\\u0000","context":{"x":1}}',
    "right to left": '{"unit":"u\u202e","context":{"x":1}}'.encode(),
    "10 KB": b'{"unit":"' + b"u" * 10_000 + b'","context":{"x":1}}',
    "dots": b'{"unit":"..","context":{"x":1}}',
    "spaces": b'{"unit":" u ","context":{"x":1}}',
    "nothing": b"",
    "no JSON": b"unit=u&x=1",
}


@pytest.mark.parametrize("case", BODIES)
def test_bad_input_is_refused_and_changes_nothing(served: Served, trial: str, case: str) -> None:
    answer = served.post(f"{trial}/units", BODIES[case])

    assert 400 <= answer.status < 500
    assert answer.headers["content-type"] == "application/problem+json"
    assert set(answer.json) >= {"type", "title", "status", "detail", "remedy"}
    assert served.records(trial) == 1


def test_dots_alone_are_no_id(served: Served, trial: str) -> None:
    answer = served.post(f"{trial}/units", {"unit": "..", "context": {"x": 1.0}})

    wrong = "unit: dots alone are no id, since an address cannot hold them; use another id, found '..'"
    assert (answer.status, answer.json["detail"]) == (422, wrong)
    assert served.records(trial) == 1


def test_an_outcome_that_is_no_number_is_refused(served: Served, trial: str) -> None:
    enrol(served, trial)
    served.post(f"{trial}/units/u1/responses", {"context": {"z": -1.0}})
    before = served.records(trial)

    for body in (b'{"outcome":NaN}', b'{"outcome":"1"}', b'{"outcome":null}', b'{"outcome":1e300}', b"{}"):
        assert 400 <= served.post(f"{trial}/units/u1/outcome", body).status < 500
    assert served.records(trial) == before


# -- F8 --------------------------------------------------------------------------------------------------------

ODD = [
    "'; DROP TABLE records; --",
    "<script>alert(1)</script>",
    "../../etc/passwd",
    "a/b/outcome",
    "%2e%2e",
    "=1+1",
    "ü–字",
]


@pytest.mark.parametrize("unit", ODD)
def test_odd_ids_are_kept_as_they_are(served: Served, trial: str, unit: str) -> None:
    assert enrol(served, trial, unit).json["unit"] == unit

    address = f"{trial}/units/{quote(unit, safe='')}"
    assert served.post(f"{address}/responses", {"context": {"z": -1.0}}).json == {"unit": unit, "left": True}
    answer = served.get(address)
    assert answer.json["unit"] == unit
    assert answer.headers["content-type"] == "application/json"


# -- F16, P8 ---------------------------------------------------------------------------------------------------


def test_a_site_sees_arms_and_nothing_else(served: Served, trial: str, keys: dict[str, str]) -> None:
    site = keys["site"]
    answers = [
        enrol(served, trial, key=site),
        served.get(f"{trial}/units", key=site),
        served.get(f"{trial}/units/u1", key=site),
        served.get(trial, key=site),
        served.post(f"{trial}/units/unknown/outcome", {"outcome": 1.0}, key=site),
        served.post(f"{trial}/units", {"unit": "u1", "context": {"x": 3.0}}, key=site),
    ]

    for answer in answers:
        for word in ("round", "q_hat", "q_tilde", "propensity", "reason", "policy", "schedule", "seed", "sequence"):
            assert f'"{word}"' not in answer.body.decode()
        assert "1 unit" not in answer.body.decode()
    assert set(answers[1].json["units"][0]) == {"unit", "stage", "awaiting", "since", "due", "overdue"}


REGIME = {"name": "FixedRegime", "rule": {"first": "a", "second": "b"}}  # arms that depend on nobody else


def busy(served: Served, trial: str, key: str, first: int) -> None:
    """Let another site enrol some units, each to a point of its course."""
    for number in range(first, first + 5):
        unit = f"{trial}/units/s{number}"
        served.post(f"{trial}/units", {"unit": f"s{number}", "context": {"x": 0.25}}, key=key)
        served.post(f"{unit}/responses", {"context": {"z": 1.0 if number % 2 else -1.0}}, key=key)
        if number % 3:
            served.post(f"{unit}/outcome", {"outcome": 1.0}, key=key)


def seen_by_north(served: Served, name: str, *, others: bool) -> list[tuple[int, dict[str, str], str]]:
    """Return all that a site sees while it takes units through a trial, times aside."""
    served.post("/trials", {**TRIAL, "name": name, "policy": REGIME})
    trial, seen = f"/trials/{name}", []
    north, south = (served.new_key("site", trial=name, site=site) for site in ("north", "south"))
    closing = {"stage": "second", "arm": "a", "reason": "harm in 17 of 40 units"}
    requests: list[tuple[str, str, Any]] = [
        ("POST", "/units", ENROL),
        ("POST", "/units", ENROL),
        ("POST", "/units", {**ENROL, "context": {"x": 3.0}}),
        ("POST", "/units", {**ENROL, "context": {}}),
        ("POST", "/units/u1/outcome", {"outcome": 1.0}),
        ("POST", "/units/u1/responses", {"context": {"z": 1.0}}),
        ("POST", "/units/u1/override", {"arm": "placebo", "reason": "allergy"}),
        ("POST", "/units/u1/corrections", {"reason": "typo", "stage": "first", "context": {"x": 0.75}}),
        ("POST", "/units", {"unit": "u2", "context": {"x": 0.5}}),
        ("POST", "/units/u2/responses", {"context": {"z": -1.0}}),
        ("POST", "/units/u2/outcome", {"outcome": 2.0}),
        ("POST", "/units/u2/outcome", {"outcome": 3.0}),
        ("POST", "/units/unknown/outcome", {"outcome": 3.0}),
        ("POST", "/units", {**ENROL, "unit": "u3", "exclude": {"first": ["a", "b"]}, "reason": "allergy"}),
        ("POST", "/units", {**ENROL, "unit": "u3"}),
        ("GET", "/units", None),
        ("GET", "/units?awaiting=nothing", None),
        ("GET", "/units/u1", None),
        ("GET", "/units/unknown", None),
        ("GET", "", None),
        ("GET", "/summary", None),
        ("POST", "/units/u1/withdrawal", {"reason": "moved away"}),
    ]
    for number, (method, path, body) in enumerate(requests):
        if others:
            busy(served, trial, south, 5 * number)
        seen.append(served.send(method, f"{trial}{path}", body, key=north))
    seen.append(served.get("/trials", key=north))
    for what in ({"reason": "41 units are enough"}, {"reason": "no staff", "site": "south"}):
        served.post(f"{trial}/hold", what)
    served.post(f"{trial}/arms/close", closing)
    for query in ("", "?explain=false"):
        seen.append(served.post(f"{trial}/units{query}", {"unit": "u4", "context": {"x": 0.5}}, key=north))
    for what in ({"reason": "seen"}, {"reason": "staff", "site": "south"}):
        served.post(f"{trial}/release", what)
    excluding = {**ENROL, "unit": "u5", "exclude": {"second": ["b"]}, "reason": "allergy"}
    seen.append(served.post(f"{trial}/units", excluding, key=north))
    served.post(f"{trial}/units/u2/void", {"reason": "ineligible, as 3 others"})
    seen.append(served.post(f"{trial}/units/u2/corrections", {"reason": "typo", "outcome": 1.0}, key=north))
    seen.append(served.get(f"{trial}/units/u2", key=north))
    served.post(f"{trial}/end", {"reason": "arm a is better, p = 0.03"})
    seen.append(served.post(f"{trial}/units/u3/responses", {"context": {"z": 1.0}}, key=north))
    seen.append(served.get(trial, key=north))
    times = re.compile(r"\d{4}-\d\d-\d\dT[\d:.]+Z")
    return [(each.status, dict(each.headers), times.sub("TIME", each.body.decode())) for each in seen]


def test_nothing_that_a_site_sees_depends_on_other_sites(served: Served) -> None:
    alone = seen_by_north(served, "trial-n1", others=False)
    crowded = seen_by_north(served, "trial-n2", others=True)

    assert [status for status, _, _ in alone] == [
        200, 200, 409, 422, 409, 200, 409, 200, 200, 200, 200, 409, 403, 409, 200, 200, 422, 200, 403, 200, 403,
        200, 200, 409, 409, 409, 409, 200, 409, 200,
    ]  # fmt: skip
    assert crowded == [(status, headers, body.replace("trial-n1", "trial-n2")) for status, headers, body in alone]
    text = " ".join(body for _, _, body in crowded)
    for hidden in (
        "south",
        "closed",
        "ineligible",
        "41 units",
        "17 of",
        "p = 0.03",
        "FixedRegime",
        "round",
        "q_hat",
        "propensity",
        "sequence",
    ):
        assert hidden not in text, hidden


def test_a_site_that_asks_why_is_refused_and_nothing_is_recorded(
    served: Served, trial: str, keys: dict[str, str]
) -> None:
    enrol(served, trial, key=keys["site"])
    before = served.records(trial)

    looks = {role: served.get(f"{trial}/units/u1?explain=true", key=keys[role]).status for role in keys}
    asked = served.post(f"{trial}/units?explain=true", {"unit": "u2", "context": {"x": 0.5}}, key=keys["site"])

    assert looks == {"administrator": 200, "site": 403, "statistician": 200, "auditor": 403}
    assert (asked.status, served.records(trial)) == (403, before)
    assert "may not explain decisions" in asked.json["detail"]
    told = json.loads(served.get("/openapi.json").body)["paths"]
    for path, method in (("/trials/{trial}/units/{unit}", "get"), ("/trials/{trial}/units", "post")):
        (own,) = [each for each in told[path][method]["parameters"] if each["name"] == "explain"]
        assert "to a site or an auditor it is 403" in own["description"]


def test_a_hold_says_who_ends_it_and_nothing_of_corrections(served: Served, trial: str, keys: dict[str, str]) -> None:
    served.post(f"{trial}/hold", {"reason": "41 units are enough"})

    for key in (keys["site"], keys["administrator"]):
        answer = served.post(f"{trial}/units", ENROL, key=key)
        assert answer.status == 409
        assert "accrual is held" in answer.json["detail"]
        assert answer.json["remedy"].startswith("Wait until an administrator of the trial releases accrual")
        assert ("41 units" in answer.body.decode()) == (key == keys["administrator"])


def test_units_of_other_sites_are_closed_to_a_site(served: Served, trial: str) -> None:
    name = trial.removeprefix("/trials/")
    north, south = (served.new_key("site", trial=name, site=site) for site in ("north", "south"))
    enrol(served, trial, key=north)
    enrol(served, trial, "anybody's")
    before = served.records(trial)

    again = served.post(f"{trial}/units", {"unit": "u1", "context": {"x": 9.5}}, key=south)
    stolen = served.post(f"{trial}/units", {"unit": "u2", "context": {"x": 0.5}, "site": "north"}, key=south)
    looks = [served.get(f"{trial}/units/{unit}", key=south) for unit in ("u1", "anybody's", "unknown")]
    outcome = served.post(f"{trial}/units/u1/outcome", {"outcome": 1.0}, key=south)

    assert (again.status, stolen.status, outcome.status) == (409, 403, 403)
    assert [look.status for look in looks] == [403, 403, 403]
    assert looks[0].body.replace(b"u1", b"unknown") == looks[2].body  # whoever tries ids learns nothing
    for answer in (again, outcome, *looks):
        assert "north" not in answer.body.decode()
        assert "0.5" not in answer.body.decode()
    assert served.get(f"{trial}/units", key=south).json == {"units": []}
    assert [unit["unit"] for unit in served.get(f"{trial}/units", key=north).json["units"]] == ["u1"]
    assert [unit["site"] for unit in served.get(f"{trial}/units").json["units"]] == ["north", None]
    assert served.records(trial) == before


def test_unblinding_is_on_record_before_anything_is_shown(served: Served, trial: str, keys: dict[str, str]) -> None:
    enrol(served, trial, key=keys["site"])
    address, why = f"{trial}/units/u1/unblinding", {"reason": "an emergency"}
    before = served.records(trial)

    assert served.post(address, {}, key=keys["site"]).status == 422
    assert served.post(f"{trial}/units/unknown/unblinding", why, key=keys["site"]).status == 403
    assert served.post(f"{trial}/units/unknown/unblinding", why).status == 404
    assert served.records(trial) == before
    told = served.post(address, why, key=keys["site"])
    other = served.post(address, why)

    assert told.json["decisions"][0]["round"] == 1
    assert "explanation" in told.json["decisions"][0]
    assert told.json["records"][-1]["event"] == {"event": "Unblinded", "format": 2, "unit": "u1", **why}
    assert "(site north, key " in told.json["records"][-1]["actor"]
    assert "administrator" in other.json["records"][-1]["actor"]
    assert served.records(trial) == before + 2
    assert "decisions" not in served.get(f"{trial}/units/u1", key=keys["site"]).json  # one look is one look


def test_every_look_is_on_record_also_under_the_same_idempotency_key(
    served: Served, trial: str, keys: dict[str, str]
) -> None:
    """Otherwise one recorded look would open all decisions to come."""
    enrol(served, trial, key=keys["site"])
    asked = {"key": keys["site"], "headers": {"Idempotency-Key": "k1"}}
    address, why = f"{trial}/units/u1/unblinding", {"reason": "an emergency"}
    first = served.post(address, why, **asked)
    served.post(f"{trial}/units/u1/responses", {"context": {"z": 1.0}}, key=keys["site"])
    before = served.records(trial)

    second = served.post(address, why, **asked)

    assert [len(each.json["decisions"]) for each in (first, second)] == [1, 2]
    assert served.records(trial) == before + 1
    assert "repeated" not in second.headers


def test_an_administrator_enrols_for_a_site(served: Served, trial: str, keys: dict[str, str]) -> None:
    body = {"unit": "u1", "context": {"x": 0.5}, "site": "north"}

    assert served.post(f"{trial}/units", body).status == 200
    assert served.get(f"{trial}/units/u1", key=keys["site"]).status == 200
    assert enrol(served, trial, key=keys["site"]).headers["repeated"] == "true"
    assert enrol(served, trial).status == 409
    for site in (" north", "", "x" * 61, 7):
        assert served.post(f"{trial}/units", {**body, "unit": "u2", "site": site}).status == 422


def test_decisions_are_explained_to_those_who_may_ask(served: Served, trial: str, keys: dict[str, str]) -> None:
    enrol(served, trial)

    def asked(role: str) -> Answer:
        return served.post(f"{trial}/units?explain=true", ENROL, key=keys[role])

    assert asked("administrator").json["decision"]["round"] == 1
    assert "scheduled" in asked("administrator").json["decision"]["explanation"]
    assert asked("site").status == 403
    assert "decisions" in served.get(f"{trial}/units/u1", key=keys["statistician"]).json
    assert "decisions" not in served.get(f"{trial}/units/u1", key=keys["auditor"]).json


def test_units_are_listed_by_what_they_await(served: Served, trial: str) -> None:
    for unit in ("u1", "u2"):
        enrol(served, trial, unit)
    served.post(f"{trial}/units/u2/responses", {"context": {"z": 1.0}})

    def listed(query: str) -> list[str]:
        return [each["unit"] for each in served.get(f"{trial}/units{query}").json["units"]]

    assert listed("") == ["u1", "u2"]
    assert listed("?awaiting=second") == ["u1"]
    assert listed("?awaiting=outcome") == ["u2"]
    assert listed("?overdue=true") == []
    refused = served.get(f"{trial}/units?awaiting=nope")
    assert refused.status == 422
    assert refused.json["detail"] == "awaiting: units await one of ['second', 'outcome'], found 'nope'"
    assert "address" in refused.json["remedy"]
    assert served.get(f"{trial}/units?overdue=perhaps").status == 422


def test_a_bad_idempotency_key_is_refused(served: Served, trial: str) -> None:
    assert enrol(served, trial, headers={"Idempotency-Key": "k" * 201}).status == 400
    assert served.records(trial) == 1


def test_replies_are_json_in_ascii(served: Served, trial: str) -> None:
    answer = enrol(served, trial, "ü")

    assert answer.body.isascii()
    assert json.loads(answer.body)["unit"] == "ü"


ACTS = {
    "units": ENROL,
    "units/u1/responses": {"context": {"z": 1.0}},
    "units/u1/outcome": {"outcome": 1.0},
    "units/u1/withdrawal": {"reason": "moved"},
    "units/u1/override": {"arm": "a", "reason": "allergy"},
    "units/u1/corrections": {"stage": "first", "context": {"x": 2.0}, "reason": "typing error"},
    "units/u1/void": {"reason": "not eligible"},
    "units/u1/unblinding": {"reason": "adverse event"},
    "hold": {"reason": "review"},
    "release": {"reason": "reviewed"},
    "arms/close": {"stage": "first", "arm": "a", "reason": "harm"},
    "end": {"reason": "complete"},
}


def test_what_is_meant_for_the_rehearsal_is_refused_in_the_live_trial(served: Served, trial: str) -> None:
    served.post(f"{trial}/lock", {"reason": "approved"})
    enrol(served, trial, headers={"Dtrbandit-Log": "live"})

    answers = [
        served.post(f"{trial}/{path}", body, headers={"Dtrbandit-Log": "rehearsal"}) for path, body in ACTS.items()
    ]

    assert {answer.status for answer in answers} == {409}
    assert {answer.json["error"] for answer in answers} == {"OtherLog"}
    assert answers[0].json["type"] == "urn:dtrbandit:problem:other-log"
    assert "the trial was locked at 20" in answers[0].json["detail"]
    assert served.records(trial) == 3


def test_what_is_meant_for_the_live_trial_is_refused_in_the_rehearsal(served: Served, trial: str) -> None:
    enrol(served, trial)
    before = served.records(trial)

    answers = [
        served.post(f"{trial}/{path}", body, headers={"Dtrbandit-Log": "live"})
        for path, body in {**ACTS, "lock": {"reason": "approved"}}.items()
    ]

    assert {(answer.status, answer.json["error"]) for answer in answers} == {(409, "OtherLog")}
    assert served.records(trial) == before


def test_a_log_that_no_trial_has_cannot_be_meant(served: Served, trial: str) -> None:
    answer = enrol(served, trial, headers={"Dtrbandit-Log": "production"})

    assert answer.status == 400
    assert answer.json["detail"] == "Dtrbandit-Log must be rehearsal or live, found 'production'"
    assert served.records(trial) == 1


def test_a_request_is_meant_for_one_log(served: Served, trial: str) -> None:
    answer = enrol(served, trial, headers={"Dtrbandit-Log": "rehearsal", "dtrbandit-log": "live"})

    assert answer.status == 400
    assert answer.json["detail"] == "the request has the header dtrbandit-log twice"
    assert served.records(trial) == 1


# -- P8 ----------------------------------------------------------------------------------------------------------

DESIGN = dtr.Design(
    [dtr.Stage("first", ("a", "b"), "1 + x", expected_days=7), dtr.Stage("second", ("a", "b"), "1 + z")]
)


@pytest.fixture
def pilot() -> dtr.Trial:
    policy = dtr.DTRBandit(q=1, delta=0.5, schedule="permuted")
    found = dtr.Trial.create("pilot", DESIGN, policy, storage="memory://", seed=77)
    found.enroll("u1", {"x": 0.5}, actor="nurse")
    return found


def test_a_list_of_units_has_no_arms_for_a_site(pilot: dtr.Trial) -> None:
    (status,) = pilot.units()

    assert {"arm", "round"}.isdisjoint(status_seen(status, Role.SITE))
    assert status_seen(status, Role.AUDITOR)["round"] == 1
    assert str(status_seen(status, Role.SITE)["due"]).endswith("Z")


def test_a_unit_shows_each_role_its_part(pilot: dtr.Trial) -> None:
    unit = pilot.unit("u1")

    assert set(unit_seen(unit, Role.SITE)) == {"unit", "status", "arms"}
    assert set(unit_seen(unit, Role.AUDITOR)) == {"unit", "status", "arms", "site", "round", "records"}
    assert {"decisions", "text"} < set(unit_seen(unit, Role.STATISTICIAN))
