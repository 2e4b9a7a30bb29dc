"""A figure of the paper, run again: its study in a folder, its picture and table, and its claims with a verdict."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from dtrbandit.design.parameters import whole
from dtrbandit.environments.synthetic import Synthetic
from dtrbandit.policies.compiled_policy import CompiledPolicy
from dtrbandit.simulation.folder import simulate_in
from dtrbandit.simulation.reproduce.claims import Claim
from dtrbandit.simulation.study import Study
from dtrbandit.simulation.summary import StudySummary

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture

PATHS, HORIZON = 40, 10_000  # the paper's
FEWEST_PATHS, SHORTEST = 2, 100  # for intervals, and for two decades of rounds
DOTS_PER_INCH = 160


@dataclass(frozen=True)
class Figure:
    """A figure of the paper's section 5.2: policies on the synthetic problem, what is claimed of them, a picture."""

    name: str
    policies: Mapping[str, CompiledPolicy]
    claims: Callable[[Study], tuple[Claim, ...]]
    draw: Callable[[Study], Picture]


@dataclass(frozen=True)
class Reproduction:
    """What came out: a table with a row per policy, the claims, and the files that were written.

    Attributes
    ----------
    table
        The regret of each policy at the horizon.
    """

    name: str
    table: StudySummary
    claims: tuple[Claim, ...]
    files: tuple[Path, ...]

    @property
    def holds(self) -> bool:
        """Whether every claim holds."""
        return all(claim.holds for claim in self.claims)


def reproduce(
    figure: Figure,
    folder: str | Path,
    *,
    paths: int = PATHS,
    horizon: int = HORIZON,
    seed: int = 0,
    n_jobs: int | None = None,
    progress: bool = False,
) -> Reproduction:
    """Run a figure's study in a folder, or go on with it; write its picture and its curves there too."""
    whole(paths, f"{figure.name}: paths", low=FEWEST_PATHS)
    whole(horizon, f"{figure.name}: horizon", low=SHORTEST)
    study = simulate_in(
        Path(folder),
        Synthetic(),
        figure.policies,
        horizon=horizon,
        paths=paths,
        seed=seed,
        n_jobs=n_jobs,
        progress=progress,
    )
    files = written(study, figure.draw(study), Path(folder), name=figure.name)
    return Reproduction(figure.name, study.summary(), figure.claims(study), files)


def written(study: Study, picture: Picture, folder: Path, *, name: str) -> tuple[Path, ...]:
    """Write a study's picture, and its curves of regret as CSV, into its folder."""
    drawn, curves = folder / f"{name}.png", folder / f"{name}.csv"
    picture.savefig(drawn, dpi=DOTS_PER_INCH)
    study.regret().to_csv(curves, index=False, float_format="%.6g")
    return drawn, curves
