"""Studies made by hand, from curves of regret: what claims must tell apart."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

import dtrbandit as dtr
from dtrbandit.environments import Synthetic
from dtrbandit.kernels.arrays import Array
from dtrbandit.reproduce import FIGURES, Claim
from dtrbandit.simulation.manifest import Manifest

RegretCurve = Callable[[Array, int], Array]  # from rounds and the number of a path to its regret

HORIZON, PATHS = 2_000, 40


def study_of(curves: Mapping[str, RegretCurve], horizon: int = HORIZON) -> dtr.Study:
    """Return the study in which each policy has the regret that its curve says."""
    t = np.arange(horizon + 1.0)
    rounds = {name: [np.diff(curve(t, path)) for path in range(PATHS)] for name, curve in curves.items()}
    return study_with({name: np.array(regret) for name, regret in rounds.items()})


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
    return lambda t, path: (one if path < share * PATHS else other)(t, path)


def marks(claims: tuple[Claim, ...]) -> str:
    """Return a character for each claim: ✓ holds, ✗ refuted, ? cannot be told."""
    return "".join(claim.verdict.mark for claim in claims)


def verdicts_on(figure: str, curves: dict[str, RegretCurve]) -> str:
    """Return the verdicts on a figure's claims."""
    return marks(FIGURES[figure].claims(study_of(curves)))
