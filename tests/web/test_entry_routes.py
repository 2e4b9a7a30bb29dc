"""Coming and going: cookies, forms, keys that end (F16)."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from urllib.parse import urlencode

import pytest

from extras import needed
from serving.served import Served
from serving.surfer import Surfer

for module in ("starlette", "jinja2", "uvicorn"):
    needed(module)

COOKIE = "dtrbandit"


def test_a_key_becomes_a_cookie_that_no_script_and_no_other_site_can_use(served: Served, keys: dict[str, str]) -> None:
    surfer = Surfer(served)
    form = surfer.get("/ui/login").form("/ui/login")

    answer = surfer.submit("/ui/login", {**form.fields, "key": f" {keys['statistician']} "})

    cookie = next(value for name, value in answer.headers if name == "set-cookie").lower()
    assert answer.status == 303
    assert all(word in cookie for word in ("httponly", "samesite=strict", "path=/", "max-age=43200"))
    assert keys["statistician"] not in cookie
    assert "secure" not in cookie  # this machine alone, without TLS


def test_log_out_ends_the_login_on_the_server_too(somebody: Callable[[str], Surfer]) -> None:
    surfer = somebody("auditor")
    kept = dict(surfer.cookies)

    surfer.post(surfer.get("/ui/trials").form("/ui/logout"))
    surfer.cookies = kept

    assert "Your key" in surfer.get("/ui/trials").text


def test_a_revoked_key_ends_its_logins(served: Served, trial: str) -> None:
    new = served.post("/keys", {"role": "statistician", "label": "leaver"}).json
    surfer = Surfer(served)
    before = surfer.log_in(new["key"]).status

    served.post(f"/keys/{new['id']}/revocation", {})

    assert before == 200
    assert surfer.send("GET", f"/ui/trials/{trial}").header("location") == "/ui/login"


@pytest.mark.parametrize("key", ["", "dtrb_wrong", "dtrb_000000000000_" + "x" * 43, "\x00", "ü" * 100])
def test_a_wrong_key_is_told_at_the_form(served: Served, key: str) -> None:
    surfer = Surfer(served)

    shown = surfer.log_in(key)

    assert shown.status == 401
    assert "No valid key" in shown.text
    assert COOKIE not in surfer.cookies


def test_wrong_keys_at_the_login_are_limited_by_address_and_a_right_one_still_opens(tmp_path: Path) -> None:
    service = Served(tmp_path)
    surfer, ward = Surfer(service), {"X-Forwarded-For": "192.0.2.7"}
    form = surfer.get("/ui/login").form("/ui/login")

    def try_key(key: str) -> int:
        return surfer.send("POST", "/ui/login", urlencode({**form.fields, "key": key}).encode(), ward).status

    statuses = [try_key(f"{service.key[:-1]}{'AB'[service.key[-1] == 'A']}") for _ in range(20)]
    right = try_key(service.key)
    service.stop()

    assert statuses == [401] * 10 + [429] * 10
    assert right == 303


def test_a_login_form_from_elsewhere_is_refused(served: Served, keys: dict[str, str]) -> None:
    surfer = Surfer(served)
    fields = {**surfer.get("/ui/login").form("/ui/login").fields, "key": keys["site"]}

    without_token = surfer.submit("/ui/login", {"key": keys["site"]})
    surfer.cookies.clear()
    without_cookie = surfer.submit("/ui/login", fields)

    assert (without_token.status, without_cookie.status) == (403, 403)
    assert COOKIE not in surfer.cookies


@pytest.mark.parametrize("cookie", ['"a\\012b"', "short", "x" * 5000, '"\\377"'])
def test_a_cookie_that_is_not_of_our_making_is_not_sent_back(served: Served, cookie: str) -> None:
    surfer = Surfer(served)
    surfer.cookies["dtrbandit-form"] = cookie

    assert surfer.get("/ui/login").status == 200
    assert re.fullmatch(r"[A-Za-z0-9_-]{32}", surfer.cookies["dtrbandit-form"])


def test_log_out_needs_the_token_of_the_login(somebody: Callable[[str], Surfer]) -> None:
    surfer = somebody("site")

    assert surfer.submit("/ui/logout", {"token": "guess"}).status == 403
    assert surfer.send("GET", "/ui/trials").status == 200


def test_without_a_login_every_page_leads_to_the_login(served: Served, trial: str) -> None:
    for path in ("/", "/ui", "/ui/", "/ui/trials", f"/ui/trials/{trial}", f"/ui/trials/{trial}/events"):
        assert "Your key" in Surfer(served).get(path).text


def test_trials_are_listed_with_the_page_where_the_role_begins(trial: str, somebody: Callable[[str], Surfer]) -> None:
    shown = somebody("auditor").get("/ui/trials")

    assert f'href="/ui/trials/{trial}/integrity"' in shown.text


def test_a_trial_that_cannot_be_opened_hides_no_other(tmp_path: Path) -> None:
    service = Served(tmp_path, behind_proxy=False)
    for name in ("damaged", "sound"):
        service.post(f"{service.create(name)}/units", {"unit": "u1", "context": {"x": 1.0}})
    service.stop()
    with closing(sqlite3.connect(service.file)) as database, database:
        database.execute("DELETE FROM records WHERE log = 1 AND sequence = 2")
    service.start()
    surfer = Surfer(service)

    shown = surfer.log_in(service.key)
    service.stop()

    assert shown.status == 200
    assert "The log cannot be continued" in shown.text
    assert 'href="/ui/trials/sound"' in shown.text


def test_files_are_served_and_no_others(served: Served) -> None:
    surfer = Surfer(served)

    assert surfer.get("/ui/static/dashboard.css").header("content-type").startswith("text/css")
    assert surfer.get("/ui/static/dashboard.js").header("content-type").startswith("text/javascript")
    assert [surfer.get(f"/ui/static/{name}").status for name in ("base.html", "..%2fpages.py", "x")] == [404] * 3


def test_behind_a_proxy_cookies_travel_by_tls_alone(tmp_path: Path) -> None:
    service = Served(tmp_path)
    surfer = Surfer(service)
    form = surfer.get("/ui/login").form("/ui/login")

    answer = surfer.submit("/ui/login", {**form.fields, "key": service.key})
    service.stop()

    cookie = next(value for name, value in answer.headers if name == "set-cookie")
    assert cookie.startswith("__Host-dtrbandit=")
    assert "secure" in cookie.lower()
