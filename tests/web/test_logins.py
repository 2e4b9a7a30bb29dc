"""Logins: a random id for a key, of which the memory has neither."""

from __future__ import annotations

import pytest

from dtrbandit.web import logins
from dtrbandit.web.logins import HOURS, Logins, form_token

KEY = "dtrb_0123456789ab_" + "x" * 43


class Hand:
    """The hand of a clock."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


def test_an_id_leads_to_the_key_until_the_login_ends() -> None:
    known = Logins()

    one, other = known.begin(KEY), known.begin(KEY)
    known.end(one)

    assert one != other
    assert known.key(one) is None
    assert known.key(other) == KEY


@pytest.mark.parametrize("wrong", [None, "", "no such id", "\ud800"])
def test_another_id_leads_nowhere(wrong: str | None) -> None:
    known = Logins()
    known.begin(KEY)

    assert known.key(wrong) is None
    known.end(wrong)


def test_a_login_ends_by_itself() -> None:
    hand = Hand()
    known = Logins(clock=hand)
    login = known.begin(KEY)

    hand.now = HOURS * 3600 - 1
    before = known.key(login)
    hand.now = HOURS * 3600

    assert (before, known.key(login)) == (KEY, None)


def test_the_memory_has_neither_the_id_nor_the_key() -> None:
    known = Logins()
    login = known.begin(KEY)

    kept = repr(vars(known))

    assert login not in kept
    assert KEY not in kept
    assert KEY[5:17] not in kept


def test_the_oldest_logins_make_room(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(logins, "MOST", 3)
    known = Logins()

    ids = [known.begin(KEY) for _ in range(4)]

    assert [known.key(each) is not None for each in ids] == [False, True, True, True]


def test_each_login_has_a_form_token_of_its_own() -> None:
    assert form_token("one") != form_token("other")
    assert form_token("one") == form_token("one")
