"""A unit belongs to the site that enrolled it, and no decision depends on it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import dtrbandit as dtr
from dtrbandit.policies.registry import examples
from dtrbandit.record import Enrolled
from dtrbandit.record.values import LONGEST_SITE as LONGEST
from dtrbandit.record.values import accept_site
from small_session import DESIGN, FAIR, Says

POLICIES = examples()
SITES = ("north", "south", None)


def play(policy: Any, *, sites: bool) -> dtr.Session:
    session = dtr.Session(DESIGN, policy, seed=3)
    for t in range(30):
        session.enroll(f"u{t}", {"start1": t % 7 / 7}, site=SITES[t % 3] if sites else None)
        if session.respond(f"u{t}", {"start2": -t / 9, "end1": 9.0 if t % 4 else 2.0}) or t % 5:
            session.complete(f"u{t}", float(t * t % 11))
    return session


@pytest.mark.parametrize("policy", POLICIES, ids=repr)
def test_decisions_are_the_same_with_and_without_sites(policy: Any) -> None:
    plain, at_sites = play(policy, sites=False), play(policy, sites=True)

    without = [event._replace(site=None) if isinstance(event, Enrolled) else event for event in at_sites.log]

    assert without == list(plain.log)
    assert [event.site for event in at_sites.log if isinstance(event, Enrolled)] == list(SITES) * 10
    dtr.verify(at_sites.log)


def test_a_policy_of_ones_own_is_not_told_the_site() -> None:
    class Remembers(Says):
        def update(self, state: Any, history: Any, event: Any) -> Any:  # noqa: ARG002  # remembers what it was told
            told.append(event)
            return state

    told: list[Any] = []
    session = dtr.Session(DESIGN, Remembers(FAIR))

    session.enroll("u1", {"start1": 1.0}, site="north")

    assert told[0] == Enrolled("u1", 1, {"start1": 1.0})
    assert session.log[1] == Enrolled("u1", 1, {"start1": 1.0}, site="north")


def test_a_unit_is_enrolled_again_at_its_own_site_alone() -> None:
    session = dtr.Session(DESIGN, POLICIES[0])
    first = session.enroll("u1", {"start1": 1.0}, site="north")
    session.enroll("u2", {"start1": 1.0})

    assert session.enroll("u1", {"start1": 1.0}, site="north") == first
    for site, said in (("south", "another site than 'south'"), (None, "at a site")):
        with pytest.raises(dtr.ProtocolError, match=said) as refused:
            session.enroll("u1", {"start1": 5.0}, site=site)
        assert "1.0" not in str(refused.value)  # what is on record is not for another site
        assert "north" not in str(refused.value)
    with pytest.raises(dtr.ProtocolError, match="another site than 'north'"):
        session.enroll("u2", {"start1": 1.0}, site="north")
    assert session.version == 5


def test_another_site_does_not_hear_why_a_unit_is_void() -> None:
    session = dtr.Session(DESIGN, POLICIES[0])
    session.enroll("u1", {"start1": 1.0}, site="north")
    session.void("u1", reason="no consent")

    with pytest.raises(dtr.ProtocolError, match="another site") as refused:
        session.enroll("u1", {"start1": 1.0}, site="south")

    assert "consent" not in str(refused.value)


def test_whoever_tries_ids_hears_of_one_that_is_taken_only_where_a_free_one_would_be_enrolled() -> None:
    def tries(session: dtr.Session, unit: str, **how: Any) -> str:
        with pytest.raises(dtr.ProtocolError) as refused:
            session.enroll(unit, {"start1": 1.0}, site="south", **how)
        return refused.value.blind.replace(unit, "UNIT")

    session = dtr.Session(DESIGN, POLICIES[0])
    session.enroll("taken", {"start1": 1.0}, site="north")
    nothing_left: dict[str, Any] = {"exclude": {"first": ["ssri", "other"]}, "reason": "allergy"}

    assert tries(session, "taken", **nothing_left) == tries(session, "free", **nothing_left)
    session.hold(reason="no staff", site="south")
    assert tries(session, "taken") == tries(session, "free")
    session.end(reason="complete")
    assert tries(session, "taken") == tries(session, "free")
    assert session.version == 5


@pytest.mark.parametrize("site", ["", " north", "no\nrth", "x" * (LONGEST + 1), 7, ["north"], True])
def test_the_name_of_a_site_can_be_read(site: Any) -> None:
    session = dtr.Session(DESIGN, POLICIES[0])

    with pytest.raises(dtr.ObservationError, match=f"site must be a printable text of 1 to {LONGEST}"):
        session.enroll("u1", {"start1": 1.0}, site=site)

    assert session.version == 1
    assert accept_site("x" * LONGEST) == "x" * LONGEST


def test_the_file_resume_verify_and_follow_know_it(tmp_path: Path) -> None:
    session = play(POLICIES[0], sites=True)
    session.enroll("waits", {"start1": 0.5}, site="east")
    dtr.write_log(tmp_path / "log", session.log)
    follower = dtr.Session.resume(session.log[:1])

    resumed = dtr.Session.resume(dtr.read_log(tmp_path / "log"))
    follower.follow(session.since(1))

    for other in (resumed, follower):
        assert list(other.log) == list(session.log)
        assert [record.site for record in other.histories] == [*SITES * 10, "east"]
        assert other.enroll("waits", {"start1": 0.5}, site="east") == session.log[-1].decision  # type: ignore[union-attr]
