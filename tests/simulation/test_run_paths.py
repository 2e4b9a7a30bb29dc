"""Paths run alike here and in processes; finished ones outlive Ctrl-C, a worker's death, an error."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pytest

import dtrbandit as dtr
from dtrbandit.courses import potential_courses
from dtrbandit.environments import Synthetic
from dtrbandit.simulation.inputs import Inputs
from dtrbandit.simulation.one_path import ENVIRONMENT, play_session
from dtrbandit.simulation.run_paths import simulate_in
from dtrbandit.testing.policy_contract import TWO_STAGES
from simulation.worlds import DESIGN, FEW, Branching, Counted, Moody, Slow, policies
from small_taught import earlier_trial

SCRIPT = """
import os, signal, sys, time
from dataclasses import dataclass
import dtrbandit as dtr
from dtrbandit.environments import Synthetic

signal.signal(signal.SIGINT, signal.default_int_handler)  # a job in the background inherits that it is ignored
HORIZON, PATHS = 300, 60

@dataclass(frozen=True)
class Announcing:
    design = Synthetic().design

    def draw(self, n, rng):
        units = Synthetic().draw(n, rng)
        if n == HORIZON:
            os.write(1, b"drawn\\n")
            time.sleep(pause)
        return units

pause = 0.05
policies = {"DTRB": dtr.DTRBandit(q=2, delta=0.5), "greedy": dtr.Greedy()}
options = {"horizon": HORIZON, "paths": PATHS, "n_jobs": int(sys.argv[1])}
try:
    dtr.simulate(Announcing(), policies, **options)
except Exception:
    sys.exit("swallowed")
except KeyboardInterrupt as error:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    study, message = error.study, str(error)
pause = 0.0
kept = len(study.paths)
resumed = dtr.simulate(Announcing(), policies, **{**options, "n_jobs": 1}, resume=study)
whole = dtr.simulate(Announcing(), policies, **{**options, "n_jobs": 1})
os.write(1, f"kept {kept}, equal {resumed == whole}, {resumed.take(study.paths) == study}: {message}\\n".encode())
"""


@pytest.mark.slow
@pytest.mark.parametrize("n_jobs", [pytest.param(1, marks=pytest.mark.full), 2])
def test_ctrl_c_keeps_finished_paths_and_resuming_gives_the_same_study(n_jobs: int) -> None:
    """The signal goes to the whole group, as a terminal sends it."""
    command = [sys.executable, "-c", SCRIPT, str(n_jobs)]
    child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True)
    assert child.stdout is not None
    for _ in range(12):
        assert child.stdout.readline() == "drawn\n"

    os.killpg(child.pid, signal.SIGINT)
    output, errors = child.communicate(timeout=120)

    last = output.splitlines()[-1]
    assert child.returncode == 0, errors
    kept = int(last.split(",")[0].removeprefix("kept "))
    assert 1 <= kept <= 30
    assert "equal True, True" in last
    assert f"interrupted; {kept} of 60 paths are finished and kept: simulate(..., resume=error.study)" in last


DEATH = """
import os, sys, tempfile
from dataclasses import dataclass
import dtrbandit as dtr
from dtrbandit.environments import Synthetic

marker = sys.argv[1]

@dataclass(frozen=True)
class Deadly:
    design = Synthetic().design

    def draw(self, n, rng):
        units = Synthetic().draw(n, rng)
        if n == 200 and os.path.exists(marker) and os.path.getsize(marker) > 5:
            os._exit(1)
        if n == 200 and os.path.exists(marker):
            with open(marker, "a") as file:
                file.write("x")
        return units

policies = {"DTRB": dtr.DTRBandit(q=2, delta=0.5)}
options = {"horizon": 200, "paths": 12, "n_jobs": 2}
open(marker, "w").close()
try:
    dtr.simulate(Deadly(), policies, **options)
except dtr.StudyError as error:
    study = error.study
    print(type(error.__cause__).__name__)
