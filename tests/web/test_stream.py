"""Server-sent events: a message when the log has grown, and none to those who must stay blind."""

from __future__ import annotations

import asyncio
import http.client
from collections.abc import Callable
from pathlib import Path

from extras import needed
from serving.served import WITHIN, Served
from serving.surfer import Surfer

for module in ("fastapi", "jinja2", "uvicorn"):
    needed(module)


def test_a_message_comes_when_the_log_has_grown_and_says_nothing_else(
    served: Served, trial: str, somebody: Callable[[str], Surfer]
) -> None:
    cookie = "; ".join(f"{name}={value}" for name, value in somebody("auditor").cookies.items())
    line = http.client.HTTPConnection("127.0.0.1", served.port, timeout=WITHIN)
    line.request("GET", f"/ui/trials/{trial}/events", headers={"Cookie": cookie})
    answer = line.getresponse()
    began = [answer.readline(), answer.readline()]

    lines, sent = [b""], 0
    while lines[-1] != b"event: moved\n":  # the first look may come after the first unit: then the second one tells
        served.post(f"/trials/{trial}/units", {"unit": f"u{sent}", "context": {"x": 1.0}})
        sent += 1
        while lines[-1] not in (b"event: moved\n", b": nothing new\n"):
            lines.append(answer.readline())
        lines = lines[-1:] if lines[-1] == b"event: moved\n" else [b""]
    lines += [answer.readline(), answer.readline()]
    line.close()

    assert answer.getheader("content-type", "").startswith("text/event-stream")
    assert began == [b"retry: 2000\n", b"\n"]
    assert lines == [b"event: moved\n", b"data:\n", b"\n"]


def test_a_site_is_not_told_what_others_do(trial: str, somebody: Callable[[str], Surfer]) -> None:
    assert somebody("site").send("GET", f"/ui/trials/{trial}/events").status == 403


def test_a_revoked_key_is_not_told_that_the_log_grows(served: Served, trial: str) -> None:
    new = served.post("/keys", {"role": "auditor", "label": "leaver"}).json
    surfer = Surfer(served)
    surfer.log_in(new["key"])
    cookie = "; ".join(f"{name}={value}" for name, value in surfer.cookies.items())
    line = http.client.HTTPConnection("127.0.0.1", served.port, timeout=WITHIN)
    line.request("GET", f"/ui/trials/{trial}/events", headers={"Cookie": cookie})
    answer = line.getresponse()
    began = [answer.readline(), answer.readline()]

    served.post(f"/keys/{new['id']}/revocation", {})
    lines: list[bytes] = []
    while b"" not in lines and len(lines) < 12:
        served.post(f"/trials/{trial}/units", {"unit": f"u{len(lines)}", "context": {"x": 1.0}})
        lines.append(answer.readline())
    line.close()

    assert began == [b"retry: 2000\n", b"\n"]
    assert lines[-1] == b""  # it has ended; a look that was under way may have told once more
    assert lines.count(b"event: moved\n") <= 1


def test_while_the_database_is_away_nothing_is_new() -> None:
    from dtrbandit.service.service import Service
    from dtrbandit.web.looks import Looks
    from dtrbandit.web.stream import version_of

    starting = Looks(Service("memory://"))

    assert asyncio.run(version_of(starting, "pilot", 7)) == 7
    assert asyncio.run(version_of(starting, "pilot", None)) is None


def test_a_stop_ends_what_those_who_look_on_wait_for(tmp_path: Path) -> None:
    own = Served(tmp_path, behind_proxy=False)
    own.create("pilot")
    surfer = Surfer(own)
    surfer.log_in(own.key)
    cookie = "; ".join(f"{name}={value}" for name, value in surfer.cookies.items())
    line = http.client.HTTPConnection("127.0.0.1", own.port, timeout=WITHIN)
    line.request("GET", "/ui/trials/pilot/events", headers={"Cookie": cookie})
    answer = line.getresponse()
    answer.readline()

    code = own.stop()

    assert code == 0
    assert answer.read().strip() == b""  # it ended in order, and was not cut off
    line.close()
