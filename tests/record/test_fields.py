"""The fields of events in JSON: all of them, by their types."""

from __future__ import annotations

from typing import get_args

import pytest

from dtrbandit.record.events import SINCE, Assigned, Decision, Event
from dtrbandit.record.fields import BY_TYPE, fields_of

KINDS = [Decision if kind is Assigned else kind for kind in get_args(Event)]


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_every_kind_of_event_has_its_fields_in_order(kind: type) -> None:
    needed, optional = fields_of(kind)

    assert (*needed, *optional) == kind._fields  # type: ignore[attr-defined]  # a named tuple
    assert not any(kind._field_defaults.values())  # type: ignore[attr-defined]  # what may be left out says nothing


def test_no_type_is_described_in_vain() -> None:
    used = {id(field) for kind in KINDS for part in fields_of(kind) for field in part.values()}

    assert used == {id(field) for field in BY_TYPE.values()}


def test_formats_are_those_of_events_that_there_are() -> None:
    assert {name.split(".")[0] for name in SINCE} <= {kind.__name__ for kind in get_args(Event)}
