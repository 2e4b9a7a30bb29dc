"""Faults over real HTTP at full size: `make soak` runs them and prints what was found.

Small sizes of the same run in `make test` (tests/service, tests/test_client.py), and the parts are taken from there.
Name some of kills, repeats, lost, floods and fuzz to run these alone.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from hypothesis import HealthCheck, Phase, given, settings
from table import Line, report

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from dtrbandit.client import Client
from dtrbandit.service.keys import Role
from serving.faults import Lossy, Nurse, assert_on_record, connected, head
from serving.served import WITHIN, Served

CLIENTS, COPIES = 8, 20


class Size(NamedTuple):
    """How much is tried."""

    kills: int
    keys: int
    lost: int  # units whose answers may be lost
    examples: int  # of each endpoint and role
    folder: str = "."


WHOLE = Size(200, 1000, 2000, 200)
QUICK = Size(3, 50, 50, 5)


def served(size: Size) -> Served:
    """Return a service on a new database."""
    return Served(Path(tempfile.mkdtemp(dir=size.folder)))


def kills(size: Size) -> Iterator[Line]:
    """F1: kill the server under eight clients."""
    service, rng = served(size), random.Random(1)
    trial = service.create("killed")
    nurses = [Nurse(service, trial, number) for number in range(CLIENTS)]
    for nurse in nurses:
        nurse.start()
    for _ in range(size.kills):
        seen, ends = sum(len(nurse.told) for nurse in nurses), time.monotonic() + WITHIN
        until = seen + rng.randint(1, 200)
        while sum(len(nurse.told) for nurse in nurses) < until and time.monotonic() < ends:
            time.sleep(0.002)
        service.kill()
        service.start()
    for nurse in nurses:
        nurse.over = True
    for nurse in nurses:
        nurse.join(WITHIN)
    service.stop()
    told = {what: body for nurse in nurses for what, body in nurse.told.items()}
    assert_on_record(service, "killed", told)
    yield Line(
        f"F1: kill -9, {size.kills} times", f"{len(told):,} acknowledged, none lost or changed; replay identical"
    )


def repeats(size: Size) -> Iterator[Line]:
    """F3: many posts of the same request at once."""
    service = served(size)
    trial = service.create("repeated")

    def post(number: int) -> tuple[int, int, bytes]:
        unit = f"u{number // COPIES}"
        body = {"unit": unit, "context": {"x": 0.5}}
        answer = service.post(f"{trial}/units", body, headers={"Idempotency-Key": unit})
        return number // COPIES, answer.status, answer.body

    with ThreadPoolExecutor(COPIES) as pool:
        answers = set(pool.map(post, range(size.keys * COPIES)))
    assert len(answers) == size.keys, "the answers to one key differ"
    assert {status for _, status, _ in answers} == {200}
    assert service.records(trial) == 1 + 2 * size.keys
    service.stop()
    yield Line(f"F3: {size.keys:,} keys × {COPIES} parallel posts", "one event each, equal bodies")


def lost(size: Size) -> Iterator[Line]:
    """F6: a tenth of all answers is lost."""
    service = served(size)
    trial = service.create("lossy")
    proxy = Lossy(service.port, lost=0.1)
    proxy.start()
    with Client(f"http://127.0.0.1:{proxy.port}", service.key) as client:
        remote = client.trial("lossy")
        arms = {f"u{number}": remote.enroll(f"u{number}", {"x": 0.5}).arm for number in range(size.lost)}
    proxy.close()
    assert service.records(trial) == 1 + 2 * size.lost
    assert all(service.get(f"{trial}/units/{unit}").json["arms"]["first"] == arm for unit, arm in arms.items())
    service.stop()
    yield Line(f"F6: {proxy.dropped:,} answers lost", f"{size.lost:,} units enrolled, one event each")


def floods(size: Size) -> Iterator[Line]:
    """F9: bodies and headers that are endless, a body that is slow, and the memory of the service."""
    service = served(size)
    trial = service.create("flooded")
    before = memory(service)
    body = head(service, trial, "Transfer-Encoding: chunked"), b"4000\r\n" + b" " * 16384 + b"\r\n"
    headers = b"GET /live HTTP/1.1\r\n", b"X: " + b"x" * 16384 + b"\r\n"
    for begin, more in [body, headers] * 20:
        with connected(service) as line:
            line.sendall(begin)
            try:
                for _ in range(5000):
                    line.sendall(more)
            except OSError:
                continue
    began = time.monotonic()
    with connected(service) as line:
        line.sendall(head(service, trial, "Content-Length: 100") + b"{")
        answer = line.recv(4096)
    assert b" 408 " in answer, answer
    slow = time.monotonic() - began
    assert service.records(trial) == 1
    grown = memory(service) - before
    service.stop()
    yield Line(
        "F9: 20 endless bodies and 20 endless heads, then a slow body",
        f"cut off; 408 after {slow:.0f} s; memory {grown:+.1f} MB",
    )


def memory(service: Served) -> float:
    """Return the megabytes that a service holds."""
    return int(Path(f"/proc/{service.process.pid}/status").read_text().split("VmRSS:")[1].split()[0]) / 1e3


def fuzz(size: Size) -> Iterator[Line]:
    """F19: whatever the OpenAPI document allows or forbids, in every role."""
    import schemathesis

    service = served(size)
    service.create("fuzzed")
    schema = schemathesis.openapi.from_dict(service.get("/openapi.json").json)
    few = settings(
        max_examples=size.examples, database=None, deadline=None, phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )  # fmt: skip
    statuses: dict[int, int] = {}
    for role in Role:
        place = {"trial": "fuzzed", "site": "north"} if role is Role.SITE else {}
        headers = {"Authorization": f"Bearer {service.new_key(role, **place)}"}

        def check(case: Any, headers: dict[str, str] = headers) -> None:
            case.path_parameters = {**(case.path_parameters or {}), "trial": "fuzzed"}
            answer = case.call(base_url=f"http://127.0.0.1:{service.port}", headers=headers)
            statuses[answer.status_code] = statuses.get(answer.status_code, 0) + 1
            assert answer.status_code < 500, (case, answer.content)

        for found in schema.get_all_operations():
            operation = found.ok()
            if operation.definition.raw.get("operationId") not in ("create_key", "revoke_key", "rotate_key"):
                drawn: Any = given(operation.as_strategy())
                few(drawn(lambda case: check(case)))()
    service.stop()
    yield Line("F19: schemathesis, every endpoint and role", f"{sum(statuses.values()):,} requests, no 5xx: {statuses}")


PARTS = {"kills": kills, "repeats": repeats, "lost": lost, "floods": floods, "fuzz": fuzz}


def timed(lines: Iterator[Line]) -> Iterator[Line]:
    """Give lines with the time that each took."""
    began = time.monotonic()
    for line in lines:
        yield replace(line, measured=f"{line.measured} ({time.monotonic() - began:.0f} s)")
        began = time.monotonic()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="small sizes, to try it out")
    parser.add_argument("parts", nargs="*", choices=[*PARTS, []], help="all by default")
    options = parser.parse_args()
    size, chosen = QUICK if options.quick else WHOLE, options.parts or list(PARTS)
    with tempfile.TemporaryDirectory(dir=".", prefix="soak-") as folder:
        sized = size._replace(folder=folder)
        lines = (line for part in chosen for line in timed(PARTS[part](sized)))
        report("Faults over HTTP", lines, total=len(chosen))


if __name__ == "__main__":
    main()
