"""The command ``simulate``: a study file, run in a folder."""

from __future__ import annotations

from pathlib import Path

from dtrbandit.cli.show import Result
from dtrbandit.reproduce.reproduction import written
from dtrbandit.simulation.run_paths import simulate_in
from dtrbandit.simulation.study_toml import read_study


def run_file(file: Path, folder: Path, *, paths: int | None, n_jobs: int) -> Result:
    """Run the study that a file describes, in a folder; ``paths``, if given, replaces the file's."""
    from matplotlib.figure import Figure as Picture

    study = simulate_in(folder, read_study(file, paths=paths), n_jobs=n_jobs, progress=True)
    picture = Picture(figsize=(7.5, 4.5), layout="constrained")
    study.plot(picture.subplots(), paths=True)
    return Result(file.stem, study.summary(), written(study.regret(), picture, folder, name=file.stem))
