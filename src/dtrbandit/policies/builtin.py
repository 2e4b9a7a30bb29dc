"""The policies that come with the package, by name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from dtrbandit.design.features import describe
from dtrbandit.errors import DesignError
from dtrbandit.policies.dtr_bandit import DTRBandit
from dtrbandit.policies.epsilon_greedy import EpsilonGreedy
from dtrbandit.policies.fixed_regime import FixedRegime
from dtrbandit.policies.greedy import Greedy
from dtrbandit.policies.lsvi_ucb import LSVIUCB
from dtrbandit.policies.policy import Policy
from dtrbandit.policies.uniform_random import UniformRandom

BUILTIN: Mapping[str, type[Policy[Any]]] = {
    kind.__name__: kind for kind in (DTRBandit, EpsilonGreedy, Greedy, LSVIUCB, FixedRegime, UniformRandom)
}


def policy_to_dict(policy: Policy[Any]) -> dict[str, object]:
    """Return a policy as plain values: its name and parameters; one that a log cannot hold by its name only."""
    name = type(policy).__name__
    if BUILTIN.get(name) is not type(policy):
        return {"name": name, "function": describe(type(policy))}
    parameters = {each.name: getattr(policy, each.name) for each in fields(policy)}  # type: ignore[arg-type]
    functions = {key: describe(value) for key, value in parameters.items() if callable(value)}
    if functions:
        return {"name": name, "function": ", ".join(f"{key}={value}" for key, value in functions.items())}
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
        return kind(**{key: _tuples(value) for key, value in parameters.items()})
    except TypeError as error:
        allowed = ", ".join(each.name for each in fields(kind))  # type: ignore[arg-type]
        raise DesignError(f"policy {name}: {error}; its parameters are {allowed or 'none'}") from error


def _plain(value: object) -> object:
    """Return nested tuples as lists, which JSON and TOML know."""
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    if isinstance(value, Mapping):
        return {key: _plain(each) for key, each in value.items()}
    return value


def _tuples(value: object) -> object:
    if isinstance(value, Mapping):
        return {key: _tuples(each) for key, each in value.items()}
    return tuple(_tuples(each) for each in value) if isinstance(value, list) else value
