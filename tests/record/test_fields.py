"""The fields of events in JSON: all of them, by their types."""

from __future__ import annotations

from typing import Any, get_args, get_type_hints

import pytest

from dtrbandit._version import FORMAT
from dtrbandit.record.codec import decode, encode
from dtrbandit.record.events import (
    SINCE,
    TEACHES,
    Assigned,
    Context,
    Decision,
    Enrolled,
    Event,
    Excluded,
    Fact,
    Opened,
    QValues,
    Spec,
    TrialFact,
    UnitFact,
)
from dtrbandit.record.fields import BY_TYPE, fields_of
from dtrbandit.record.histories import NO_UNIT
from dtrbandit.record.log import PackedLog

KINDS = [Decision if kind is Assigned else kind for kind in get_args(Event)]
FIRST_FORMAT = {"Opened", "Enrolled", "Assigned", "Overridden", "Responded", "Completed", "Withdrawn", "Corrected"}
VALUES: dict[object, Any] = {
    str: "text",
    str | None: "text",
    int: 7,
    float: 0.5,
    float | None: 0.5,
    Spec: {"name": "Greedy"},
    Context: {"x": 0.5},
    Context | None: {"x": 0.5},
    tuple[Context, ...]: ({"x": 0.5}, {"y": 1.5}),
    QValues: {"a": 0.5, "b": None},
    Excluded | None: {"first": ("a", "b")},
    tuple[str, ...]: ("a", "b"),
    tuple[tuple[str, str], ...]: (("a", "closed"),),
}


def example(kind: type) -> Any:
    """Return an event of a kind, all of whose fields say something."""
    fields = get_type_hints(Decision if kind is Assigned else kind)
    values = [VALUES[each] for name, each in fields.items()]
    return Assigned(Decision(*values)) if kind is Assigned else kind(*values)


@pytest.mark.parametrize("kind", get_args(Event), ids=lambda kind: kind.__name__)
def test_every_kind_of_event_comes_back_from_its_line(kind: type) -> None:
    event = example(kind)

    assert decode(encode(event)) == event
    assert type(decode(encode(event))) is kind


@pytest.mark.parametrize("kind", get_args(UnitFact), ids=lambda kind: kind.__name__)
def test_every_fact_of_a_unit_comes_back_from_the_log_in_memory(kind: type) -> None:
    log, fact = PackedLog(Opened({}, {}, 0, 1), ["text"], {"text": 1}), example(kind)
    if kind is Enrolled:
        fact = fact._replace(round=1)
    elif kind is Assigned:
        fact = fact._replace(decision=fact.decision._replace(round=1))

    log.append(fact, NO_UNIT._replace(unit="text", round=1))

    assert log.of_unit("text") == [fact]
    assert list(log.kinds(1, 2)) == [(kind, "text")]


@pytest.mark.parametrize("kind", get_args(TrialFact), ids=lambda kind: kind.__name__)
def test_every_fact_of_the_trial_comes_back_from_the_log_in_memory(kind: type) -> None:
    log, fact = PackedLog(Opened({}, {}, 0, 1), [], {}), example(kind)

    log.append(fact, NO_UNIT)

    assert log[1] == fact
    assert type(log[1]) is kind


def test_every_kind_says_the_format_that_it_came_with() -> None:
    """A kind that is new has the format of its release, not the first."""
    kinds = {name for name in SINCE if "." not in name}

    assert kinds | FIRST_FORMAT == {kind.__name__ for kind in get_args(Event)}
    assert max(SINCE.values()) <= FORMAT


def test_policies_are_told_of_kinds_of_facts() -> None:
    assert set(get_args(Fact)) >= TEACHES


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
