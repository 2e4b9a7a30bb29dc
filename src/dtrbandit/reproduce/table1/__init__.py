"""Table 1: online algorithms on STAR*D by replay (label "table: stard"), on simulated patients or on a file's."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Unpack

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from dtrbandit.datasets.stard import COHORT_SEED
from dtrbandit.environments.stard import STARD
from dtrbandit.evaluation import Replay
from dtrbandit.parallel import map_unordered
from dtrbandit.reproduce.reproduction import Reproduction, Size, written
from dtrbandit.reproduce.table1.patients import Patients, play_cohorts, played, players
from dtrbandit.reproduce.table1.printed import PrintedTable, draw
from dtrbandit.reproduce.table1.results import Results
from dtrbandit.reproduce.table1.versions import COMPUTED, TEXT
from dtrbandit.simulation.run_paths import simulate

PATHS_OF_TEXT = 20  # at the most
OF_TRUTH = 2.5  # times as many paths: where 80 are replayed, 200 are simulated, and means have intervals


@dataclass(frozen=True, kw_only=True)
class Table1:
    """The paper's Table 1, on the patients of a file, or without one on simulated patients of a seed."""

    name: str = "table1"
    paths: int = 80  # the first ten are the paper's number
    horizon: int = 5_000
    data: Path | None = None
    cohort_seed: int = COHORT_SEED

    def on(self, data: Path) -> Table1:
        """Return the table on the patients of a file."""
        return replace(self, data=data)

    def run(self, folder: Path, **size: Unpack[Size]) -> Reproduction:
        """Replay every algorithm, as published and by the text.

        Where patients are simulated, also replay it on other cohorts, and find its true mean outcome on new patients.
        """
        patients = Patients.simulated(self.cohort_seed) if self.data is None else Patients.read(self.data)
        folder.mkdir(parents=True, exist_ok=True)
        fewer: Size = {**size, "paths": min(size["paths"], PATHS_OF_TEXT)}
        results = Results(
            patients,
            _replays(patients, size, "replays"),
            text=_replays(patients.by(TEXT), fewer, "replays, the text's version"),
            cohorts=play_cohorts(size) if self.data is None else None,
            truth=_truth(size) if self.data is None else None,
        )
        return Reproduction(self.name, PrintedTable(results), results.claims, _written(results, folder, self.name))


def _replays(patients: Patients, size: Size, what: str) -> Mapping[str, Replay]:
    play = partial(_play, patients=patients, size=size)
    names = list(players(patients.version))
    return dict(map_unordered(play, names, n_jobs=1, progress=what if size["progress"] else None))


def _play(name: str, *, patients: Patients, size: Size) -> tuple[str, Replay]:
    return name, played(name, patients, size)


def _truth(size: Size) -> Mapping[str, NDArray[np.float64]]:
    """Return the true mean outcome of each algorithm on each path: the best regime's value less its regret."""
    policies, horizon, best = players(COMPUTED), size["horizon"], STARD().optimal_value
    more: Size = {**size, "paths": int(OF_TRUTH * size["paths"])}
    study = simulate(STARD(), policies, **more)
    return {name: best - study.total_regret(name, [horizon])[:, 0] / horizon for name in policies}


def _written(results: Results, folder: Path, name: str) -> tuple[Path, ...]:
    """Write the picture, the table, and the patients if they are simulated."""
    files = written(pd.DataFrame(PrintedTable(results).records()), draw(results), folder, name=name)
    if results.patients.seed is None:
        return files
    cohort = folder / "cohort.csv"
    results.patients.table.to_csv(cohort, index=False)
    return *files, cohort


TABLE1 = Table1()
EXPERIMENTS = {".": TABLE1}
