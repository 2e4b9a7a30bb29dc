"""Where two descriptions differ, in words; a description is plain values, as in a log."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeGuard

from dtrbandit.design.values import shown

NOTHING = object()


def difference(there: object, here: object, place: str) -> str | None:
    """Say where two descriptions first differ and what each has there; None if they are equal.

    Examples
    --------
    >>> difference({"name": "Greedy"}, {"name": "DTRBandit", "q": 1}, "policy")
    "policy, name is 'Greedy' there and 'DTRBandit' here"
    >>> difference({"stage": [{"name": "first", "arms": ["a"]}]}, {"stage": [{"name": "first", "arms": []}]}, "design")
    "design, stage, 'first', arms is ['a'] there and [] here"
    """
    if there == here:
        return None
    if isinstance(there, Mapping) and isinstance(here, Mapping):
        return _within(there, here, f"{place}{_called(there, here)}")
    if _is_list(there) and _is_list(here) and len(there) == len(here):
        found = (difference(a, b, place) for a, b in zip(there, here, strict=True))
        return next(each for each in found if each is not None)
    return f"{place} is {_found(there)} there and {_found(here)} here"


def _within(there: Mapping[object, object], here: Mapping[object, object], place: str) -> str:
    keys = dict.fromkeys([*there, *here])
    found = (
        difference(there.get(key, NOTHING), here.get(key, NOTHING), place if key == "identity" else f"{place}, {key}")
        for key in keys
    )
    return next(each for each in found if each is not None)


def _called(there: Mapping[object, object], here: Mapping[object, object]) -> str:
    """Return the name that both share: that of a stage, a policy or a function."""
    names = [there[key] for key in ("name", "function") if key in there and there[key] == here.get(key)]
    return "".join(f", {name!r}" for name in dict.fromkeys(map(str, names)))


def _is_list(value: object) -> TypeGuard[Sequence[object]]:
    return isinstance(value, Sequence) and not isinstance(value, str)


def _found(value: object) -> str:
    return "missing" if value is NOTHING else shown(value)
