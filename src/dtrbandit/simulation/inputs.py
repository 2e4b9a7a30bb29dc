"""The inputs of a study: all that its results depend on, checked and tried on one unit before any path runs."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import KW_ONLY, InitVar, dataclass, field
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from dtrbandit.design.feasibility import Barred
from dtrbandit.design.spec import Design
from dtrbandit.design.values import shown, whole
from dtrbandit.environments.potential_outcomes import Environment, PotentialOutcomes, require_environment
from dtrbandit.errors import DesignError
from dtrbandit.policies.lsvi_ucb import knowing_rounds
from dtrbandit.policies.policy import Policy, is_policy
from dtrbandit.policies.teaching import Lessons, lessons_of
from dtrbandit.record.events import ArmClosed
from dtrbandit.record.teaching import Prior, histories_of
from dtrbandit.record.trial_rules import number_of_arm, require_arms_everywhere
from dtrbandit.simulation.one_path import POLICY, drawn, rehearse

COLUMNS = ("policy", "path", "t", "regret", "realised")  # of a study's frame, beside one per stage
LEAST = {"horizon": 1, "paths": 1, "seed": 0}
SAMPLE = 16  # units drawn to recognise an environment, if a path has as many


class ArrivalOrder(Protocol):
    """Says in which order simulated units arrive, respond and complete, and which are lost."""

    def events(self, n: int, stages: int, rng: np.random.Generator) -> NDArray[np.int32]:
        """Return what happens to n units, in order, (E, 2); the codes are those of ``courses.Courses.events``."""


class Closing(NamedTuple):
    """An arm that a study closes just before the unit of a round enrols.

    Examples
    --------
    >>> Closing(500, "second", "ssri").round
    500
    """

    round: int
    stage: str
    arm: str

    @property
    def fact(self) -> ArmClosed:
        """What a log would hold."""
        return ArmClosed(self.stage, self.arm, f"closed before round {self.round}")


Policies = Mapping[str, Policy[Any]] | Sequence[Policy[Any]]
At = Callable[..., AbstractContextManager[None]]  # names the entry that is checked, as TomlText.at does


@dataclass(frozen=True, eq=False)
class Inputs:
    """The arguments of ``simulate`` on which results depend, checked.

    Every policy is tried on one unit. So its state is made once here, and then once for each path.

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
    at
        Says in errors where the entry that is checked stands, if it stands in a file.
    players
        The policies by name; they fit the learner's design and know the number of rounds.
    lessons
        What the earlier trial teaches built-in policies; None without one.
    fingerprint
        A hash of a few drawn units. An environment that draws other units is another one, whatever its repr says.
    bytes_per_unit
        How much the largest state of a policy keeps of each unit.
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
    at: InitVar[At | None] = None
    players: Mapping[str, Policy[Any]] = field(init=False)
    lessons: Lessons | None = field(init=False)
    fingerprint: str = field(init=False)
    bytes_per_unit: int = field(init=False)

    def __post_init__(self, at: At | None) -> None:
        at = at or _at_no_file
        with at("environment"):
            require_environment(self.environment, "a study")
        with at("arrivals"):
            if self.arrivals is not None and not callable(getattr(self.arrivals, "events", None)):
                raise DesignError(f"arrivals= needs a method events(n, stages, rng), found {shown(self.arrivals)}")
        for name, low in LEAST.items():
            with at(name):
                self._set(name, whole(getattr(self, name), name, low=low))
        with at("environment"):
            units = drawn(self.environment, min(SAMPLE, self.horizon), np.random.default_rng(0))
            self._set("fingerprint", fingerprint(units))
            _require_randomness(self.environment, units, several=self.paths > 1)
        with at("environment" if self.design is None else "design"):
            _check_learner(self.design, units)
            _require_free_names(self.learner)
        with at("closings"):
            self._set("closings", accept_closings(self.closings, self.learner))
        with at("policies"):
            named = _named(self.policies)
        self._set("policies", named)
        self._set("players", {name: knowing_rounds(each, self.learner, self.horizon) for name, each in named.items()})
        lessons = None if self.prior is None else lessons_of(self.learner, histories_of(self.prior, self.learner))
        self._set("lessons", lessons)
        self._set("bytes_per_unit", rehearse(self, units, at))

    def _set(self, name: str, value: object) -> None:
        object.__setattr__(self, name, value)

    @property
    def learner(self) -> Design:
        """The design under which policies learn."""
        return self.design or self.environment.design

    @property
    def taught(self) -> int:
        """How many units of an earlier trial teach."""
        return 0 if self.lessons is None else self.lessons.units

    def rng(self, path: int, stream: int) -> np.random.Generator:
        """Return a path's own generator. It depends neither on the number of paths nor on the policies."""
        return np.random.default_rng(self._seeds(path, stream))

    def policy_seed(self, path: int) -> int:
        """Return the seed that all policies of a path share; round and stage address the stream of uniform numbers."""
        return int(self._seeds(path, POLICY).generate_state(1, np.uint64)[0])

    def _seeds(self, path: int, stream: int) -> np.random.SeedSequence:
        return np.random.SeedSequence(self.seed, spawn_key=(path, stream))


