"""The client: the verbs over HTTP, the same errors, and retries that cannot act twice (F6)."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

import dtrbandit as dtr
from dtrbandit.client import Arm, Client, RemoteTrial
from dtrbandit.errors import NotFound, Unavailable
from extras import needed
from serving.faults import Lossy
from serving.served import WITHIN, Served

DESIGN = dtr.Design(
    [dtr.Stage("first", ("a", "b"), "1 + x"), dtr.Stage("second", ("a", "b"), "1 + z", enter_if="z > 0")]
)
POLICY = dtr.DTRBandit(q=1, delta=0.5, schedule="permuted")


@pytest.fixture(scope="module")
def own(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    needed("uvicorn")
    service = Served(tmp_path_factory.mktemp("client"))
    yield service
    service.stop()


@pytest.fixture
def trial(own: Served, request: pytest.FixtureRequest) -> Iterator[RemoteTrial]:
    with Client(f"http://127.0.0.1:{own.port}", own.key) as client:
        yield client.create(f"trial-{abs(hash(request.node.nodeid))}", DESIGN, POLICY)


def test_the_verbs_are_those_of_a_session(trial: RemoteTrial) -> None:
    first = trial.enroll("u1", {"x": 0.5})
    second = trial.respond("u1", {"z": 1.0})
    trial.complete("u1", 2.5)
    trial.enroll("u2", {"x": 0.1})
    other = {"a": "b", "b": "a"}[first.arm]

    assert first == Arm("u1", "first", first.arm)
    assert second is not None
    assert trial.respond("u2", {"z": -1.0}) is None
    assert trial.override("u1", other, stage="first", reason="allergy") == Arm("u1", "first", other)
    trial.correct("u1", outcome=2.0, reason="typing error")
    trial.withdraw("u2", reason="moved away")
    assert trial.enroll("u3", {"x": 0.5}, exclude={"first": ["a"]}, reason="allergy").arm == "b"
    assert trial.respond("u3", {"z": 1.0}, exclude={"second": ["b"]}, reason="interaction") is not None
    trial.close_arm("second", "a", reason="harm")
    trial.hold(reason="review")
    trial.release(reason="reviewed")
    trial.void("u2", reason="not eligible")
    assert trial.head()[0] == len(list(trial.records())) == 20
    assert trial.unit("u1")["arms"]["first"] == other
    assert [decision.stage for decision in trial.explain("u1")] == ["first", "second"]
    assert "forced" in str(trial.explain("u1")[0])
    assert [unit["unit"] for unit in trial.units()] == ["u3"]
    assert trial.summary()["units"] == 3


def test_verbs_that_are_meant_for_one_log_are_refused_by_the_other(trial: RemoteTrial) -> None:
    rehearsal, live = (trial.client.trial(trial.name, log=log) for log in ("rehearsal", "live"))
    rehearsal.enroll("u1", {"x": 0.5})
    with pytest.raises(dtr.OtherLog, match="still in rehearsal"):
        live.enroll("u2", {"x": 0.5})

    with pytest.raises(dtr.OtherLog, match="a lock ends the rehearsal"):
        live.lock(reason="approved")
    rehearsal.lock(reason="approved")
    live.enroll("u1", {"x": 0.5})
    with pytest.raises(dtr.OtherLog, match="was locked at"):
        rehearsal.enroll("u2", {"x": 0.5})
    with pytest.raises(dtr.ObservationError, match="found 'production'"):
        trial.client.trial(trial.name, log="production")

    assert trial.head()[0] == 3


def test_a_whole_life(trial: RemoteTrial) -> None:
    assert trial.phase == "rehearsal"
    trial.lock(reason="approved")
    assert trial.phase == "live"
    trial.enroll("u/1 ü", {"x": 0.5})
    assert [unit["unit"] for unit in trial.units(awaiting="second", overdue=False)] == ["u/1 ü"]
    trial.end(reason="complete")
    assert trial.phase == "ended"
    assert trial.name in trial.client.trials()


def test_sites_have_their_own_units_and_every_look_behind_an_arm_is_on_record(trial: RemoteTrial, own: Served) -> None:
    keys = [own.new_key("site", trial=trial.name, site=site) for site in ("north", "south")]
    with Client(trial.client.url, keys[0]) as north, Client(trial.client.url, keys[1]) as south:
        north.trial(trial.name).enroll("u1", {"x": 0.5})
        assert south.trial(trial.name).units() == []
        with pytest.raises(dtr.NotAllowed, match="not one of site 'south'"):
            south.trial(trial.name).complete("u1", 1.0)
        story = north.trial(trial.name).unblind("u1", reason="an emergency")

    assert story["decisions"][0]["round"] == 1
    assert [record["event"]["event"] for record in trial.records()][-1] == "Unblinded"
    trial.hold(reason="no staff", site="north")
    with pytest.raises(dtr.ProtocolError, match="held at site 'north'"):
        trial.enroll("u2", {"x": 0.5}, site="north")
    trial.release(reason="staff is back", site="north")
    assert trial.enroll("u2", {"x": 0.5}, site="north").stage == "first"


def test_errors_come_back_as_the_same_classes(trial: RemoteTrial, own: Served) -> None:
    trial.enroll("u1", {"x": 0.5})

    with pytest.raises(dtr.ProtocolError, match="enrolled already"):
        trial.enroll("u1", {"x": 0.6})
    with pytest.raises(dtr.ObservationError, match="'y'"):
        trial.enroll("u2", {"y": 0.6})
    with pytest.raises(NotFound, match="unknown unit"):
        trial.complete("u2", 1.0)
    with pytest.raises(NotFound, match="no trial"):
        trial.client.trial("nowhere").enroll("u1", {"x": 0.5})
    with Client(trial.client.url, "nonsense") as stranger, pytest.raises(dtr.NotAllowed, match="unknown, expired"):
        stranger.trials()
    key = own.new_key("site", trial=trial.name, site="north")
    with Client(trial.client.url, key) as site, pytest.raises(dtr.NotAllowed, match="site may not"):
        site.trial(trial.name).summary()
    with pytest.raises(dtr.DesignError, match="features"):
        trial.client.call("POST", "/trials", {"name": "x", "policy": {"name": "Greedy"}, "design": {
            "stage": [{"name": "s", "arms": ["a", "b"], "features": "f(x)"}]}})  # fmt: skip


@pytest.mark.parametrize("unit", ["", ".", "..", "\ud800"])
def test_what_an_address_cannot_hold_is_said_before_it_is_sent(unit: str) -> None:
    with pytest.raises(dtr.ObservationError, match="found"):
        Client("http://127.0.0.1:9", "key", patience=0.0).trial("t").complete(unit, 1.0)


@pytest.mark.parametrize("url", ["", "127.0.0.1:8000", "ftp://x", "http://", "http://x/?y=1"])
def test_an_address_must_be_one(url: str) -> None:
    with pytest.raises(dtr.ObservationError, match="address"):
        Client(url, "key")


def test_nobody_at_the_address_is_said_after_some_patience() -> None:
    with socket.socket() as place:
        place.bind(("127.0.0.1", 0))  # and never listens
        client = Client(f"http://127.0.0.1:{place.getsockname()[1]}", "key", patience=0.2)

        with pytest.raises(Unavailable, match="no answer"):
            client.trials()


def test_the_key_is_never_shown() -> None:
    assert "secret" not in repr(Client("http://127.0.0.1:9", "secret"))


def test_lost_answers_are_asked_for_again_and_nothing_is_recorded_twice(trial: RemoteTrial, own: Served) -> None:
    proxy = Lossy(own.port, lost=0.3)
    proxy.start()
    with Client(f"http://127.0.0.1:{proxy.port}", own.key) as client:
        lossy = client.trial(trial.name)
        arms = {unit: lossy.enroll(unit, {"x": 0.5}).arm for unit in (f"u{number}" for number in range(30))}
        for unit in arms:
            lossy.respond(unit, {"z": -1.0})
        for _ in range(3):
            lossy.correct("u0", stage="first", context={"x": 0.7}, reason="typing error")

    proxy.close()
    assert proxy.dropped >= 5
    assert trial.head()[0] == 1 + 30 * 3 + 1
    assert {unit: trial.unit(unit)["arms"]["first"] for unit in arms} == arms


def test_a_service_that_comes_back_is_found_again(tmp_path: Path) -> None:
    needed("uvicorn")
    service = Served(tmp_path)
    client = Client(f"http://127.0.0.1:{service.port}", service.key, patience=WITHIN)
    trial = client.create("t", DESIGN, POLICY)
    first = trial.enroll("u1", {"x": 0.5})
    service.kill()
    back = threading.Timer(0.2, service.start)
    back.start()

    assert trial.enroll("u1", {"x": 0.5}) == first

    trial.client.close()
    back.join(WITHIN)
    service.stop()


@pytest.mark.parametrize("key", ["dtrb_…", "dtrb_ 1", "dtrb_\n"])
def test_what_cannot_be_a_key_is_refused_when_it_is_given(key: str) -> None:
    with pytest.raises(dtr.ObservationError, match="a key is dtrb_ and letters"):
        Client("https://trials.example.org", key=key)
