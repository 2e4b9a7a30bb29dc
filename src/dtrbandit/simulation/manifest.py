"""The manifest of a study: what makes two runs the same study, as plain values."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields

import numpy as np

from dtrbandit._version import NUMERICS, __version__
from dtrbandit.design.differences import difference
from dtrbandit.design.identity import describe
from dtrbandit.policies.registry import policy_to_dict
from dtrbandit.simulation.inputs import Inputs

ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+(?=>)")


@dataclass(frozen=True)
class Manifest:
    """Everything that results depend on, except which paths were run.

    Attributes
    ----------
    environment, arrivals
        Their repr.
    fingerprint
        A hash of a few drawn units. An environment that draws other units is another one, whatever its repr says.
    policies
        By name, as plain values.
    design
        The learner's, as plain values.
    prior
        How many units of an earlier trial taught, and a hash of what they taught; None without one.
    """

    version: str
    numerics: int
    environment: str
    fingerprint: str
    arrivals: str | None
    policies: Mapping[str, Mapping[str, object]]
    design: Mapping[str, object]
    seed: int
    horizon: int
    closings: list[list[object]] = field(default_factory=list)  # rounds, stages and arms
    prior: str | None = None

    @property
    def stages(self) -> tuple[str, ...]:
        """The names of the stages."""
        return tuple(stage["name"] for stage in self.design["stage"])  # type: ignore[attr-defined]  # Design.to_dict

    def difference(self, other: Manifest) -> str | None:
        """Say in what another study differs, or return None. The release may differ; the numerics may not."""
        for each in fields(self):
            own, others = getattr(self, each.name), getattr(other, each.name)
            if each.name == "policies" and own == others and list(own) != list(others):
                return f"the order of policies is {list(own)} there and {list(others)} here"
            if each.name != "version" and (found := difference(own, others, each.name)):
                return found
        return None


def manifest_of(inputs: Inputs) -> Manifest:
    """Return what identifies a study."""
    manifest = Manifest(
        version=__version__,
        numerics=NUMERICS,
        environment=name_of(inputs.environment),
        fingerprint=inputs.fingerprint,
        arrivals=_arrivals_of(inputs),
        policies={name: policy_to_dict(policy) for name, policy in inputs.players.items()},
        design=inputs.learner.to_dict(),
        seed=inputs.seed,
        horizon=inputs.horizon,
        closings=[list(each) for each in inputs.closings],
        prior=_prior_of(inputs),
    )
    plain = ADDRESS.sub("", json.dumps(asdict(manifest)))  # functions are elsewhere in the next process
    return Manifest(**json.loads(plain))  # as a file would give it back


def name_of(thing: object) -> str:
    """Return the repr of a thing, or the name of its class where the repr is only an address."""
    return describe(type(thing)) if _nameless(thing) else repr(thing)


def _nameless(thing: object) -> bool:
    return type(thing).__repr__ is object.__repr__


def _arrivals_of(inputs: Inputs) -> str | None:
    """Return the repr of arrivals; where that is only an address, their class and a hash of the order they give."""
    arrivals = inputs.arrivals
    if arrivals is None or not _nameless(arrivals):
        return None if arrivals is None else name_of(arrivals)
    events = arrivals.events(inputs.horizon, len(inputs.learner.stages), np.random.default_rng(0))
    digest = hashlib.sha256(np.asarray(events, dtype=np.int64).tobytes()).hexdigest()
    return f"{name_of(arrivals)} ({digest[:16]})"


def _prior_of(inputs: Inputs) -> str | None:
    """Return the number of units that taught, and a hash of what they did."""
    if inputs.lessons is None:
        return None
    digest = hashlib.sha256(b"".join(np.ascontiguousarray(each).tobytes() for each in inputs.lessons[1:]))
    return f"{inputs.taught} units ({digest.hexdigest()[:16]})"
