"""Keys over real HTTP: shown once, rotated, revoked, and of one trial alone."""

from __future__ import annotations

import asyncio
import json
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta

import pytest

from dtrbandit.record.chain import checked
from dtrbandit.record.log_file import stored_of
from dtrbandit.service.key_store import first_key
from dtrbandit.storage import ApiKey
from extras import needed
from serving.served import Served

needed("starlette")

from dtrbandit.service.app import Application  # noqa: E402
from dtrbandit.service.key_handlers import key_seen  # noqa: E402
from dtrbandit.service.service import Service  # noqa: E402
from dtrbandit.web.internal_client import Declined, InternalClient  # noqa: E402


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

    new = served.post(f"/keys/{old['id']}/rotation", {"overlap": 0}).json

    assert (new["role"], new["label"]) == ("auditor", "inspector")
    assert served.get("/trials", key=old["key"]).status == 401
    assert served.get("/trials", key=new["key"]).status == 200
    refused = served.post(f"/keys/{old['id']}/rotation", None)
    assert (refused.status, refused.json["remedy"]) == (
        409,
        "Look at the key: GET /keys lists them all. Nothing was changed.",
    )
    assert new["id"] in refused.json["detail"]


def test_the_old_key_works_for_a_day_unless_told_otherwise(served: Served) -> None:
    old = served.post("/keys", {"role": "auditor", "label": "inspector"}).json

    new = served.post(f"/keys/{old['id']}/rotation", None).json

    (row,) = [each for each in served.get("/keys").json["keys"] if each["id"] == old["id"]]
    ends, began = (datetime.fromisoformat(time) for time in (row["revoked"], new["created"]))
    assert ends - began == timedelta(hours=24)
    assert served.get("/trials", key=old["key"]).status == 200


@pytest.mark.parametrize("overlap", [-1, 720.5, "24", None, [1]])
def test_an_overlap_that_is_not_allowed_is_refused_in_words(served: Served, overlap: object) -> None:
    old = served.post("/keys", {"role": "auditor", "label": "inspector"}).json

    answer = served.post(f"/keys/{old['id']}/rotation", {"overlap": overlap})

    assert (answer.status, answer.json["detail"].startswith("overlap: Input should be")) == (422, True)
    assert served.get("/trials", key=old["key"]).status == 200


def test_a_request_that_is_repeated_shows_the_same_key_and_writes_nothing(served: Served) -> None:
    wanted, once = {"role": "auditor", "label": "inspector", "days": 3}, {"Idempotency-Key": "made once"}
    first = served.post("/keys", wanted, headers=once)
    before = served.get("/keys").body, served.get("/keys/events").body

    again = served.post("/keys", wanted, headers=once)
    other = served.post("/keys", {**wanted, "label": "another"}, headers=once)

    assert (again.status, again.body, again.headers["repeated"]) == (200, first.body, "true")
    assert "repeated" not in first.headers
    assert (other.status, other.json["error"]) == (409, "ProtocolError")
    assert (served.get("/keys").body, served.get("/keys/events").body) == before
    assert served.get("/trials", key=first.json["key"]).status == 200


def test_who_loses_the_answer_to_the_rotation_of_their_own_key_asks_again_and_has_it(served: Served) -> None:
    own = served.post("/keys", {"role": "administrator", "label": "lead"}).json
    place, headers = f"/keys/{own['id']}/rotation", {"Idempotency-Key": "my own"}
    too_soon = served.post(place, {"overlap": 0}, key=own["key"], headers=headers)
    lost = served.post(place, None, key=own["key"], headers=headers)

    again = served.post(place, None, key=own["key"], headers=headers)
    without = served.post(place, None, key=own["key"])
    revoked = served.post(f"/keys/{own['id']}/revocation", None, key=again.json["key"], headers=headers)

    assert (too_soon.status, "at least 1 hour" in too_soon.json["detail"]) == (422, True)
    assert lost.body == again.body == without.body
    assert revoked.status == 200
    assert served.post(place, None, key=own["key"], headers=headers).status == 401  # it has ended, for this too
    assert served.get("/trials", key=again.json["key"]).status == 200


