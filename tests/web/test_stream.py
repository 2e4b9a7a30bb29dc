"""Server-sent events: a message when the log has grown, and none to those who must stay blind."""

from __future__ import annotations

import asyncio
import http.client
import json
from collections.abc import Callable
from pathlib import Path

from dtrbandit.record.chain import Head
from dtrbandit.trial import TrialState
from extras import needed
from serving.served import WITHIN, Served
from serving.surfer import Surfer

for module in ("starlette", "jinja2", "uvicorn"):
    needed(module)


def test_a_message_comes_when_the_log_has_grown_and_says_nothing_else(
    served: Served, trial: str, somebody: Callable[[str], Surfer]
) -> None:
    cookie = "; ".join(f"{name}={value}" for name, value in somebody("auditor").cookies.items())
    line = http.client.HTTPConnection("127.0.0.1", served.port, timeout=WITHIN)
    line.request("GET", f"/ui/trials/{trial}/events", headers={"Cookie": cookie})
    answer = line.getresponse()
    began = [answer.readline() for _ in range(5)]

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
    assert began[:3] == [b"retry: 2000\n", b"\n", b"event: phase\n"]
    assert lines == [b"event: moved\n", b"data:\n", b"\n"]


def test_a_site_is_told_that_the_trial_is_locked_and_never_that_the_log_grows(
    served: Served, trial: str, somebody: Callable[[str], Surfer]
) -> None:
    cookie = "; ".join(f"{name}={value}" for name, value in somebody("site").cookies.items())
    line = http.client.HTTPConnection("127.0.0.1", served.port, timeout=WITHIN)
    line.request("GET", f"/ui/trials/{trial}/events", headers={"Cookie": cookie})
    answer = line.getresponse()
    first = [answer.readline() for _ in range(5)]
    served.post(f"/trials/{trial}/units", {"unit": "u1", "context": {"x": 1.0}})

    served.post(f"/trials/{trial}/lock", {"reason": "approved"})
    second = [answer.readline() for _ in range(3)]
    line.close()

    told = [json.loads(each.removeprefix(b"data: ")) for each in (first[3], second[1])]
    assert [(each["log"], each["phase"], each["word"]) for each in told] == [
        ("rehearsal", "rehearsal", "REHEARSAL"),
        ("live", "live", "LIVE"),
    ]
    assert second[0] == b"event: phase\n"


def test_news_are_the_phase_at_first_and_when_it_changes_and_growth_for_those_who_may_know() -> None:
    from dtrbandit.web.stream import MOVED, messages

    begun = TrialState("rehearsal", "rehearsal", Head(1, "a"))
    grown, locked = begun._replace(head=Head(3, "b")), TrialState("live", "live", Head(1, "c"))
    steps = [(None, begun), (begun, begun), (begun, grown), (begun, locked), (begun, None), (None, None)]

    reader = [[*messages(known, state, simulated=False, grows=True)] for known, state in steps]
    site = [[*messages(known, state, simulated=False, grows=False)] for known, state in steps]

    assert [len(each) for each in reader] == [1, 0, 1, 2, 0, 0]
    assert reader[2] == [MOVED] == reader[3][1:]
    assert [len(each) for each in site] == [1, 0, 0, 1, 0, 0]
    assert b'"word": "LIVE"' in site[3][0]
    assert b'"word": "REHEARSAL"' in next(messages(begun, locked, simulated=True, grows=False))


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
    from dtrbandit.web.cache import TrialCache
    from dtrbandit.web.stream import state_of

    starting, known = TrialCache(Service("memory://")), TrialState("live", "live", Head(7, "a"))

    assert asyncio.run(state_of(starting, "pilot", known)) == known
    assert asyncio.run(state_of(starting, "pilot", None)) is None


def test_a_stop_ends_what_those_who_look_on_wait_for(tmp_path: Path) -> None:
    own = Served(tmp_path, behind_proxy=False)
    own.create("pilot")
    surfer = Surfer(own)
    surfer.log_in(own.key)
    cookie = "; ".join(f"{name}={value}" for name, value in surfer.cookies.items())
    line = http.client.HTTPConnection("127.0.0.1", own.port, timeout=WITHIN)
    line.request("GET", "/ui/trials/pilot/events", headers={"Cookie": cookie})
    answer = line.getresponse()
    first = answer.readline()

    code = own.stop()

    assert code == 0
    assert (first + answer.read()).endswith(b"\n\n")  # it ended in order, and was not cut off
    line.close()
