"""The policies that come with the package, by name; and any policy as plain values, as a log or a file holds it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from itertools import takewhile
from typing import Any, TypeGuard

import numpy as np

from dtrbandit.design.differences import difference
from dtrbandit.design.identity import describe, identity
from dtrbandit.design.spec import Design
from dtrbandit.design.values import tuples
from dtrbandit.errors import DesignError, LogError
from dtrbandit.policies.builtin_policy import BuiltinPolicy
from dtrbandit.policies.dtr_bandit import DTRBandit
from dtrbandit.policies.epsilon_greedy import EpsilonGreedy, Greedy
from dtrbandit.policies.fixed_regime import FixedRegime
from dtrbandit.policies.lsvi_ucb import LSVIUCB
from dtrbandit.policies.parameters import parameters_of
from dtrbandit.policies.policy import Policy
from dtrbandit.policies.uniform_random import UniformRandom
from dtrbandit.record.events import Opened

BUILTIN: Mapping[str, type[Any]] = {
    each.__name__: each for each in (DTRBandit, EpsilonGreedy, Greedy, LSVIUCB, FixedRegime, UniformRandom)
}


def is_builtin(policy: object) -> TypeGuard[BuiltinPolicy]:
    """Say whether a policy is built in and decides by a compiled rule.

    A policy that holds a built-in one, or inherits from one, has rules of its own.
    """
    return type(policy) in BUILTIN.values() and not getattr(policy, "decides_in_python", True)


def learns(policy: Policy[Any]) -> bool:
    """Say whether a policy may learn from earlier units: any may, unless its class says ``learns = False``.

    What a built-in policy says of itself does not hold for a class that inherits from it, which may do otherwise.
    """
    return _stated(policy, "learns") is not False


def _stated(policy: object, fact: str) -> object:
    """Return what the class of a policy says of itself; None if nothing, or if the policy itself says otherwise."""
    kind = type(policy)
    if kind in BUILTIN.values():
        return getattr(kind, fact)
    own = takewhile(lambda each: each not in (BuiltinPolicy, *BUILTIN.values()), kind.__mro__)
    said = next((vars(each)[fact] for each in own if fact in vars(each)), None)
    return said if getattr(policy, fact, None) is said else None


def forces_plans(policy: Policy[Any]) -> bool:
    """Say whether a policy is known to try every feasible plan."""
    return isinstance(policy, BuiltinPolicy) and policy.forces_plans


def examples() -> tuple[Policy[Any], ...]:
    """Return examples of all built-in policies."""
    return tuple(example for kind in BUILTIN.values() for example in kind.examples())


# -- as plain values -----------------------------------------------------------------------------------------------


def policy_to_dict(policy: Policy[Any]) -> dict[str, object]:
    """Return a policy as plain values: its name and parameters, or of Python code what identifies it."""
    name = type(policy).__name__
    if BUILTIN.get(name) is not type(policy):
        code: dict[str, object] = {"name": name, "function": describe(type(policy)), "identity": identity(policy)}
        return code if learns(policy) else code | {"learns": False, "randomises": _stated(policy, "randomises") is True}
    parameters = parameters_of(policy)
    functions = {key: value for key, value in parameters.items() if callable(value)}
    if functions:
        words = ", ".join(f"{key}={describe(value)}" for key, value in functions.items())
        return {"name": name, "function": words, "identity": {key: identity(each) for key, each in functions.items()}}
    return {"name": name, **{key: _plain(value) for key, value in parameters.items()}}


def policy_from_dict(entries: Mapping[str, object]) -> Policy[Any]:
    """Build the policy that ``policy_to_dict`` describes."""
    parameters = dict(entries)
    name = parameters.pop("name", None)
    if "function" in parameters:
        raise DesignError(f"the policy {name} ({parameters['function']}) is Python code; pass it as policy=")
    kind = BUILTIN.get(str(name))
    if kind is None:
        raise DesignError(f"unknown policy {name!r}; the built-in ones are {', '.join(BUILTIN)}")
    try:
        policy: Policy[Any] = kind(**{key: tuples(value) for key, value in parameters.items()})
    except TypeError as error:
        allowed = ", ".join(_parameters(kind))
        raise DesignError(f"policy {name}: {error}; its parameters are {allowed or 'none'}") from error
    return policy


def require_same(opened: Opened, design: Design, policy: Policy[Any]) -> None:
    """Refuse to go on with a log under another design or policy than it was opened with, and say what differs."""
    differs = difference(opened.design, design.to_dict(), "design")
    differs = differs or difference(_code(opened.policy), _code(policy_to_dict(policy)), "policy")
    if differs is not None:
        raise LogError(
            f"the log was opened with another design or policy: {differs}; "
            "give those that it was opened with, or open a new log"
        )


def _code(entries: Mapping[str, object]) -> Mapping[str, object]:
    """Leave out what a policy of one's own says of itself: its identity tells of it, and 0.1.0 did not record it."""
    if "identity" not in entries:
        return entries
    return {key: value for key, value in entries.items() if key not in ("learns", "randomises")}


def _parameters(policy: Any) -> tuple[str, ...]:
    return tuple(each.name for each in fields(policy))


def _plain(value: object) -> object:
    """Return nested tuples as lists, which JSON and TOML know."""
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    if isinstance(value, Mapping):
        return {key: _plain(each) for key, each in value.items()}
    return value.tolist() if isinstance(value, np.generic | np.ndarray) else value
