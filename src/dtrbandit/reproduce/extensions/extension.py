"""An extension of the paper's experiments: DTRBandit in several settings, a study each, compared."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Unpack

import numpy as np

from dtrbandit.design.spec import Design
from dtrbandit.environments.potential_outcomes import Environment
from dtrbandit.kernels.arrays import Array
from dtrbandit.policies.dtr_bandit import DTRBandit
from dtrbandit.reproduce.claims import Claim
from dtrbandit.reproduce.rates import Curve, curve
from dtrbandit.reproduce.reproduction import Reproduction, Size, more_paths, study_in, written
from dtrbandit.simulation.inputs import ArrivalOrder
from dtrbandit.simulation.study import Study
from dtrbandit.simulation.summary import StudySummary, Totals, summarise

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure as Picture

DTRB = "DTRBandit"  # the only policy of each study
PATHS = 200  # for medians and shares; means need 1,000
HORIZON = 10_240  # in step with all schedules: 2^k blocks of 20, 40 and 160 rounds

Studies = Mapping[str, Study]


@dataclass(frozen=True)
class Setting:
    """Where DTRBandit plays, and with which parameters; ``design`` is the learner's, if that differs."""

    environment: Environment
    policy: DTRBandit
    arrivals: ArrivalOrder | None = None
    design: Design | None = None

    @property
    def block(self) -> int:
        """How many rounds a block of the schedule has."""
        return len((self.design or self.environment.design).arm_plans) * self.policy.q


@dataclass(frozen=True)
class Extension:
    """What the paper says beyond its figures: settings by name, what is claimed of them, a picture."""

    name: str
    settings: Mapping[str, Setting]
    claims: Callable[[Studies], tuple[Claim, ...]]
    draw: Callable[[Studies], Picture]
    paths: int = PATHS
    horizon: int = HORIZON

    def run(self, folder: Path, **size: Unpack[Size]) -> Reproduction:
        """Run a study for each setting, in a folder each, or go on with it; compare them."""
        studies = {
            name: study_in(
                folder / name.replace(" ", "-"),
                size,
                setting.environment,
                {DTRB: setting.policy},
                arrivals=setting.arrivals,
                design=setting.design,
            )
            for name, setting in self.settings.items()
        }
        files = written(curves_of(studies), self.draw(studies), folder, name=self.name)
        told = self.claims(studies)
        return Reproduction(self.name, summary_of(studies), told, files, more_paths(size["paths"]))


def final_regret(study: Study) -> Array:
    """Return the regret of each path at the horizon, (paths,)."""
    return study.total_regret(DTRB, [study.horizon])[:, 0]


def late_regret(study: Study) -> Array:
    """Return the regret of each path in the second half of the rounds, (paths,)."""
    half, end = study.total_regret(DTRB, np.array([study.horizon // 2, study.horizon])).T
    late: Array = end - half
    return late


def curves_by_setting(studies: Studies, settings: Mapping[str, Setting]) -> dict[str, Curve]:
    """Return the curve of each of these settings."""
    return {name: curve(studies[name], DTRB, block=setting.block) for name, setting in settings.items()}


def summary_of(studies: Studies) -> StudySummary:
    """Compare settings at the horizon; pairwise with the first where all met the same units."""
    final = {name: final_regret(study) for name, study in studies.items()}
    half = {name: final[name] - late_regret(study) for name, study in studies.items()}
    one = next(iter(studies.values()))
    summary = replace(summarise(Totals(final, half, one.horizon), seed=one.manifest.seed), rows="setting")
    same_units = len({study.manifest.fingerprint for study in studies.values()}) == 1
    return summary if same_units else replace(summary, differences=())


def curves_of(studies: Studies) -> pd.DataFrame:
    """Return the curves of regret, as ``Study.regret`` gives them, with the setting in place of the policy."""
    import pandas as pd

    frames = [study.regret().assign(policy=name) for name, study in studies.items()]
    return pd.concat(frames, ignore_index=True).rename(columns={"policy": "setting"})
