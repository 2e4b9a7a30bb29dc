"""The keys of a service by the client: what was lost on the way is asked for again, and gives the same key."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import dtrbandit as dtr
from dtrbandit.client import Client
from dtrbandit.client_keys import OVERLAP, segment
from dtrbandit.service.key_store import OVERLAP as OF_THE_SERVICE
from serving.faults import Lossy
from serving.served import Served


@pytest.fixture
def client(served: Served) -> Iterator[Client]:
    with Client(f"http://127.0.0.1:{served.port}", served.key) as opened:
        yield opened


def test_keys_are_created_rotated_revoked_listed_and_on_record(client: Client) -> None:
    old = client.keys.create("auditor", "inspector", days=3)
    new = client.keys.rotate(old["id"], overlap=2)
    ended = client.keys.revoke(old["id"])

    with Client(client.url, new["key"]) as auditor:
        last = [record["event"]["event"] for record in auditor.keys.events()][-4:]
        with pytest.raises(dtr.NotAllowed, match="auditor may not"):
            auditor.keys.list()

    assert last == ["KeyCreated", "KeyCreated", "KeyRotated", "KeyRevoked"]
    assert {row["id"]: row["revoked"] for row in client.keys.list()}[old["id"]] == ended["revoked"]
    with pytest.raises(dtr.ObservationError, match="less than or equal to 720"):
        client.keys.rotate(new["id"], overlap=721)


def test_answers_that_are_lost_leave_no_key_that_nobody_holds(client: Client, served: Served) -> None:
    proxy = Lossy(served.port, lost=0.5)
    proxy.start()
    before = len(client.keys.list())
    with Client(f"http://127.0.0.1:{proxy.port}", served.key) as lossy:
        made = [lossy.keys.create("auditor", f"inspector {number}") for number in range(6)]
        rotated = [lossy.keys.rotate(each["id"]) for each in made]
    proxy.close()

    assert proxy.dropped >= 3
    assert len(client.keys.list()) == before + 12
    for each in (*made, *rotated):
        with Client(client.url, each["key"]) as holder:
            holder.trials()  # or the key would be refused


def test_the_overlap_is_that_of_the_service() -> None:
    assert OVERLAP == OF_THE_SERVICE


@pytest.mark.parametrize("name", ["", "..", "\ud800"])
def test_what_an_address_cannot_hold_is_refused(name: str) -> None:
    with pytest.raises(dtr.ObservationError, match="found"):
        segment(name)
