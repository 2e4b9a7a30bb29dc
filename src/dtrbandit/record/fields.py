"""What stands in an event's JSON: how a field is read and written, by the type that ``record/events.py`` gives it.

``record/codec.py`` reads and writes events by this.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from math import isfinite, nan
from types import NoneType
from typing import Any, NamedTuple, get_args, get_type_hints

from dtrbandit.design.values import as_float, shown
from dtrbandit.errors import LogError
from dtrbandit.record.events import Context, Excluded, QValues, Spec
from dtrbandit.record.values import Values, packing, unpacked

COLUMNS, ARMS = 0, 1  # of Labels


class Order(NamedTuple):
    """Labels in the order in which the design has them, and in which their numbers are kept."""

    labels: tuple[str, ...]
    as_text: tuple[str, ...]  # sorted, as they stand in a text
    pack: Callable[..., bytes]


def order_of(labels: Sequence[str]) -> Order:
    """Return the order of labels."""
    names, as_text = tuple(labels), tuple(sorted(labels))
    return Order(as_text if names == as_text else names, as_text, packing(len(names)).pack)


class Labels(NamedTuple):
    """The labels of a stage."""

    columns: Order
    arms: Order


Read = Callable[[Any, Labels | None], object]


class Field(NamedTuple):
    """How a value is read and written.

    Attributes
    ----------
    plain
        The type of what is taken as it was found in the JSON.
    read
        Returns what an event holds for anything else, given the labels of its stage if they are known; or refuses it.
    write
        Returns what is written for the value of an event; None where this is the value.
    """

    plain: type | None
    read: Read
    write: Callable[[Any], object] | None = None


def refused(value: object, expected: str) -> LogError:
    """Return the end of a message, which follows the words for the place of a value."""
    return LogError(f": found {shown(value)} ({type(value).__name__}), expected {expected}")


# -- reading -----------------------------------------------------------------------------------------------------------


def _not(expected: str) -> Read:
    """Return a reader that refuses: only what is plain can be read."""

    def refuse(value: object, _: Labels | None) -> object:
        raise refused(value, expected)

    return refuse


def _read_number(value: object, _: Labels | None = None) -> float:
    number = as_float(value)
    if not isfinite(number) or number != value:
        raise refused(value, "a finite number that a float can hold")
    return number


def _or_null(field: Field) -> Field:
    """Return a field that may be null."""

    def read(value: object, labels: Labels | None) -> object:
        try:
            return None if value is None else field.read(value, labels)
        except LogError as error:
            raise LogError(f"{error}, or null") from None

    return field._replace(read=read)


def _each(field: Field) -> Callable[[object, Labels | None], dict[str, object]]:
    """Return a reader of objects whose entries are such fields."""

    def read(value: object, labels: Labels | None) -> dict[str, object]:
        if type(value) is not dict:
            raise refused(value, "an object")
        return {name: _read_at(name, field, entry, labels) for name, entry in value.items()}

    return read


def _read_at(place: object, field: Field, value: object, labels: Labels | None) -> object:
    """Return an entry of an object or a list; a refusal says its place."""
    try:
        return value if type(value) is field.plain else field.read(value, labels)
    except LogError as error:
        raise LogError(f"[{shown(place)}]{error}") from None


def _listed(field: Field, expected: str) -> Callable[[object, Labels | None], tuple[object, ...]]:
    """Return a reader of lists of such fields."""

    def read(value: object, labels: Labels | None) -> tuple[object, ...]:
        if type(value) is not list:
            raise refused(value, expected)
        return tuple(_read_at(place, field, each, labels) for place, each in enumerate(value))

    return read


def _in_order(kind: int, null: object, otherwise: Read) -> Read:
    """Return a reader of objects that have a float for each column, or arm, and nothing else: in the design's order.

    ``null`` is the float for null, if there is one. All other objects are left to ``otherwise``.
    """

    def read(value: Any, labels: Labels | None) -> object:
        if labels is None or type(value) is not dict:
            return otherwise(value, labels)
        names, as_text, pack = labels[kind]
        if tuple(value) != as_text:
            return otherwise(value, labels)
        numbers = value.values() if names is as_text else [value[name] for name in names]
        for number in numbers:
            if type(number) is not float:
                numbers = [null if each is None else each for each in numbers]
                if any(type(each) is not float for each in numbers):
                    return otherwise(value, labels)
                break
        return Values(names, pack(*numbers))

    return read


def _read_texts(value: object, labels: Labels | None) -> tuple[object, ...]:
    try:
        return _kept_once(*value) if type(value) is list else _read_each_text(value, labels)
    except TypeError:  # something else than texts is in the list
        return _read_each_text(value, labels)


@lru_cache(maxsize=4096)
def _kept_once(*texts: str) -> tuple[str, ...]:
    """Return texts as a tuple, the same one each time."""
    if not all(type(text) is str for text in texts):
        raise TypeError("not all are texts")
    return texts


def _read_pairs(value: Any, labels: Labels | None) -> tuple[object, ...]:
    pairs = _read_each_texts(value, labels)
    if not pairs or any(len(pair) != 2 for pair in value):
        raise refused(value, PAIRS)
    return pairs


# -- writing -----------------------------------------------------------------------------------------------------------


def _finite(number: Any) -> object:
    """Return a number that JSON can hold, or null; what is neither is left to who writes."""
    if isinstance(number, float) and not isfinite(number):
        raise ValueError(f"an event cannot hold {number!r}, which is no finite number")
    return number


def _numbers_by_label(values: Mapping[str, Any] | None) -> object:
    if type(values) is Values:
        return dict(zip(values.labels, unpacked(values.packed)))  # noqa: B905  # a keyword takes as long as all the rest
    return values and {label: _finite(number) for label, number in values.items()}


def _checked_spec(spec: Mapping[str, object]) -> object:
    """Return a design or a policy without anything that is no JSON."""
    return json.loads(json.dumps(spec, allow_nan=False, default=plain))


def plain(value: object) -> object:
    """Return as JSON has it what is not of a type of JSON."""
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, float):
        return _finite(float(value))
    raise TypeError(f"an event cannot hold {shown(value)} ({type(value).__name__})")


# -- the table ---------------------------------------------------------------------------------------------------------

PAIRS = "a list of pairs of texts"
TEXT = Field(str, _not("text"))
INTEGER = Field(int, _not("a whole number"))
NUMBER = Field(float, _read_number, _finite)
SPEC = Field(dict, _not("an object"), _checked_spec)
_read_each_text = _listed(TEXT, "a list of texts")
_read_each_texts = _listed(Field(None, _listed(TEXT, PAIRS)), PAIRS)
_read_numbers = _each(NUMBER)
TEXTS = Field(None, _read_texts)
EXCLUDED = Field(None, _each(TEXTS))  # arms by stage
NUMBERS = Field(None, _read_numbers, _numbers_by_label)
CONTEXT = Field(None, _in_order(COLUMNS, None, _read_numbers), _numbers_by_label)
CONTEXTS = Field(None, _listed(NUMBERS, "a list of objects"), lambda each: [_numbers_by_label(one) for one in each])
ESTIMATES = Field(None, _in_order(ARMS, nan, _each(_or_null(NUMBER))), _numbers_by_label)

BY_TYPE: Mapping[object, Field] = {  # as events are annotated
    str: TEXT,
    str | None: _or_null(TEXT),
    int: INTEGER,
    float: NUMBER,
    float | None: _or_null(NUMBER),
    Spec: SPEC,
    Context: CONTEXT,
    Context | None: _or_null(NUMBERS),  # some columns of a stage
    tuple[Context, ...]: CONTEXTS,
    QValues: ESTIMATES,
    Excluded: EXCLUDED,
    tuple[str, ...]: TEXTS,
    tuple[tuple[str, str], ...]: Field(None, _read_pairs),
}


def fields_of(kind: type[Any]) -> tuple[dict[str, Field], dict[str, Field]]:
    """Return the fields of a kind of event: those that are needed, and those that are left out by default."""
    optional, types = kind._field_defaults, get_type_hints(kind)
    needed = {name: BY_TYPE[types[name]] for name in kind._fields if name not in optional}
    return needed, {name: BY_TYPE[_unless_none(types[name])] for name in optional}


def _unless_none(annotation: Any) -> object:
    """Return what an annotation says of a value that is there."""
    said = [each for each in get_args(annotation) if each is not NoneType]
    return said[0] if NoneType in get_args(annotation) else annotation
