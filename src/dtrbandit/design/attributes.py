"""What an object holds, and what was written into its class by hand."""

from __future__ import annotations

import copyreg
import inspect
from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from functools import cached_property
from pickle import PicklingError
from types import FunctionType
from typing import Any

MADE_BY_PYTHON = {"_abc_impl", "_is_protocol", "_is_runtime_protocol", "__annotate__", "__annotate_func__"}


def state(value: object) -> Mapping[str, object]:
    """Return what an object holds: the fields that a dataclass compares, else what pickling would keep."""
    if is_dataclass(value) and "__dataclass_fields__" in vars(type(value)):
        return {each.name: getattr(value, each.name, None) for each in fields(value) if each.compare}
    try:
        made_by, arguments, *more = _reduced(value)
    except (TypeError, ValueError, AttributeError, RuntimeError, PicklingError):  # it cannot be kept: a lock, a file
        return {}
    state = more[0] if more else None
    plain = made_by is copyreg.__newobj__  # type: ignore[attr-defined]  # undocumented
    if not plain or len(arguments) > 1:
        return {"made by": made_by, "made from": arguments, "held": [_listed(each) for each in more]}
    attributes, slots = state if isinstance(state, tuple) and len(state) == 2 else (state, None)
    held = {**(attributes or {}), **(slots or {})} if isinstance(attributes, dict | None) else {"held": state}
    computed = {name for name in held if isinstance(inspect.getattr_static(type(value), name, None), cached_property)}
    return {str(name): each for name, each in held.items() if name not in computed}


def _reduced(value: object) -> tuple[Any, ...]:
    """Return how pickling would make the object again: the function, its arguments, and what is then put in."""
    registered = copyreg.dispatch_table.get(type(value))
    reduced = registered(value) if registered else value.__reduce_ex__(4)
    return (reduced, ()) if isinstance(reduced, str) else reduced


def _listed(value: object) -> object:
    return list(value) if isinstance(value, Iterator) else value


def is_written(kind: type, name: str, value: object) -> bool:
    """Say whether an attribute of a class was written there by hand.

    The default of a field does not count: its value counts with the object.
    """
    if name in MADE_BY_PYTHON or name in getattr(kind, "__dataclass_fields__", ()) or inspect.isdatadescriptor(value):
        return isinstance(value, property)
    if not name.startswith("__") or not name.endswith("__"):
        return True
    if not isinstance(value, FunctionType) or value.__code__.co_filename == "<string>":  # a dataclass makes those
        return False
    return value.__globals__.get("__name__") == kind.__module__
