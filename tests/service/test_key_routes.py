"""Keys over real HTTP: shown once, rotated, revoked, and of one trial alone."""

from __future__ import annotations

from serving.served import Served


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
    bodies: list[dict[str, object]] = [
        {"role": "king", "label": "x"},
        {"role": "auditor", "label": ""},
        {"role": "auditor", "label": "a\nb"},
        {"role": "site", "label": "nurse A"},
        {"role": "auditor", "label": "x", "site": "north"},
        {"role": "auditor", "label": "x", "trial": 7},
    ]
    for body in bodies:
        assert served.post("/keys", body).status == 422
    assert served.post("/keys/unknown/revocation", None).status == 404
    assert served.post("/keys", {"role": "auditor", "label": "x", "trial": "nowhere"}).status == 404


def test_an_administrator_of_one_trial_manages_the_keys_of_that_trial(served: Served, trial: str) -> None:
    name = trial.removeprefix("/trials/")
    lead = served.new_key("administrator", "lead", trial=name)
    other = served.post("/keys", {"role": "auditor", "label": "of all trials"}).json

    made = served.post("/keys", {"role": "site", "label": "nurse A", "trial": name, "site": "north"}, key=lead)
    listed = served.get("/keys", key=lead).json["keys"]

    assert (made.json["trial"], made.json["site"]) == (name, "north")
    assert {row["trial"] for row in listed} == {name}
    assert other["id"] in {row["id"] for row in served.get("/keys").json["keys"]}
    for wanted in (None, "nowhere"):
        assert served.post("/keys", {"role": "auditor", "label": "x", "trial": wanted}, key=lead).status == 403
    for what in ("rotation", "revocation"):
        hidden = served.post(f"/keys/{other['id']}/{what}", None, key=lead)
        missing = served.post(f"/keys/000000000000/{what}", None, key=lead)
        assert hidden.status == missing.status == 404
        assert hidden.body.decode().replace(other["id"], "000000000000") == missing.body.decode()
    assert served.post(f"/keys/{made.json['id']}/rotation", None, key=lead).json["site"] == "north"


def test_a_trial_that_is_not_yours_and_one_that_is_not_there_look_alike(served: Served, trial: str) -> None:
    key = served.new_key("statistician", trial=trial.removeprefix("/trials/"))
    other = served.create(f"{trial.removeprefix('/trials/')}-other")

    answers = [served.get(f"{place}/summary", key=key) for place in (other, "/trials/nowhere")]

    assert [answer.status for answer in answers] == [403, 403]
    assert answers[0].body == answers[1].body
    assert served.get("/trials", key=key).json == {"trials": [trial.removeprefix("/trials/")]}
    assert served.get(f"{trial}/summary", key=key).status == 200
