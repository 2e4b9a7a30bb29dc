"""Studies of extensions made by hand: what their claims must tell apart."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

import dtrbandit as dtr
from dtrbandit.reproduce import EXTENSIONS
from dtrbandit.reproduce.extensions import arms, delay, features, one_stage, stages
from dtrbandit.reproduce.extensions.extension import DTRB, Setting
from dtrbandit.reproduce.extensions.forced_rounds import forced_rounds
from reproduce.curves import PATHS, Curve, power, study_of

HORIZON = 10_000  # so that the last two decades have free rounds, also between blocks of 160


def by_hand(curves: Mapping[str, Curve]) -> dict[str, dtr.Study]:
    """Return a study for each setting, in which DTRBandit has the regret that its curve says."""
    return {name: study_of({DTRB: curve}, HORIZON) for name, curve in curves.items()}


def failures(name: str, studies: Mapping[str, dtr.Study]) -> list[int]:
    """Return the places of the claims that do not hold."""
    return [place for place, claim in enumerate(EXTENSIONS[name].claims(studies)) if not claim.holds]


LOGARITHMIC = {
    "delay": (delay.SETTINGS, 1),
    "arms": ({arms.FOUR_ARMS: arms.SETTING}, 3),
    "stages": ({stages.THREE_STAGES: stages.SETTING}, 2),
    "one_stage": ({one_stage.EMBEDDED: one_stage.SETTINGS[one_stage.EMBEDDED]}, 4),
    "features": ({name: features.SETTINGS[name] for name in (features.RIGHT, features.TOO_MANY)}, 1),
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
