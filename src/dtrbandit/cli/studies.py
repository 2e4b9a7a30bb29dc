"""Study files from the command line."""

from __future__ import annotations

from pathlib import Path

from dtrbandit.reproduce import Reproduction
from dtrbandit.reproduce.reproduction import written
from dtrbandit.simulation.in_folder import simulate_in
from dtrbandit.simulation.study_toml import read_study


def run_file(file: Path, folder: Path, *, paths: int | None, n_jobs: int) -> Reproduction:
    """Run the study that a file describes, in a folder; ``paths`` stands in for the file's."""
    from matplotlib.figure import Figure as Picture

    asked = read_study(file)
    study = simulate_in(
        folder,
        asked.environment,
        asked.policies,
        horizon=asked.horizon,
        paths=asked.paths if paths is None else paths,
        seed=asked.seed,
        n_jobs=n_jobs,
        arrivals=asked.arrivals,
        design=asked.design,
        progress=True,
    )
    picture = Picture(figsize=(7.5, 4.5), layout="constrained")
    study.plot(picture.subplots(), paths=True)
    return Reproduction(file.stem, study.summary(), (), written(study.regret(), picture, folder, name=file.stem))
