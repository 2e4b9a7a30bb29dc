"""Run the paths of a study, here or on many cores, in a folder or not, and keep those that finish."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial
from math import prod
from pathlib import Path

import numpy as np

from dtrbandit.design.spec import Design
from dtrbandit.design.values import shown
from dtrbandit.environments.potential_outcomes import Environment
from dtrbandit.errors import DesignError, DTRError
from dtrbandit.memory import require_memory
from dtrbandit.parallel import check_jobs, map_unordered
from dtrbandit.policies.lsvi_ucb import warn_if_unscaled
from dtrbandit.record.teaching import Prior
from dtrbandit.simulation.inputs import ArrivalOrder, Closing, Inputs, Policies
from dtrbandit.simulation.manifest import manifest_of
from dtrbandit.simulation.one_path import Performance, PlayedPath, play_path
from dtrbandit.simulation.saved import MANIFEST, load_study, made_folder
from dtrbandit.simulation.study import Study


class StudyInterrupted(KeyboardInterrupt):
    """Ctrl-C during a study; ``study`` has the paths that were finished, to resume from."""

    def __init__(self, message: str, study: Study) -> None:
        super().__init__(message)
        self.study = study


class StudyError(DTRError):
    """A path raised an error, or a worker died; ``study`` has the paths that were finished, to resume from."""

    def __init__(self, message: str, study: Study) -> None:
        super().__init__(message)
        self.study = study


def simulate(  # noqa: PLR0913  # each by its name
    environment: Environment,
    policies: Policies,
    *,
    horizon: int,
    paths: int,
    seed: int = 0,
    n_jobs: int | None = None,
    arrivals: ArrivalOrder | None = None,
    design: Design | None = None,
    closings: Sequence[Closing] = (),
    prior: Prior | None = None,
    resume: Study | None = None,
    progress: bool = False,
) -> Study:
    """Let policies play the same simulated units, along many paths (paper, section 5.2).

    Every path draws ``horizon`` units once, and every policy meets these units. The results of a path depend on the
    seed and on its number. They depend neither on ``n_jobs``, nor on ``paths``, nor on which other policies run.

    Parameters
    ----------
    policies
        By name, or a list named by repr. LSVIUCB without β takes the β of the theory for this horizon.
    n_jobs
        The number of processes; −1 for all cores. None follows ``joblib.parallel_config``, and is 1 without one.
    arrivals
        In which order units arrive, respond and complete, and which are lost. By default each unit is through
        before the next comes.
    design
        The learner's, where its features or plans differ from the environment's.
    closings
        Arms that are closed in the course of each path, ``[Closing(500, "second", "ssri")]``.
    prior
        A cohort of an earlier trial, whose units teach every policy of every path before its first unit.
    resume
        The same study with fewer paths, such as that of an interruption: only the missing paths are run.
    progress
        Whether to show progress on standard error.

    Warns
    -----
    UnscaledOutcomes
        When outcomes plainly exceed the ``scale`` of LSVIUCB.

    Raises
    ------
    StudyInterrupted, StudyError
        On Ctrl-C, and when a path fails or a worker dies; both keep the finished paths in ``study``.

    Examples
    --------
    >>> from dtrbandit.environments import Synthetic
    >>> import dtrbandit as dtr
    >>> simulate(Synthetic(), {"Greedy": dtr.Greedy()}, horizon=100, paths=2)
    <Study of 2 paths of 100 rounds of Synthetic(): Greedy>
    """
    inputs = Inputs(
        environment, policies, horizon=horizon, paths=paths, seed=seed, arrivals=arrivals, design=design,
        closings=closings, prior=prior,
    )  # fmt: skip
    return run_paths(inputs, n_jobs=n_jobs, resume=resume, progress=progress)


def run_paths(
    inputs: Inputs, *, n_jobs: int | None = None, resume: Study | None = None, progress: bool = False
) -> Study:
    """Run the paths of a study that ``resume`` does not have, as ``simulate`` does."""
    check_jobs(n_jobs)
    finished = _Finished(inputs, resume)
    what = "paths" if progress else None
    results = map_unordered(partial(_played, inputs), finished.missing, n_jobs=n_jobs, progress=what)
    study = _collected(finished, results)
    for name, policy in inputs.players.items():
        warn_if_unscaled(policy, study.rewards[name], len(inputs.learner.stages), name=name, stacklevel=3)
    return study


def simulate_in(folder: Path, inputs: Inputs, *, n_jobs: int | None = None, progress: bool = False) -> Study:
    """Run the paths of a study that the folder does not hold yet, and keep every finished path in it.

    Finished paths are also kept when the study stops on the way. A folder that holds another study is an error. It
    is raised before anything runs.
    """
    earlier = load_study(folder) if (folder / MANIFEST).exists() else None
    if earlier and (difference := earlier.manifest.difference(manifest_of(inputs))):
        raise DesignError(f"{folder} holds another study: {difference}; choose another folder, or remove that one")
    check_jobs(n_jobs)
    made_folder(folder)  # before hours of work: it may be impossible
    try:
        study = run_paths(inputs, n_jobs=n_jobs, resume=earlier, progress=progress)
    except (StudyInterrupted, StudyError) as stopped:
        _save_if_more(stopped.study, earlier, folder)
        raise
    _save_if_more(study, earlier, folder)
    return study


def _save_if_more(study: Study, earlier: Study | None, folder: Path) -> None:
    """Save a study if it has every path of the folder and more; else leave the folder as it is."""
    if set(study.paths) > set(earlier.paths if earlier else ()):
        study.save(folder)


def _played(inputs: Inputs, number: int) -> PlayedPath:
    try:
        return play_path(inputs, number)
    except Exception as error:  # whatever it is goes on its way, with the path's number
        error.add_note(f"in path {number}")
        raise


def _collected(finished: _Finished, results: Iterable[PlayedPath]) -> Study:
    try:
        for path in results:
            finished.add(path)
    except KeyboardInterrupt:
        raise StudyInterrupted(*finished.explained("interrupted")) from None
    except Exception as error:  # an environment's, a policy's, a dead worker's: the finished paths must not be lost
        where = "".join(f" ({note})" for note in getattr(error, "__notes__", ()))
        raise StudyError(*finished.explained(f"{type(error).__name__}: {error}{where}")) from error
    return finished.study()


class _Finished:
    """The paths that are finished, in arrays that have room for all."""

    def __init__(self, inputs: Inputs, resume: Study | None) -> None:
        self._manifest, self._paths = manifest_of(inputs), inputs.paths
        self._done: list[int] = []
        _require_memory(inputs)
        try:
            self._make_room((inputs.paths, inputs.horizon), len(inputs.learner.stages), list(inputs.players))
        except (MemoryError, ValueError, OverflowError) as error:  # the latter two: more than any array may hold
            raise DesignError(
                f"there is no memory for {inputs.paths} paths of {inputs.horizon} rounds: {error}; "
                "take fewer, or shorter ones"
            ) from error
        if resume is not None:
            self._adopt(resume)

    def _make_room(self, shape: tuple[int, int], stages: int, names: list[str]) -> None:
        self._arms = {name: np.empty((*shape, stages), dtype=np.int8) for name in names}
        self._outcomes = {name: np.empty(shape) for name in names}
        self._regret = {name: np.empty((*shape, stages)) for name in names}
        self._oracle: np.ndarray[tuple[int, ...], np.dtype[np.float64]] | None = np.empty(shape)

    @property
    def missing(self) -> list[int]:
        """The numbers of the paths still to run."""
        return sorted(set(range(self._paths)) - set(self._done))

    def add(self, path: PlayedPath) -> None:
        """Keep a finished path."""
        row = path.number
        for name, (arms, regret, outcomes) in path.performances.items():
            self._arms[name][row], self._outcomes[name][row] = arms, outcomes
            if regret is not None:
                self._regret[name][row] = regret
        if path.oracle is None:
            self._oracle = None
        elif self._oracle is not None:
            self._oracle[row] = path.oracle
        self._done.append(row)  # last: after an interruption here the path counts as missing

    def study(self) -> Study:
        """Return the finished paths."""
        known = self._oracle is not None
        whole = Study(
            self._manifest,
            tuple(range(self._paths)),
            self._arms,
            self._outcomes,
            self._regret if known else None,
            self._oracle,
        )
        return whole if not self.missing else whole.take(sorted(self._done))

    def explained(self, why: str) -> tuple[str, Study]:
        """Return the message for a study that stopped, and the study of its finished paths."""
        text = (
            f"{why}; {len(self._done)} of {self._paths} paths are finished and kept: "
            "simulate(..., resume=error.study) runs the others"
        )
        return text, self.study()

    def _adopt(self, resume: object) -> None:
        """Take over the paths of an earlier run of the same study."""
        if not isinstance(resume, Study):
            raise DesignError(f"resume= needs a Study, such as load_study(folder), found {shown(resume)}")
        if difference := resume.manifest.difference(self._manifest):
            raise DesignError(f"resume= is another study: {difference}")
        for row, number in enumerate(resume.paths):
            if number < self._paths:
                self.add(_path_of(resume, row))


def _require_memory(inputs: Inputs) -> None:
    """Refuse a study whose results, with the units of one path and a policy's state, cannot fit."""
    design, players = inputs.learner, inputs.players
    results = inputs.paths * (len(players) * (9 * len(design.stages) + 8) + 8)  # arms, regret, outcome; oracle
    leaves = prod(inputs.environment.design.arm_counts)
    path = 8 * leaves + inputs.bytes_per_unit
    what = f"a study of {shown(inputs.paths)} paths of {shown(inputs.horizon)} rounds"
    require_memory(
        inputs.horizon * results + (inputs.horizon + inputs.taught) * path, what, remedy="take fewer, or shorter ones"
    )


def _path_of(study: Study, row: int) -> PlayedPath:
    regret = study.stage_regret
    performances = {
        name: Performance(arms[row], None if regret is None else regret[name][row], study.rewards[name][row])
        for name, arms in study.arms.items()
    }
    return PlayedPath(study.paths[row], performances, None if study.oracle is None else study.oracle[row])