def _at_no_file(*_entry: str) -> AbstractContextManager[None]:
    return nullcontext()


# -- the environment -------------------------------------------------------------------------------------------------


def fingerprint(units: PotentialOutcomes) -> str:
    """Return a hash of units, rounded to single precision since last digits may differ between machines."""
    digest = hashlib.sha256()
    for context in units.contexts:
        for name in sorted(context):
            digest.update(name.encode() + np.asarray(context[name], dtype=np.float32).tobytes())
    digest.update(np.asarray(units.outcome, dtype=np.float32).tobytes())
    for excluded in units.excluded or ():
        digest.update(np.asarray(excluded, dtype=np.bool_).tobytes())
    return digest.hexdigest()[:16]


def _require_randomness(environment: Environment, units: PotentialOutcomes, *, several: bool) -> None:
    """Refuse an environment that draws by another generator than the one it is given, or by none."""
    n, must = len(units.outcome), "draw(n, rng) must take all its randomness from rng"
    again, other = (fingerprint(drawn(environment, n, np.random.default_rng(seed))) for seed in (0, 1))
    if fingerprint(units) != again:
        raise DesignError(f"the environment drew other units from the same generator: {must}, and keep no generator")
    if several and n == SAMPLE and other == again and np.nanstd(units.outcome) > 0:
        raise DesignError(f"the environment drew the same {n} units from two generators, so all paths are one: {must}")


def _check_learner(design: object, units: PotentialOutcomes) -> None:
    """Refuse a learner's design that differs from the environment's in more than its features and plans."""
    if design is None:
        return
    if not isinstance(design, Design):
        raise DesignError(f"design= needs a Design, found {shown(design)}")
    true = units.design
    for what in ("name", "arms", "enter_if"):
        own, expected = ([getattr(stage, what) for stage in each.stages] for each in (design, true))
        if own != expected:
            raise DesignError(f"design= differs from the environment's in each stage's {what}: {own}, not {expected}")
    if impossible := sorted(set(design.arm_plans) - set(true.arm_plans)):
        labels = [stage.arms[arm] for stage, arm in zip(true.stages, impossible[0], strict=True)]
        raise DesignError(f"design= has the plan {labels}, which is infeasible in the environment")
    known: list[str] = []
    for stage, columns, context in zip(design.stages, design.columns, units.contexts, strict=True):
        known += context
        if missing := [column for column in columns if column not in known]:
            raise DesignError(
                f"design= needs {missing} at stage {stage.name!r}, where the environment has observed only {known}"
            )


def _require_free_names(learner: Design) -> None:
    if clash := [stage.name for stage in learner.stages if stage.name in COLUMNS]:
        raise DesignError(f"a study has columns {', '.join(COLUMNS)} and one per stage; rename the stage {clash[0]!r}")


# -- policies and closings -------------------------------------------------------------------------------------------


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


def accept_closings(closings: object, design: Design) -> tuple[Closing, ...]:
    """Return closings in the order of their rounds, or say what is wrong with them."""
    if not isinstance(closings, Sequence) or not all(isinstance(each, Closing) for each in closings):
        raise DesignError(f"closings= needs a list such as [Closing(500, 'second', 'ssri')], found {shown(closings)}")
    accepted = sorted(each._replace(round=whole(each.round, "Closing: round", low=1)) for each in closings)
    closed: Barred = ()
    for each in accepted:
        pair = number_of_arm(design, each.stage, each.arm)
        if pair in closed:
            raise DesignError(f"closings= closes the arm {each.arm!r} of stage {each.stage!r} twice")
        require_arms_everywhere(design, each.fact, closed, (*closed, pair))
        closed = tuple(sorted((*closed, pair)))
    return tuple(accepted)