def test_requests_that_are_repeated_side_by_side_make_one_key(served: Served) -> None:
    wanted, headers = {"role": "auditor", "label": "side by side"}, {"Idempotency-Key": "side by side"}

    with ThreadPoolExecutor(4) as threads:
        answers = list(threads.map(lambda _: served.post("/keys", wanted, headers=headers), range(8)))

    assert {answer.status for answer in answers} == {200}
    assert len({answer.body for answer in answers}) == 1
    assert sum("repeated" in answer.headers for answer in answers) == 7
    assert [row["label"] for row in served.get("/keys").json["keys"]].count("side by side") == 1


def test_a_revocation_can_be_repeated(served: Served) -> None:
    made = [served.post("/keys", {"role": "auditor", "label": "leaver"}).json["id"] for _ in range(2)]
    headers = {"Idempotency-Key": "leaver leaves"}

    first, again = (served.post(f"/keys/{made[0]}/revocation", None, headers=headers) for _ in range(2))

    assert first.body == again.body
    assert again.headers["repeated"] == "true"
    assert served.post(f"/keys/{made[1]}/revocation", None, headers=headers).status == 409


def test_what_happened_to_keys_is_read_with_its_chain(served: Served, trial: str) -> None:
    name = trial.removeprefix("/trials/")
    auditor = served.new_key("auditor")
    bound = served.new_key("auditor", "of one trial", trial=name)
    new = served.post("/keys", {"role": "site", "label": "nurse A", "trial": name, "site": "north"}).json
    served.post(f"/keys/{new['id']}/revocation", None)

    lines = served.get("/keys/events?most=5000", key=auditor).body.splitlines()
    mine = [json.loads(line) for line in served.get("/keys/events?most=5000", key=bound).body.splitlines()]

    assert [record.text for record in map(stored_of, lines)] == [each.text for each in checked(map(stored_of, lines))]
    last = json.loads(lines[-1])
    assert (last["event"]["event"], last["event"]["id"], last["event"]["role"]) == ("KeyRevoked", new["id"], "site")
    assert last["actor"].startswith("first administrator (administrator, key ")
    assert [each["event"]["event"] for each in mine] == ["KeyCreated", "KeyCreated", "KeyRevoked"]
    assert {each["event"]["trial"] for each in mine} == {name}
    assert served.get(f"/keys/events?since={last['sequence'] - 1}&most=1", key=auditor).body.splitlines() == lines[-1:]
    assert new["key"].encode() not in b"".join(lines)


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


def test_a_page_that_has_no_key_to_show_again_makes_keys_by_chance() -> None:
    """What else stands in the header was looked at by nobody, and must lead to no key."""

    async def asked_twice() -> tuple[list[str | None], int]:
        service = Service("memory://")
        await service.start()
        try:
            own = first_key(service.store, now=datetime.now(UTC))
            assert own is not None
            await service.read_keys()
            page = InternalClient(Application(service), own.row.id)
            wanted = {"role": "auditor", "label": "inspector"}
            await page.ask("POST", "/keys", body=wanted, once="once")
            with pytest.raises(Declined, match="only to whoever asked for it, by the same key") as declined:
                await page.ask("POST", "/keys", body=wanted, once="once")
            return [row.salt for row in service.store.api_keys()], declined.value.status
        finally:
            await service.stop()

    assert asyncio.run(asked_twice()) == ([None, None], 409)


def test_a_rotation_whose_body_says_that_it_is_no_json_is_refused(served: Served) -> None:
    made = served.post("/keys", {"role": "auditor", "label": "inspector"}).json

    refused = served.post(f"/keys/{made['id']}/rotation", {"overlap": 2}, headers={"Content-Type": "text/plain"})

    assert refused.status == 415
    assert served.get("/trials", key=made["key"]).status == 200


def test_the_hash_of_a_key_is_not_shown() -> None:
    seen = key_seen(ApiKey("id", "hash", "site", "north", "now", None, None, salt="salt"))

    assert not {"sha256", "salt"} & seen.keys()
