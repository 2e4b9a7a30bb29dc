"""An experiment, run again: its studies in a folder, its picture and table, and its claims with a verdict."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, TypedDict, Unpack

from dtrbandit.design.spec import Design
from dtrbandit.design.values import whole
from dtrbandit.environments.potential_outcomes import Environment
from dtrbandit.environments.synthetic import Synthetic
from dtrbandit.policies.builtin_policy import BuiltinPolicy
from dtrbandit.reproduce.claims import Claim, Verdict
from dtrbandit.reproduce.over_paths import FEWEST
from dtrbandit.simulation.in_folder import simulate_in
from dtrbandit.simulation.inputs import ArrivalOrder, Inputs, Policies
from dtrbandit.simulation.study import Study

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure as Picture

PATHS, HORIZON = 40, 10_000  # the paper's
FEWEST_PATHS, SHORTEST = 2, 100  # for intervals, and for two decades of rounds
DOTS_PER_INCH = 160


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
        """How many paths it has, unless told otherwise."""

    @property
    def horizon(self) -> int:
        """How many rounds a path has, unless told otherwise."""

    def run(self, folder: Path, **size: Unpack[Size]) -> Reproduction:
        """Run it in a folder, or go on with it."""


@dataclass(frozen=True)
class Figure:
    """A figure of the paper's section 5.2: policies on the synthetic problem, what is claimed of them, a picture."""

    name: str
    policies: Mapping[str, BuiltinPolicy]
    claims: Callable[[Study], tuple[Claim, ...]]
    draw: Callable[[Study], Picture]
    paths: int = PATHS
    horizon: int = HORIZON

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
