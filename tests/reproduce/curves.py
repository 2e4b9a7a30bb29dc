"""Studies made by hand, from curves of regret: what claims must tell apart."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
from numpy.typing import NDArray

import dtrbandit as dtr
from dtrbandit.environments import Synthetic
from dtrbandit.reproduce import FIGURES
from dtrbandit.simulation.manifest import Manifest

Array = NDArray[np.float64]
Curve = Callable[[Array, int], Array]  # from rounds and the number of a path to its regret

HORIZON, PATHS = 2_000, 40


def study_of(curves: Mapping[str, Curve], horizon: int = HORIZON) -> dtr.Study:
    """Return the study in which each policy has the regret that its curve says."""
    t = np.arange(horizon + 1.0)
    regret, nothing = {}, np.zeros((PATHS, horizon))
    for name, curve in curves.items():
        totals = np.array([curve(t, path) for path in range(PATHS)])
        regret[name] = np.stack([np.diff(totals, axis=1), nothing], axis=2)
    manifest = Manifest(
        "0", 0, "by hand", "", None, {name: {} for name in curves}, Synthetic().design.to_dict(), 0, horizon
    )
    arms = {name: np.zeros((PATHS, horizon, 2), dtype=np.int8) for name in curves}
    return dtr.Study(manifest, tuple(range(PATHS)), arms, dict.fromkeys(curves, nothing), regret, nothing)


def logarithmic(scale: float) -> Curve:
    return lambda t, path: scale * (1 + path / 1000) * np.log1p(t / 20)


def power(scale: float, exponent: float) -> Curve:
    return lambda t, path: scale * (1 + path / 1000) * t**exponent


def sometimes(share: float, one: Curve, other: Curve) -> Curve:
    """Return a curve that is the one on this share of the paths, and the other on the rest."""
    return lambda t, path: (one if path < share * PATHS else other)(t, path)


def failures(figure: str, curves: dict[str, Curve]) -> list[int]:
    """Return the places of the claims that do not hold."""
    claims = FIGURES[figure].claims(study_of(curves))
    return [place for place, claim in enumerate(claims) if not claim.holds]