os.remove(marker)
whole = dtr.simulate(Deadly(), policies, **{**options, "n_jobs": 1})
print(0 < len(study.paths) < 12, dtr.simulate(Deadly(), policies, **{**options, "n_jobs": 1}, resume=study) == whole)
"""


@pytest.mark.slow
def test_the_death_of_a_worker_keeps_finished_paths(tmp_path: Any) -> None:
    command = [sys.executable, "-c", DEATH, str(tmp_path / "marker")]

    done = subprocess.run(command, capture_output=True, text=True, timeout=120)

    assert done.stdout.split() == ["TerminatedWorkerError", "True", "True"], done.stderr


def test_an_error_in_a_path_is_named_and_finished_paths_are_kept() -> None:
    policies = {"moody": Moody(dtr.Greedy())}

    with pytest.raises(dtr.StudyError, match=r"ZeroDivisionError: no arm today \(in path 2\); 2 of 4 paths") as failed:
        dtr.simulate(Synthetic(), policies, horizon=50, paths=4)

    assert isinstance(failed.value.__cause__, ZeroDivisionError)
    resumed = dtr.simulate(Synthetic(), policies, horizon=50, paths=4, resume=failed.value.study)
    assert resumed == dtr.simulate(Synthetic(), policies, horizon=50, paths=4)


# -- resuming ------------------------------------------------------------------------------------------------


def test_resuming_runs_only_what_is_missing() -> None:
    some = dtr.simulate(Counted(), FEW, horizon=60, paths=5).take([0, 3])
    Counted.draws = 0

    whole = dtr.simulate(Counted(), FEW, horizon=60, paths=5, resume=some)

    assert Counted.draws == 3
    assert whole == dtr.simulate(Counted(), FEW, horizon=60, paths=5)


def test_resuming_with_fewer_paths_runs_nothing() -> None:
    five = dtr.simulate(Counted(), FEW, horizon=60, paths=5)
    Counted.draws = 0

    assert dtr.simulate(Counted(), FEW, horizon=60, paths=2, resume=five) == five.take([0, 1])
    assert Counted.draws == 0


def test_results_depend_neither_on_processes_nor_on_threads() -> None:
    one = dtr.simulate(Branching(), policies(DESIGN), horizon=120, paths=5, seed=2, n_jobs=1, arrivals=Slow())
    two = dtr.simulate(Branching(), policies(DESIGN), horizon=120, paths=5, seed=2, n_jobs=2, arrivals=Slow())

    with joblib.parallel_config(backend="threading", n_jobs=2):
        threads = dtr.simulate(Branching(), policies(DESIGN), horizon=120, paths=5, seed=2, arrivals=Slow())

    assert one == two
    assert one == threads


def test_a_path_does_not_depend_on_how_many_there_are() -> None:
    few = dtr.simulate(Synthetic(), FEW, horizon=80, paths=2, seed=1)
    more = dtr.simulate(Synthetic(), FEW, horizon=80, paths=4, seed=1)

    assert more.take([0, 1]) == few
    assert more.take([2, 3]) != few


def test_a_policy_does_not_depend_on_which_others_run() -> None:
    alone = dtr.simulate(Synthetic(), {"uniform": dtr.UniformRandom()}, horizon=80, paths=2)
    together = dtr.simulate(Synthetic(), {"uniform again": dtr.UniformRandom(), **FEW}, horizon=80, paths=2)

    assert np.array_equal(together.arms["uniform"], alone.arms["uniform"])
    assert np.array_equal(together.arms["uniform again"], alone.arms["uniform"])


# -- an earlier trial ------------------------------------------------------------------------------------------------


def test_an_earlier_trial_teaches_every_path_as_it_teaches_a_session() -> None:
    environment, prior = Synthetic(), earlier_trial(Synthetic().design, 50, seed=4)
    policy = dtr.DTRBandit(q=2, delta=0.5)

    study = dtr.simulate(environment, {"it": policy}, horizon=60, paths=2, seed=3, prior=prior)

    inputs = Inputs(environment, {"it": policy}, horizon=60, paths=2, seed=3, prior=prior)
    for path in range(2):
        units = environment.draw(60, inputs.rng(path, ENVIRONMENT))
        courses = potential_courses(units)
        expected = play_session(policy, units, courses, inputs, seed=inputs.policy_seed(path))
        assert np.array_equal(study.arms["it"][path], expected)
    without = dtr.simulate(environment, {"it": policy}, horizon=60, paths=2, seed=3)
    assert not np.array_equal(study.arms["it"], without.arms["it"])


def test_another_earlier_trial_makes_another_study(tmp_path: Path) -> None:
    def study(**more: Any) -> dtr.Study:
        return dtr.simulate(Synthetic(), {"it": dtr.Greedy()}, horizon=20, seed=3, **more)

    one, other = (earlier_trial(Synthetic().design, 30, seed=seed) for seed in (1, 2))
    taught, plain = study(paths=1, prior=one), study(paths=1)
    for each in (taught, plain):
        each.save(tmp_path / str(each.manifest.prior is None))
        assert dtr.load_study(tmp_path / str(each.manifest.prior is None)) == each

    assert "prior" not in json.loads((tmp_path / "True" / "manifest.json").read_text())  # as before there was one
    assert study(paths=2, prior=one, resume=taught).paths == (0, 1)
    for prior in (other, None):
        with pytest.raises(dtr.DesignError, match="resume= is another study: prior"):
            study(paths=2, prior=prior, resume=taught)


def test_a_policy_of_ones_own_is_taught_through_a_session() -> None:
    prior = earlier_trial(Synthetic().design, 30, seed=1)
    own = dtr.simulate(Synthetic(), {"it": Inherited()}, horizon=40, paths=1, seed=3, prior=prior)

    built_in = dtr.simulate(Synthetic(), {"it": dtr.Greedy()}, horizon=40, paths=1, seed=3, prior=prior)

    assert np.array_equal(own.arms["it"], built_in.arms["it"])


def test_what_cannot_teach_is_refused_before_any_path_runs() -> None:
    priors: list[Any] = ["trial.csv", earlier_trial(TWO_STAGES, 3, seed=1)]
    for prior in priors:
        with pytest.raises(dtr.DTRError, match=r"prior|unit"):
            dtr.simulate(Synthetic(), {"it": dtr.Greedy()}, horizon=5, paths=1, prior=prior)


class Inherited(dtr.Greedy):
    """Greedy, as a third party would write it."""


# -- in a folder ----------------------------------------

INPUTS = Inputs(Counted(), FEW, horizon=60, paths=2)


def test_a_folder_is_filled_and_gone_on_with(tmp_path: Path) -> None:
    folder = tmp_path / "deep" / "study"
    simulate_in(folder, INPUTS)
    Counted.draws = 0

    study = simulate_in(folder, replace(INPUTS, paths=5))

    assert Counted.draws == 3
    assert dtr.load_study(folder) == study == dtr.simulate(Counted(), FEW, horizon=60, paths=5)


def test_fewer_paths_than_the_folder_holds_replace_nothing(tmp_path: Path) -> None:
    three = simulate_in(tmp_path, replace(INPUTS, paths=3))

    two = simulate_in(tmp_path, INPUTS)

    assert two == three.take([0, 1])
    assert dtr.load_study(tmp_path) == three


def test_another_study_in_the_folder_is_refused_before_anything_runs(tmp_path: Path) -> None:
    study = simulate_in(tmp_path, INPUTS)
    Counted.draws = 0

    with pytest.raises(dtr.DesignError, match="holds another study: seed is 0 there and 1 here; choose another folder"):
        simulate_in(tmp_path, replace(INPUTS, seed=1))

    assert Counted.draws == 0
    assert dtr.load_study(tmp_path) == study


def test_a_study_that_fails_leaves_its_finished_paths_in_the_folder(tmp_path: Path) -> None:
    inputs = Inputs(Synthetic(), {"moody": Moody(dtr.Greedy())}, horizon=50, paths=4)

    with pytest.raises(dtr.StudyError, match=r"ZeroDivisionError: no arm today .*of 4 paths are finished"):
        simulate_in(tmp_path, inputs)

    assert dtr.load_study(tmp_path).paths == (0, 1)
    assert simulate_in(tmp_path, inputs) == dtr.simulate(Synthetic(), inputs.policies, horizon=50, paths=4)


def test_bad_numbers_of_jobs_leave_no_folder(tmp_path: Path) -> None:
    with pytest.raises(dtr.DesignError, match="n_jobs"):
        simulate_in(tmp_path / "study", INPUTS, n_jobs=0)

    assert not (tmp_path / "study").exists()
