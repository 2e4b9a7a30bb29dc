"""Run a study in a folder, or go on with the one that the folder holds."""

from __future__ import annotations

from pathlib import Path

from dtrbandit.errors import DesignError
from dtrbandit.parallel import check_jobs
from dtrbandit.simulation.inputs import Inputs
from dtrbandit.simulation.manifest import manifest_of
from dtrbandit.simulation.run_paths import StudyError, StudyInterrupted, run_paths
from dtrbandit.simulation.saved import MANIFEST, load_study, made_folder
from dtrbandit.simulation.study import Study


def simulate_in(folder: Path, inputs: Inputs, *, n_jobs: int | None = None, progress: bool = False) -> Study:
    """Run the paths of a study that the folder does not hold yet, and keep every finished path in it.

    Finished paths are also kept when the study stops on the way. A folder that holds another study is an error. It
    is raised before anything runs.
    """
    earlier = load_study(folder) if (folder / MANIFEST).exists() else None
    if earlier and (difference := earlier.manifest.difference(manifest_of(inputs))):
        raise DesignError(f"{folder} holds another study: {difference}; choose another folder, or remove that one")
    check_jobs(n_jobs)
    made_folder(folder)  # now, lest hours of work find no place
    try:
        study = run_paths(inputs, n_jobs=n_jobs, resume=earlier, progress=progress)
    except (StudyInterrupted, StudyError) as stopped:
        _keep(stopped.study, earlier, folder)
        raise
    _keep(study, earlier, folder)
    return study


def _keep(study: Study, earlier: Study | None, folder: Path) -> None:
    """Save a study if it has every path of the folder and more; else leave the folder as it is."""
    if set(study.paths) > set(earlier.paths if earlier else ()):
        study.save(folder)
