"""Keys over real HTTP, and the whole table of roles (F16)."""

from __future__ import annotations

import pytest

from dtrbandit.service.roles import MAY, Role
from serving.served import TRIAL, Served

REASON = {"reason": "because"}
REQUESTS = {
    "list_trials": ("GET", "/trials", None),
    "create_trial": ("POST", "/trials", {"name": "another", **TRIAL}),
    "show_trial": ("GET", "{trial}", None),
    "lock_trial": ("POST", "{trial}/lock", REASON),
    "end_trial": ("POST", "{trial}/end", REASON),
    "hold_accrual": ("POST", "{trial}/hold", REASON),
    "release_accrual": ("POST", "{trial}/release", REASON),
    "close_arm": ("POST", "{trial}/arms/close", {"stage": "first", "arm": "a", **REASON}),
    "enroll_unit": ("POST", "{trial}/units", {"unit": "u1", "context": {"x": 0.5}}),
    "record_response": ("POST", "{trial}/units/u1/responses", {"context": {"z": 1.0}}),
    "record_outcome": ("POST", "{trial}/units/u1/outcome", {"outcome": 1.0}),
    "withdraw_unit": ("POST", "{trial}/units/u1/withdrawal", REASON),
    "override_arm": ("POST", "{trial}/units/u1/override", {"arm": "a", **REASON}),
    "correct_record": ("POST", "{trial}/units/u1/corrections", {"outcome": 1.0, **REASON}),
    "void_unit": ("POST", "{trial}/units/u1/void", REASON),
    "list_units": ("GET", "{trial}/units", None),
    "show_unit": ("GET", "{trial}/units/u1", None),
    "explain_decisions": ("POST", "{trial}/units?explain=true", {"unit": "u1", "context": {"x": 0.5}}),
    "read_log": ("GET", "{trial}/log", None),
    "read_head": ("GET", "{trial}/head", None),
    "summarise_trial": ("GET", "{trial}/summary", None),
    "read_metrics": ("GET", "/metrics", None),
    "list_keys": ("GET", "/keys", None),
    "create_key": ("POST", "/keys", {"role": "site", "label": "another"}),
    "rotate_key": ("POST", "/keys/000000000000/rotation", None),
    "revoke_key": ("POST", "/keys/000000000000/revocation", None),
}
TREATS = {"enroll_unit", "explain_decisions"}  # a statistician may ask why, but not by enrolling


@pytest.mark.parametrize("endpoint", MAY)
def test_each_endpoint_opens_to_its_roles_alone(
    served: Served, trial: str, keys: dict[str, str], endpoint: str
) -> None:
    method, path, body = REQUESTS[endpoint]
    allowed = MAY[endpoint] if endpoint != "explain_decisions" else {Role.ADMINISTRATOR}

    for role in Role:
        answer = served.send(method, path.format(trial=trial), body, key=keys[role])
        assert (answer.status == 403) == (role not in allowed), role
        assert answer.status < 500
    for key in ("", "dtrb_000000000000_" + "x" * 43, "nonsense"):
        answer = served.send(method, path.format(trial=trial), body, key=key)
        assert answer.status == 401
        assert answer.headers["www-authenticate"] == "Bearer"


def test_a_key_is_shown_once_and_its_hash_never(served: Served) -> None:
    new = served.post("/keys", {"role": "auditor", "label": "inspector", "days": 30.0}).json

    listed = {row["id"]: row for row in served.get("/keys").json["keys"]}

    assert new["key"].startswith("dtrb_")
    assert "key" not in listed[new["id"]]
    assert "sha256" not in listed[new["id"]]
    assert listed[new["id"]]["label"] == "inspector"
    assert listed[new["id"]]["expires"] > listed[new["id"]]["created"]


def test_a_revoked_key_opens_nothing(served: Served) -> None:
    new = served.post("/keys", {"role": "auditor", "label": "inspector"}).json
    assert served.get("/trials", key=new["key"]).status == 200

    assert served.post(f"/keys/{new['id']}/revocation", None).json["revoked"] is not None

    assert served.get("/trials", key=new["key"]).status == 401


def test_a_rotated_key_has_a_successor_with_the_same_role(served: Served) -> None:
    old = served.post("/keys", {"role": "auditor", "label": "inspector"}).json

    new = served.post(f"/keys/{old['id']}/rotation", None).json

    assert (new["role"], new["label"]) == ("auditor", "inspector")
    assert served.get("/trials", key=old["key"]).status == 401
    assert served.get("/trials", key=new["key"]).status == 200
    assert served.post(f"/keys/{old['id']}/rotation", None).status == 409


def test_bad_keys_are_not_made(served: Served) -> None:
    for body in ({"role": "king", "label": "x"}, {"role": "site", "label": ""}, {"role": "site", "label": "a\nb"}):
        assert served.post("/keys", body).status == 422
    assert served.post("/keys/unknown/revocation", None).status == 404
