"""Keys: what is kept of them, and who a header is from."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

import dtrbandit as dtr
from dtrbandit.service.keys import (
    ALL,
    READS,
    RUNS,
    TREATS,
    Holder,
    KeyRing,
    Permission,
    Role,
    as_text,
    digest,
    is_valid,
    new_key,
)
from dtrbandit.service.problems import Refused

NOW = datetime(2026, 11, 17, 9, tzinfo=UTC)


def test_a_key_has_256_random_bits_of_which_only_the_hash_is_kept() -> None:
    keys = {new_key(Role.AUDITOR, "inspector", now=NOW).key for _ in range(100)}
    new = new_key(Role.AUDITOR, "inspector", now=NOW)

    assert len(keys) == 100
    assert len(new.key.rsplit("_", 1)[0]) + 1 + 43 == len(new.key) or "_" in new.key[18:]
    assert new.row.sha256 == digest(new.key)
    assert new.key not in repr(new.row)


def test_the_holder_of_a_key_is_known_by_its_label_and_its_site() -> None:
    new = new_key(Role.SITE, "nurse A", now=NOW, trial="pilot", site="north")
    other = new_key(Role.AUDITOR, "inspector", now=NOW)
    ring = KeyRing([new.row, other.row])

    holder = ring.holder(f"Bearer {new.key}", now=NOW)

    assert holder == Holder(new.row.id, Role.SITE, "nurse A", "pilot", "north")
    assert holder.actor == f"nurse A (site north, key {new.row.id})"
    assert ring.holder(f"Bearer {other.key}", now=NOW).actor == f"inspector (auditor, key {other.row.id})"


def test_an_actor_can_be_recorded_however_long_its_label_and_site() -> None:
    row = new_key(Role.SITE, "x" * 100, now=NOW, trial="pilot", site="y" * 60).row

    assert len(Holder(row.id, Role.SITE, row.label, row.trial, row.site).actor) <= 200


@pytest.mark.parametrize(("trial", "site"), [(None, None), ("pilot", None), (None, "north")])
def test_a_key_of_a_site_says_which_trial_and_which_site(trial: str | None, site: str | None) -> None:
    with pytest.raises(dtr.ObservationError, match="needs a trial and a site: it opens the units that this site"):
        new_key(Role.SITE, "nurse A", now=NOW, trial=trial, site=site)


@pytest.mark.parametrize("role", [Role.ADMINISTRATOR, Role.STATISTICIAN, Role.AUDITOR])
def test_nobody_else_has_a_site(role: Role) -> None:
    with pytest.raises(dtr.ObservationError, match=f"role {role.value} is for all sites, found site 'north'"):
        new_key(role, "somebody", now=NOW, trial="pilot", site="north")

    assert new_key(role, "somebody", now=NOW, trial="pilot").row.trial == "pilot"


def test_a_key_of_one_trial_opens_nothing_else() -> None:
    holder = Holder("id", Role.ADMINISTRATOR, "lead", "pilot")

    holder.require(Permission("lock_trial", RUNS), "pilot")
    holder.require(Permission("list_trials", ALL), None)
    for permission, trial in (
        (Permission("lock_trial", RUNS), "other"),
        (Permission("create_trial", RUNS, for_one_trial=False), None),
        (Permission("read_metrics", READS, for_one_trial=False), None),
    ):
        with pytest.raises(Refused, match="opens the trial 'pilot' and nothing else") as refused:
            holder.require(permission, trial)
        assert refused.value.status == 403


def test_a_key_of_a_site_from_before_there_were_sites_opens_nothing() -> None:
    with pytest.raises(Refused, match="does not say which") as refused:
        Holder("id", Role.SITE, "ward 3").require(Permission("enroll_unit", TREATS), "pilot")

    assert refused.value.status == 403


def test_all_refusals_look_alike() -> None:
    new, other = (new_key(Role.AUDITOR, "north", now=NOW) for _ in range(2))
    expired = new_key(Role.AUDITOR, "old", now=NOW - timedelta(days=2), days=1)
    ring = KeyRing([new.row, expired.row, other.row._replace(revoked=as_text(NOW))])
    swapped = new.key[:18] + other.key[18:]

    details = set()
    headers = [None, "", "Bearer", f"Basic {new.key}", f"Bearer {new.key}x", f"Bearer {swapped}", new.key]
    for header in [*headers, f"Bearer {expired.key}", f"Bearer {other.key}", "Bearer ü", "Bearer \udcff"]:
        with pytest.raises(Refused) as refused:
            ring.holder(header, now=NOW)
        details.add((refused.value.status, refused.value.detail))

    assert len(details) == 1
    assert ring.holder(f"bearer {new.key}", now=NOW).label == "north"


def test_a_key_is_valid_until_it_expires_or_is_revoked() -> None:
    row = new_key(Role.AUDITOR, "north", now=NOW, days=1).row

    assert is_valid(row, NOW + timedelta(hours=23))
    assert not is_valid(row, NOW + timedelta(hours=24))
    assert not is_valid(row._replace(revoked=as_text(NOW)), NOW)


@pytest.mark.parametrize("label", ["", " x", "a\nb", "x" * 101])
def test_a_label_can_be_read(label: str) -> None:
    with pytest.raises(dtr.ObservationError, match="label"):
        new_key(Role.AUDITOR, label, now=NOW)


@pytest.mark.parametrize("days", [0, -1, float("nan"), 1e9])
def test_a_key_is_valid_for_some_days(days: float) -> None:
    with pytest.raises(dtr.ObservationError, match="days"):
        new_key(Role.AUDITOR, "north", now=NOW, days=days)


def test_a_ring_may_be_exchanged() -> None:
    first, second = (new_key(Role.AUDITOR, name, now=NOW) for name in ("one", "two"))
    ring = KeyRing([first.row])

    ring.replace([second.row])

    assert ring.rows() == [second.row]
    with pytest.raises(Refused):
        ring.holder(f"Bearer {first.key}", now=NOW)
