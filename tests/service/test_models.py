"""What bodies may hold that stand for no command, and which may be left out."""

from __future__ import annotations

import pytest

from extras import needed

needed("pydantic")
needed("starlette")

from dtrbandit.service.call import body_as  # noqa: E402
from dtrbandit.service.endpoints import ENDPOINTS  # noqa: E402
from dtrbandit.service.models import KeyWanted, Lock, may_be_left_out  # noqa: E402
from dtrbandit.service.problems import Refused  # noqa: E402


def test_a_key_for_an_eternity_is_refused() -> None:
    with pytest.raises(Refused, match="days") as refused:
        body_as(KeyWanted, b'{"role":"site","label":"north","days":1e9}')

    assert refused.value.status == 422


def test_a_lock_needs_its_reason_and_refuses_the_papers_schedule_unless_told() -> None:
    with pytest.raises(Refused, match="reason is missing"):
        body_as(Lock, b"{}")

    assert not body_as(Lock, b'{"reason":"approved"}').paper_schedule


def test_only_a_rotation_may_come_without_its_body() -> None:
    assert [each.name for each in ENDPOINTS if each.body and may_be_left_out(each.body)] == ["rotate_key"]
