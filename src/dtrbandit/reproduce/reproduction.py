"""An experiment, run again: its studies in a folder, its picture and table, and its claims with a verdict.

A ``Figure`` is a figure of the paper: policies on the synthetic problem. An ``Extension`` is what the paper says beyond
its figures: DTRBandit in several settings, a study each, compared.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, TypedDict, Unpack

import numpy as np

from dtrbandit.design.spec import Design
from dtrbandit.design.values import whole
from dtrbandit.environments.potential_outcomes import Environment
from dtrbandit.environments.synthetic import Synthetic
from dtrbandit.kernels.arrays import Array
from dtrbandit.policies.builtin_policy import BuiltinPolicy
from dtrbandit.policies.dtr_bandit import DTRBandit
from dtrbandit.reproduce.claims import FEWEST, Claim, Verdict
from dtrbandit.simulation.inputs import ArrivalOrder, Inputs, Policies
from dtrbandit.simulation.run_paths import simulate_in
from dtrbandit.simulation.study import Study
from dtrbandit.simulation.summary import StudySummary, Totals, summarise

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure as Picture


FIGURE_PATHS, FIGURE_HORIZON = 40, 10_000  # the paper's
EXTENSION_PATHS = 200  # for medians and shares; means need 1,000
EXTENSION_HORIZON = 10_240  # in step with all schedules: 2^k blocks of 20, 40 and 160 rounds
DTRB = "DTRBandit"  # the only policy of each study of an extension
FEWEST_PATHS, SHORTEST = 2, 100  # for intervals, and for two decades of rounds
DOTS_PER_INCH = 160


Studies = Mapping[str, Study]


class Size(TypedDict):
    """How large an experiment is, and how it runs."""

    paths: int
    horizon: int
    seed: int
    n_jobs: int | None
    progress: bool


class Experiment(Protocol):
    """What can be reproduced. It knows its name and its usual size."""

    @property
    def name(self) -> str:
        """Its name, and that of its files."""

    @property
    def paths(self) -> int:
        """How many paths it has by default."""

    @property
    def horizon(self) -> int:
        """How many rounds a path has by default."""

    def run(self, folder: Path, **size: Unpack[Size]) -> Reproduction:
        """Run it in a folder, or go on with it."""


@dataclass(frozen=True)
class Figure:
    """A figure of the paper's section 5.2: policies on the synthetic problem, what is claimed of them, a picture."""

    name: str
    policies: Mapping[str, BuiltinPolicy]
    claims: Callable[[Study], tuple[Claim, ...]]
    draw: Callable[[Study], Picture]
    paths: int = FIGURE_PATHS
    horizon: int = FIGURE_HORIZON

    def run(self, folder: Path, **size: Unpack[Size]) -> Reproduction:
        """Run the study, or go on with it; write its picture and its curves beside it."""
        study = study_in(folder, size, Synthetic(), self.policies)
        files = written(study.regret(), self.draw(study), folder, name=self.name)
        return Reproduction(self.name, study.summary(), self.claims(study), files, more_paths(size["paths"]))


class Table(Protocol):
    """A table that prints itself."""

    def records(self) -> list[dict[str, object]]:
        """Return its rows, by name of column."""


@dataclass(frozen=True)
class Reproduction:
    """What came out: a table, the claims, and the files that were written.

    ``more_paths`` says what more paths would tell, if they would.
    """

    name: str
    table: Table
    claims: tuple[Claim, ...]
    files: tuple[Path, ...]
    more_paths: str = ""

    @property
    def advice(self) -> str:
        """What to do about claims that cannot be told; nothing if there are none."""
        return self.more_paths if any(claim.verdict is Verdict.OPEN for claim in self.claims) else ""

    @property
    def refuted(self) -> bool:
        """Whether a claim is refuted."""
        return any(claim.refuted for claim in self.claims)


def reproduce(
    experiment: Experiment,
    folder: str | Path,
    *,
    paths: int | None = None,
    horizon: int | None = None,
    seed: int = 0,
    n_jobs: int | None = None,
    progress: bool = False,
) -> Reproduction:
    """Run an experiment in a folder, or go on with it; write its picture and its curves there too.

    Without ``paths`` or ``horizon`` it has its usual size.
    """
    size: Size = {
        "paths": whole(experiment.paths if paths is None else paths, f"{experiment.name}: paths", low=FEWEST_PATHS),
        "horizon": whole(
            experiment.horizon if horizon is None else horizon, f"{experiment.name}: horizon", low=SHORTEST
        ),
        "seed": seed,
        "n_jobs": n_jobs,
        "progress": progress,
    }
    return experiment.run(Path(folder), **size)


def more_paths(paths: int) -> str:
    """Say how many paths claims about means need, and how long these would take.

    Examples
    --------
    >>> more_paths(1_000)
    ''
    """
    if paths >= FEWEST:
        return ""
    return (
        f"Claims about mean regret need {FEWEST:,} paths: --paths {FEWEST} goes on with this study. It takes about "
        f"{FEWEST / paths - 1:.0f} times as long again."
    )


def study_in(
    folder: Path,
    size: Size,
    environment: Environment,
    policies: Policies,
    *,
    arrivals: ArrivalOrder | None = None,
    design: Design | None = None,
) -> Study:
    """Run a study of this size in a folder, or go on with it."""
    horizon, paths, seed = size["horizon"], size["paths"], size["seed"]
    inputs = Inputs(environment, policies, horizon=horizon, paths=paths, seed=seed, arrivals=arrivals, design=design)
    return simulate_in(folder, inputs, n_jobs=size["n_jobs"], progress=size["progress"])


def written(curves: pd.DataFrame, picture: Picture, folder: Path, *, name: str) -> tuple[Path, ...]:
    """Write a picture, and curves of regret as CSV, into a folder."""
    drawn, table = folder / f"{name}.png", folder / f"{name}.csv"
    picture.savefig(drawn, dpi=DOTS_PER_INCH)
    curves.to_csv(table, index=False, float_format="%.6g")
    return drawn, table


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
    paths: int = EXTENSION_PATHS
    horizon: int = EXTENSION_HORIZON

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
        summary, claims = summary_of(studies), self.claims(studies)
        return Reproduction(self.name, summary, claims, files, more_paths(size["paths"]))


def final_regret(study: Study) -> Array:
    """Return the regret of each path at the horizon, (paths,)."""
    return study.total_regret(DTRB, [study.horizon])[:, 0]


def late_regret(study: Study) -> Array:
    """Return the regret of each path in the second half of the rounds, (paths,)."""
    half, end = study.total_regret(DTRB, np.array([study.horizon // 2, study.horizon])).T
    late: Array = end - half
    return late


def stage_regret(study: Study) -> Array:
    """Return the regret of each path, round and stage, (paths, horizon, M)."""
    assert study.stage_regret is not None  # the problems of extensions know their Q-functions
    return study.stage_regret[DTRB]


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
