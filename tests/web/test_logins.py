"""Logins: a signed cookie for a key."""

from __future__ import annotations

import pytest

from dtrbandit.web import logins
from dtrbandit.web.logins import HOURS, Logins, form_token, new_secret

SECRET, KEY_ID = b"s" * 32, "0123456789ab"


class Hand:
    """The hand of a clock."""

    now = 1000.0

    def __call__(self) -> float:
        return self.now


def test_a_cookie_leads_to_the_key_until_the_login_ends() -> None:
    known = Logins(SECRET)

    one, other = known.begin(KEY_ID), known.begin(KEY_ID)
    known.end(one)

    assert one != other
    assert known.key_id(one) is None
    assert known.key_id(other) == KEY_ID


def test_every_worker_of_a_service_knows_every_login_and_no_other_service_does() -> None:
    login = Logins(SECRET).begin(KEY_ID)

    assert Logins(SECRET).key_id(login) == KEY_ID
    assert Logins(new_secret()).key_id(login) is None


def forged(login: str) -> list[str]:
    content, _, signature = login.rpartition(".")
    key_id, ends, drawn = content.split(".")
    longer = f"{key_id}.{int(ends) + 1}.{drawn}.{signature}"
    another = f"{'f' * 12}.{ends}.{drawn}.{signature}"
    return [longer, another, content, f"{content}.", f"{login}0", signature, login.upper(), f".{signature}"]


def test_a_changed_cookie_leads_nowhere() -> None:
    known = Logins(SECRET)
    login = known.begin(KEY_ID)

    assert [known.key_id(each) for each in forged(login)] == [None] * 8
    assert known.key_id(login) == KEY_ID


@pytest.mark.parametrize("wrong", ["", ".", "...", "no such login", "\ud800", "é.é"])
def test_anything_else_leads_nowhere(wrong: str) -> None:
    known = Logins(SECRET)

    known.end(wrong)

    assert known.key_id(wrong) is None


def test_a_login_ends_by_itself() -> None:
    hand = Hand()
    known = Logins(SECRET, clock=hand)
    login = known.begin(KEY_ID)

    hand.now += HOURS * 3600 - 1
    before = known.key_id(login)
    hand.now += 1

    assert (before, known.key_id(login)) == (KEY_ID, None)


def test_logouts_are_remembered_as_long_as_they_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(logins, "MOST_ENDED", 2)
    hand = Hand()
    known = Logins(SECRET, clock=hand)
    ended = [known.begin(KEY_ID) for _ in range(3)]

    for each in ended:
        known.end(each)

    assert [known.key_id(each) for each in ended] == [KEY_ID, None, None]  # the oldest made room
    hand.now += HOURS * 3600
    known.end(known.begin(KEY_ID))
    assert len(known._ended) == 1


def test_each_login_has_a_form_token_of_its_own() -> None:
    assert form_token("one") != form_token("other")
    assert form_token("one") == form_token("one")
