"""Studies of extensions made by hand: what their claims must tell apart."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

import dtrbandit as dtr
from dtrbandit.reproduce import EXTENSIONS
from dtrbandit.reproduce.extensions import arms, delay, features, one_stage, stages
from dtrbandit.reproduce.rates import forced_rounds
from dtrbandit.reproduce.reproduction import DTRB, Setting
from reproduce.curves import PATHS, RegretCurve, marks, power, study_of, study_with
from reproduce.impostors import RUNS, Law, noisy

HORIZON = 10_000  # so that the last two decades have free rounds, also between blocks of 160


def by_hand(curves: Mapping[str, RegretCurve]) -> dict[str, dtr.Study]:
    """Return a study for each setting, in which DTRBandit has the regret that its curve says."""
    return {name: study_of({DTRB: curve}, HORIZON) for name, curve in curves.items()}


def verdicts_on(name: str, studies: Mapping[str, dtr.Study]) -> str:
    """Return the verdicts on an extension's claims."""
    return marks(EXTENSIONS[name].claims(studies, studies))


def held(name: str, studies: Callable[[np.random.Generator], Mapping[str, dtr.Study]]) -> NDArray[np.int64]:
    """Count for each claim the runs in which it holds."""
    drawn = (studies(np.random.default_rng(seed)) for seed in range(RUNS))
    runs = (EXTENSIONS[name].claims(own, own) for own in drawn)
    counts: NDArray[np.int64] = np.array([[claim.holds for claim in claims] for claims in runs]).sum(axis=0)
    return counts


def by_law(laws: Mapping[str, Law], rng: np.random.Generator, *, horizon: int = 640) -> dict[str, dtr.Study]:
    """Return a study for each setting, in which DTRBandit follows a law with noise."""
    return {name: study_with({DTRB: noisy(law, rng, horizon=horizon)}) for name, law in laws.items()}


LOGARITHMIC = {
    "delay": (delay.SETTINGS, 3),
    "arms": ({arms.FOUR_ARMS: arms.SETTING}, 5),
    "stages": ({stages.THREE_STAGES: stages.SETTING}, 3),
    "one_stage": ({one_stage.EMBEDDED: one_stage.SETTINGS[one_stage.EMBEDDED]}, 6),
    "features": ({name: features.SETTINGS[name] for name in (features.RIGHT, features.TOO_MANY)}, 3),
}


def free_rounds(
    settings: Mapping[str, Setting], exponents: Sequence[float], *, forced: float = 1.0, free: float = 1.0
) -> dict[str, dtr.Study]:
    """Return studies whose forced rounds cost the same, and whose free rounds t cost t to these exponents less 1."""
    studies = {}
    for (name, setting), exponent in zip(settings.items(), exponents, strict=True):
        t, paths = np.arange(1.0, HORIZON + 1), 1 + np.arange(PATHS)[:, None] / 1000
        rounds = np.where(forced_rounds(HORIZON, setting), forced, free * t ** (exponent - 1)) * paths
        both = np.stack([rounds, 0 * rounds], axis=2)
        studies[name] = replace(study_of({DTRB: power(1.0, 1.0)}, HORIZON), stage_regret={DTRB: both})
    return studies
