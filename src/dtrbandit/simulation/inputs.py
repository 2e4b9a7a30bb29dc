"""The inputs of a study: all that its results depend on, checked before any path runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from functools import cached_property, partial
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from dtrbandit.design.spec import Design
from dtrbandit.design.values import shown, whole
from dtrbandit.environments.potential_outcomes import (
    Environment,
    PotentialOutcomes,
    require_environment,
    require_units,
)
from dtrbandit.errors import DesignError
from dtrbandit.policies.lsvi_ucb import knowing_rounds
from dtrbandit.policies.policy import Policy, is_policy
from dtrbandit.policies.teaching import Lessons, lessons_of
from dtrbandit.record.teaching import Prior, histories_of
from dtrbandit.simulation.closings import Closing, accept_closings

COLUMNS = ("policy", "path", "t", "regret", "realised")  # of a study's frame, beside one per stage


class ArrivalOrder(Protocol):
    """Says in which order simulated units arrive, respond and complete, and which are lost."""

    def events(self, n: int, stages: int, rng: np.random.Generator) -> NDArray[np.int32]:
        """Return what happens to n units, in order, (E, 2); the codes are those of ``courses.Courses.events``."""


Policies = Mapping[str, Policy[Any]] | Sequence[Policy[Any]]


@dataclass(frozen=True, eq=False)
class Inputs:
    """The arguments of ``simulate`` on which results depend, checked.

    Attributes
    ----------
    policies
        By name; a list is named by repr.
    design
        The learner's, or None where it is the environment's.
    closings
        In the order of their rounds.
    prior
        An earlier trial, which teaches every policy of every path.
    """

    environment: Environment
    policies: Policies
    _: KW_ONLY
    horizon: int
    paths: int
    seed: int = 0
    arrivals: ArrivalOrder | None = None
    design: Design | None = None
    closings: Sequence[Closing] = ()
    prior: Prior | None = None

    def __post_init__(self) -> None:
        set_checked = partial(object.__setattr__, self)
        require_environment(self.environment, "a study")
        if self.arrivals is not None and not callable(getattr(self.arrivals, "events", None)):
            raise DesignError(f"arrivals= needs a method events(n, stages, rng), found {shown(self.arrivals)}")
        set_checked("horizon", whole(self.horizon, "horizon", low=1))
        set_checked("paths", whole(self.paths, "paths", low=1))
        set_checked("seed", whole(self.seed, "seed", low=0))
        if self.design is not None:
            _check_learner(self.design, self.environment)
        if clash := [stage.name for stage in self.learner.stages if stage.name in COLUMNS]:
            raise DesignError(
                f"a study has columns {', '.join(COLUMNS)} and one per stage; rename the stage {clash[0]!r}"
            )
        set_checked("closings", accept_closings(self.closings, self.learner))
        set_checked("policies", _named(self.policies))
        _ = self.players, self.lessons  # refuses policies, and an earlier trial, that do not fit

    @property
    def learner(self) -> Design:
        """The design under which policies learn."""
        return self.design or self.environment.design

    @cached_property
    def players(self) -> Mapping[str, Policy[Any]]:
        """The policies by name; they fit the learner's design and know the number of rounds."""
        assert isinstance(self.policies, Mapping)
        return {name: _ready(policy, self.learner, self.horizon) for name, policy in self.policies.items()}

    @cached_property
    def lessons(self) -> Lessons | None:
        """What the earlier trial teaches built-in policies; None without one."""
        return None if self.prior is None else lessons_of(self.learner, histories_of(self.prior, self.learner))

    @property
    def taught(self) -> int:
        """How many units of an earlier trial teach."""
        return 0 if self.lessons is None else self.lessons.units

    def rng(self, path: int, stream: int) -> np.random.Generator:
        """Return a path's own generator. It depends neither on the number of paths nor on the policies."""
        return np.random.default_rng(self.stream(path, stream))

    def policy_seed(self, path: int) -> int:
        """Return the seed that all policies of a path share; round and stage address the stream of uniform numbers."""
        return int(self.stream(path, POLICY).generate_state(1, np.uint64)[0])

    def stream(self, path: int, stream: int) -> np.random.SeedSequence:
        """Return the seeds of one stream of a path."""
        return np.random.SeedSequence(self.seed, spawn_key=(path, stream))


ENVIRONMENT, ARRIVALS, POLICY = range(3)  # streams of a path


def sample(environment: Environment, n: int, seed: int = 0) -> PotentialOutcomes:
    """Draw a few units, the same ones each time, to recognise an environment by."""
    units = environment.draw(n, np.random.default_rng(seed))
    require_units(units)
    return units


def _named(policies: object) -> dict[str, Policy[Any]]:
    """Return policies by name: their own, or their repr."""
    if isinstance(policies, Mapping):
        pairs = list(policies.items())
    elif isinstance(policies, Sequence) and not isinstance(policies, str):
        pairs = [(repr(policy), policy) for policy in policies]
    else:
        raise DesignError(f"policies must be a mapping from names, or a list, found {shown(policies)}")
    if not pairs:
        raise DesignError("a study needs at least one policy, found none")
    for name, policy in pairs:
        if not isinstance(name, str) or not name.strip() or not name.isprintable():
            raise DesignError(f"a policy's name must be a printable text, found {shown(name)}")
        if not is_policy(policy):
            raise DesignError(f"{name!r} must be a policy such as Greedy(), found {shown(policy)}")
    names = [name for name, _ in pairs]
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise DesignError(f"two policies are called {twice!r}; name them: {{'one': …, 'other': …}}")
    return dict(pairs)


def _ready(policy: Policy[Any], design: Design, rounds: int) -> Policy[Any]:
    """Return a policy that fits the design, and knows the number of rounds."""
    policy = knowing_rounds(policy, design, rounds)
    policy.init(design)
    return policy


def _check_learner(design: object, environment: Environment) -> None:
    """Refuse a learner's design that differs from the environment's in more than its features and plans."""
    if not isinstance(design, Design):
        raise DesignError(f"design= needs a Design, found {shown(design)}")
    true = environment.design
    for what in ("name", "arms", "enter_if"):
        own, expected = ([getattr(stage, what) for stage in each.stages] for each in (design, true))
        if own != expected:
            raise DesignError(f"design= differs from the environment's in each stage's {what}: {own}, not {expected}")
    if impossible := sorted(set(design.arm_plans) - set(true.arm_plans)):
        labels = [stage.arms[arm] for stage, arm in zip(true.stages, impossible[0], strict=True)]
        raise DesignError(f"design= has the plan {labels}, which is infeasible in the environment")
    known: list[str] = []
    for stage, columns, context in zip(design.stages, design.columns, sample(environment, 1).contexts, strict=True):
        known += context
        if missing := [column for column in columns if column not in known]:
            raise DesignError(
                f"design= needs {missing} at stage {stage.name!r}, where the environment has observed only {known}"
            )
