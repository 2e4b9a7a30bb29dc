"""An experiment, run again: its studies in a folder, its picture and table, and its claims with a verdict.

A ``Figure`` is a figure of the paper: policies on the synthetic problem. An ``Extension`` is what the paper says beyond
its figures: DTRBandit in several settings, a study each, compared.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
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
from dtrbandit.reproduce.more_paths import MorePaths, Regret, more_paths, rounds_of_claims
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
Regrets = Mapping[str, Regret]  # of settings, with the paths that claims need


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
    claims: Callable[[Regret], tuple[Claim, ...]]
    draw: Callable[[Study], Picture]
    claim_paths: Mapping[str, int] = field(default_factory=dict)  # of policies: paths that claims about them need
    blocks: Sequence[int] = ()  # rounds of a block of the schedules
    paths: int = FIGURE_PATHS
    horizon: int = FIGURE_HORIZON

    def run(self, folder: Path, **size: Unpack[Size]) -> Reproduction:
        """Run the study, or go on with it; write its picture and its curves beside it; judge by more paths."""
        inputs = inputs_of(size, Synthetic(), self.policies)
        study = study_in(folder, size, inputs)
        files = written(study.regret(), self.draw(study), folder, name=self.name)
        counts = claim_paths(self.claim_paths, size["paths"], self.paths)
        regret = with_more_paths(study, inputs, counts, self.blocks, size)
        basis, advice = describe_paths(self.claim_paths, counts), more_paths_advice(counts, self.paths)
        return Reproduction(self.name, study.summary(), self.claims(regret), files, advice, basis)


class Table(Protocol):
    """A table that prints itself."""

    def records(self) -> list[dict[str, object]]:
        """Return its rows, by name of column."""


@dataclass(frozen=True)
class Reproduction:
    """What came out: a table, the claims, and the files that were written.

    ``more_paths`` says what more paths would tell, if they would. ``basis`` says on how many paths claims rest, where
    these are not those of the table.
    """

    name: str
    table: Table
    claims: tuple[Claim, ...]
    files: tuple[Path, ...]
    more_paths: str = ""
    basis: str = ""

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


def claim_paths(needed: Mapping[str, int], paths: int, usual: int) -> dict[str, int]:
    """Return how many paths claims get where a picture has so many, and usually has ``usual``: fewer in proportion.

    Examples
    --------
    >>> [claim_paths({"Greedy": 1_000}, paths, 40) for paths in (4, 40, 400, 4_000)]
    [{'Greedy': 100}, {'Greedy': 1000}, {'Greedy': 1000}, {'Greedy': 4000}]
    """
    return {name: max(paths, count * min(paths, usual) // usual) for name, count in needed.items()}


def describe_paths(needed: Mapping[str, int], counts: Mapping[str, int]) -> str:
    """Say on how many paths claims rest, and how many they need.

    Examples
    --------
    >>> describe_paths({"Greedy": 1_000, "A": 1_000, "B": 4_000}, {"Greedy": 1_000, "A": 1_000, "B": 4_000})
    'Claims that need more paths than the picture rest on 1,000 of Greedy and A, and on 4,000 of B.'
    >>> describe_paths({"Greedy": 1_000}, {"Greedy": 50})
    'Claims that need more paths than the picture rest on 50 of Greedy (they need 1,000).'
    """
    if not counts:
        return ""
    parts = []
    for count in sorted(set(counts.values())):
        names = [name for name, own in counts.items() if own == count]
        short = {needed[name] for name in names if needed[name] > count}
        listed = " and ".join([", ".join(names[:-1]), names[-1]] if names[:-1] else names)
        lack = f" (they need {max(short):,})" if short else ""
        parts.append(f"on {count:,} of {listed}{lack}")
    return f"Claims that need more paths than the picture rest {', and '.join(parts)}."


def more_paths_advice(counts: Mapping[str, int], usual: int) -> str:
    """Say how many paths claims about means need, if they have fewer.

    Examples
    --------
    >>> more_paths_advice({"Greedy": 1_000}, 40)
    ''
    """
    fewest = min(counts.values(), default=FEWEST)
    if fewest >= FEWEST:
        return ""
    return (
        f"Claims about mean regret need {FEWEST:,} paths, and get {fewest:,} here: they get fewer in "
        f"proportion where --paths is below {usual}. --paths {usual} goes on with this study."
    )


def inputs_of(
    size: Size,
    environment: Environment,
    policies: Policies,
    *,
    arrivals: ArrivalOrder | None = None,
    design: Design | None = None,
) -> Inputs:
    """Return the inputs of a study of this size."""
    horizon, paths, seed = size["horizon"], size["paths"], size["seed"]
    return Inputs(environment, policies, horizon=horizon, paths=paths, seed=seed, arrivals=arrivals, design=design)


def study_in(folder: Path, size: Size, inputs: Inputs) -> Study:
    """Run a study in a folder, or go on with it."""
    return simulate_in(folder, inputs, n_jobs=size["n_jobs"], progress=size["progress"])


def with_more_paths(
    study: Study, inputs: Inputs, counts: Mapping[str, int], blocks: Iterable[int], size: Size
) -> MorePaths:
    """Return a study with the paths that claims get."""
    rounds = rounds_of_claims(size["horizon"], blocks)
    return more_paths(study, inputs, counts, rounds=rounds, n_jobs=size["n_jobs"], progress=size["progress"])


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
    claims: Callable[[Studies, Regrets], tuple[Claim, ...]]
    draw: Callable[[Studies], Picture]
    claim_paths: Mapping[str, int] = field(default_factory=dict)  # of settings, for claims about growth and means
    paths: int = EXTENSION_PATHS
    horizon: int = EXTENSION_HORIZON

    def run(self, folder: Path, **size: Unpack[Size]) -> Reproduction:
        """Run a study for each setting, in a folder each, or go on with it; compare them; judge by more paths."""
        counts = claim_paths(self.claim_paths, size["paths"], self.paths)
        studies: dict[str, Study] = {}
        regrets: dict[str, MorePaths] = {}
        for name, setting in self.settings.items():
            inputs = inputs_of(
                size,
                setting.environment,
                {DTRB: setting.policy},
                arrivals=setting.arrivals,
                design=setting.design,
            )
            study = studies[name] = study_in(folder / name.replace(" ", "-"), size, inputs)
            own = {DTRB: counts[name]} if name in counts else {}
            regrets[name] = with_more_paths(study, inputs, own, [setting.block], size)
        files = written(curves_of(studies), self.draw(studies), folder, name=self.name)
        claims, basis = self.claims(studies, regrets), describe_paths(self.claim_paths, counts)
        advice = more_paths_advice(counts, self.paths)
        return Reproduction(self.name, summary_of(studies), claims, files, advice, basis)


def final_regret(regret: Regret) -> Array:
    """Return the regret of each path at the horizon, (paths,)."""
    return regret.total_regret(DTRB, [regret.horizon])[:, 0]


def late_regret(regret: Regret) -> Array:
    """Return the regret of each path in the second half of the rounds, (paths,)."""
    half, end = regret.total_regret(DTRB, np.array([regret.horizon // 2, regret.horizon])).T
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
