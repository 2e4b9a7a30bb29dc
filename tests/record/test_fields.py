"""The fields of events in JSON: all of them, once."""

from __future__ import annotations

from typing import get_args

from dtrbandit.record import events
from dtrbandit.record.events import Assigned, Decision, Event
from dtrbandit.record.fields import FIELDS, OPTIONAL, SINCE


def test_every_kind_of_event_has_its_fields_in_order() -> None:
    kinds = get_args(Event)

    assert set(FIELDS) == {kind.__name__ for kind in kinds}
    for kind in kinds:
        name = kind.__name__
        assert (*FIELDS[name], *OPTIONAL.get(name, ())) == (Decision if kind is Assigned else kind)._fields


def test_what_may_be_left_out_has_a_default_that_says_nothing() -> None:
    for name, fields in OPTIONAL.items():
        kind = Decision if name == "Assigned" else getattr(events, name)
        assert tuple(kind._field_defaults) == tuple(fields)
        assert not any(kind._field_defaults.values())


def test_every_optional_field_and_no_field_that_is_needed_came_later_than_its_event() -> None:
    for name, fields in FIELDS.items():
        assert [SINCE.get(f"{name}.{field}") for field in fields] == [None] * len(fields)
        assert all(SINCE[f"{name}.{field}"] >= SINCE.get(name, 1) for field in OPTIONAL.get(name, ()))
