"""Where two descriptions differ, in words; a description is plain values, as in a log."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import TypeGuard

from dtrbandit.design.values import shown

NOTHING = object()
HASH = re.compile(r"[0-9a-f]{32}")


def difference(there: object, here: object, where: str) -> str | None:
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
        if _is_identity(there) or _is_identity(here):
            return _code_difference(there, here, where)
        return _within(there, here, f"{where}{_shared_name(there, here)}")
    if _is_list(there) and _is_list(here) and len(there) == len(here):
        return _first(difference(a, b, where) for a, b in zip(there, here, strict=True))
    return f"{where} is {_found(there)} there and {_found(here)} here"


def _within(there: Mapping[object, object], here: Mapping[object, object], where: str) -> str | None:
    keys = dict.fromkeys([*there, *here])
    return _first(
        difference(there.get(key, NOTHING), here.get(key, NOTHING), where if key == "identity" else f"{where}, {key}")
        for key in keys
    )


def _first(found: Iterator[str | None]) -> str | None:
    return next((each for each in found if each is not None), None)


def _shared_name(there: Mapping[object, object], here: Mapping[object, object]) -> str:
    """Return the name that both share: that of a stage, a policy or a function."""
    names = [there[key] for key in ("name", "function") if key in there and there[key] == here.get(key)]
    return "".join(f", {name!r}" for name in dict.fromkeys(map(str, names)))


def _is_list(value: object) -> TypeGuard[Sequence[object]]:
    return isinstance(value, Sequence) and not isinstance(value, str)


def _found(value: object) -> str:
    return "missing" if value is NOTHING else shown(value)


# -- code, as ``identity`` describes it -------------------------------------------------------------------------


def _is_identity(value: Mapping[object, object]) -> bool:
    return value.keys() == {"values", "sources"}


def _code_difference(there: Mapping[object, object], here: Mapping[object, object], where: str) -> str | None:
    """Say in what Python code differs. Of code that was stored by 0.1.0, only the sources can be compared."""
    if not (_is_identity(there) and _is_identity(here)):
        old, new = (there, here) if _is_identity(here) else (here, there)
        known = new["sources"]
        assert _is_list(known)
        return None if set(_sources(old)) <= set(known) else f"{where} has another source there than here"
    if there["sources"] != here["sources"]:
        return f"{where} has another source there than here, or uses a function that has"
    return f"{where} uses another value there than here: a default, a variable around it, a global or an attribute"


def _sources(traits: Mapping[object, object]) -> Iterator[str]:
    """Give the hashes of sources in what 0.1.0 stored, which described code part by part."""
    for key, value in traits.items():
        if isinstance(value, Mapping):
            yield from _sources(value)
        elif key == "source" and "class" not in traits and HASH.fullmatch(str(value)):
            yield str(value)
