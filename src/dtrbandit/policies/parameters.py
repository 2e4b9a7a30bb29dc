"""The parameters of a policy as logs and names say them: without those that are as if there were none.

A parameter that came with a later release has a value with which nothing changes, such as a floor of 0. With that value
it is left out, so that logs and names are as they were before there was one.
"""

from __future__ import annotations

from dataclasses import fields
from typing import Any

NEUTRAL = "neutral"  # in the metadata of a field: the value with which it is as if there were none


def parameters_of(policy: Any) -> dict[str, object]:
    """Return the parameters of a policy, without those that are as if there were none."""
    values = {each.name: getattr(policy, each.name) for each in fields(policy)}
    neutral = {each.name for each in fields(policy) if values[each.name] == each.metadata.get(NEUTRAL, ...)}
    return {name: value for name, value in values.items() if name not in neutral}


def policy_repr(policy: Any) -> str:
    """Return a policy as it would be written, without parameters that are as if there were none."""
    return f"{type(policy).__name__}({', '.join(f'{name}={value!r}' for name, value in parameters_of(policy).items())})"
