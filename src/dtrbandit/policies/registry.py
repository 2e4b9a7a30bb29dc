"""The policies that come with the package, by name; a new one is its own file and a word here."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeGuard

from dtrbandit.policies.builtin_policy import BuiltinPolicy
from dtrbandit.policies.dtr_bandit import DTRBandit
from dtrbandit.policies.epsilon_greedy import EpsilonGreedy, Greedy
from dtrbandit.policies.fixed_regime import FixedRegime
from dtrbandit.policies.lsvi_ucb import LSVIUCB
from dtrbandit.policies.policy import Policy
from dtrbandit.policies.uniform_random import UniformRandom

BUILTIN: Mapping[str, type[Any]] = {
    each.__name__: each for each in (DTRBandit, EpsilonGreedy, Greedy, LSVIUCB, FixedRegime, UniformRandom)
}


def is_builtin(policy: object) -> TypeGuard[BuiltinPolicy]:
    """Say whether a policy is built in and decides by a compiled rule.

    A policy that holds a built-in one, or inherits from one, has rules of its own.
    """
    return type(policy) in BUILTIN.values() and not getattr(policy, "decides_in_python", True)


def learns(policy: Policy[Any]) -> bool:
    """Say whether a policy may learn from earlier units: any may but those built-in ones that do not."""
    kind: Any = type(policy)
    return kind not in BUILTIN.values() or kind.learns


def forces_plans(policy: Policy[Any]) -> bool:
    """Say whether a policy is known to try every feasible plan."""
    return isinstance(policy, BuiltinPolicy) and policy.forces_plans


def examples() -> tuple[Policy[Any], ...]:
    """Return examples of all built-in policies."""
    return tuple(example for kind in BUILTIN.values() for example in kind.examples())
