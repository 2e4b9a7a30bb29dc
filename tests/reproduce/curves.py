"""Studies made by hand, from curves of regret: what claims must tell apart."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

import dtrbandit as dtr
from dtrbandit.environments import Synthetic
from dtrbandit.kernels.arrays import Array
from dtrbandit.reproduce import FIGURES, Claim
from dtrbandit.rounds import Times, times
from dtrbandit.simulation.manifest import Manifest

RegretCurve = Callable[[Array, int], Array]  # from rounds and the number of a path to its regret

HORIZON, PATHS = 2_000, 40
MANY = 1_000  # as many as claims about means need


def study_of(curves: Mapping[str, RegretCurve], horizon: int = HORIZON) -> dtr.Study:
    """Return the study in which each policy has the regret that its curve says."""
    t = np.arange(horizon + 1.0)
    rounds = {name: [np.diff(curve(t, path)) for path in range(PATHS)] for name, curve in curves.items()}
    return study_with({name: np.array(regret) for name, regret in rounds.items()})


@dataclass(frozen=True)
class ManyPaths:
    """The regret of more paths than a study of hand would have room for; the first are those of ``study_of``."""

    curves: Mapping[str, RegretCurve]
    paths: int = MANY
    horizon: int = HORIZON

    def total_regret(self, policy: str, at: Times = None) -> Array:
        """Return the regret of each path up to rounds, (paths, points)."""
        rounds, curve = times(self.horizon, at), self.curves[policy]
        start = np.zeros(1)
        return np.stack([curve(rounds.astype(float), path) - curve(start, path) for path in range(self.paths)])


def study_with(regret: Mapping[str, Array]) -> dtr.Study:
    """Return the study in which each policy has this regret in each round of stage 1, (paths, horizon)."""
    paths, horizon = next(iter(regret.values())).shape
    nothing = np.zeros((paths, horizon))
    manifest = Manifest(
        "0", 0, "by hand", "", None, {name: {} for name in regret}, Synthetic().design.to_dict(), 0, horizon
    )
    arms = {name: np.zeros((paths, horizon, 2), dtype=np.int8) for name in regret}
    both = {name: np.moveaxis(np.stack([each, nothing]), 0, 2) for name, each in regret.items()}  # sums fast
    return dtr.Study(manifest, tuple(range(paths)), arms, dict.fromkeys(regret, nothing), both, nothing)


def logarithmic(scale: float) -> RegretCurve:
    return lambda t, path: scale * (1 + path / 1000) * np.log1p(t / 20)


def power(scale: float, exponent: float) -> RegretCurve:
    return lambda t, path: scale * (1 + path / 1000) * t**exponent


def sometimes(share: float, one: RegretCurve, other: RegretCurve) -> RegretCurve:
    """Return a curve that is the one on this share of the paths, and the other on the rest."""
    return lambda t, path: (one if path % PATHS < share * PATHS else other)(t, path)


def verdicts_on_many(figure: str, curves: dict[str, RegretCurve], paths: int = MANY) -> str:
    """Return the verdicts on a figure's claims, from as many paths as means need."""
    return marks(FIGURES[figure].claims(ManyPaths(curves, paths)))


def marks(claims: tuple[Claim, ...]) -> str:
    """Return a character for each claim: ✓ holds, ✗ refuted, ? cannot be told."""
    return "".join(claim.verdict.mark for claim in claims)


def verdicts_on(figure: str, curves: dict[str, RegretCurve]) -> str:
    """Return the verdicts on a figure's claims."""
    return marks(FIGURES[figure].claims(study_of(curves)))
