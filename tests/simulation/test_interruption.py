"""Ctrl-C, a worker's death, an error in a path: finished paths are kept, and a study goes on from them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import dtrbandit as dtr
from dtrbandit.environments import PotentialOutcomes, Synthetic
from simulation.worlds import Own

FEW = {"DTRB": dtr.DTRBandit(q=2, delta=0.5), "uniform": dtr.UniformRandom()}

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


@pytest.mark.parametrize("n_jobs", [1, 2])
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


def test_the_death_of_a_worker_keeps_finished_paths(tmp_path: Any) -> None:
    command = [sys.executable, "-c", DEATH, str(tmp_path / "marker")]

    done = subprocess.run(command, capture_output=True, text=True, timeout=120)

    assert done.stdout.split() == ["TerminatedWorkerError", "True", "True"], done.stderr


@dataclass(frozen=True)
class Moody(Own):
    """Fails once, at round 30 of the third path; what it has played is no parameter of it."""

    played: list[int] = field(default_factory=list, compare=False)

    def decide(self, state: Any, history: Any, u: float) -> Any:
        if history.round == 30 and not history.arms:
            self.played.append(30)
            if len(self.played) == 3:
                raise ZeroDivisionError("no arm today")
        return super().decide(state, history, u)


def test_an_error_in_a_path_is_named_and_finished_paths_are_kept() -> None:
    policies = {"moody": Moody(dtr.Greedy())}

    with pytest.raises(dtr.StudyError, match=r"ZeroDivisionError: no arm today \(in path 2\); 2 of 4 paths") as failed:
        dtr.simulate(Synthetic(), policies, horizon=50, paths=4)

    assert isinstance(failed.value.__cause__, ZeroDivisionError)
    resumed = dtr.simulate(Synthetic(), policies, horizon=50, paths=4, resume=failed.value.study)
    assert resumed == dtr.simulate(Synthetic(), policies, horizon=50, paths=4)


# -- resuming ------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Counted:
    """Counts whole paths, and says which environment it is."""

    shift: float = 0.0
    called: str = "Counted"
    draws = 0

    @property
    def design(self) -> dtr.Design:
        return Synthetic().design

    def draw(self, n: int, rng: np.random.Generator) -> PotentialOutcomes:
        Counted.draws += n == 60
        units = Synthetic().draw(n, rng)
        return units._replace(outcome=units.outcome + self.shift)

    def __repr__(self) -> str:
        return self.called


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


@pytest.mark.parametrize(
    ("other", "named"),
    [
        ({"horizon": 61}, "horizon is 60 there and 61 here"),
        ({"seed": 1}, "seed is 0 there and 1 here"),
        ({"policies": {"DTRB": FEW["DTRB"]}}, "policies, uniform is .* there and missing here"),
        ({"policies": dict(reversed(FEW.items()))}, "order of policies"),
        (
            {"policies": {**FEW, "uniform": dtr.Greedy()}},
            "policies, uniform, name is 'UniformRandom' there and 'Greedy'",
        ),
        ({"environment": Counted(called="Other")}, "environment is 'Counted' there and 'Other' here"),
        ({"environment": Counted(shift=1.0)}, "fingerprint is"),
    ],
)
def test_resuming_another_study_is_refused(other: dict[str, Any], named: str) -> None:
    asked: dict[str, Any] = {"environment": Counted(), "policies": FEW, "horizon": 60, "paths": 2}
    study = dtr.simulate(**asked)

    with pytest.raises(dtr.DesignError, match=f"resume= is another study: .*{named}"):
        dtr.simulate(**{**asked, **other}, resume=study)


@dataclass(frozen=True)
class Shifted:
    """An environment that holds a function, whose address its repr shows."""

    shift: Callable[[float], float]
    design = Synthetic().design

    def draw(self, n: int, rng: np.random.Generator) -> PotentialOutcomes:
        units = Synthetic().draw(n, rng)
        return units._replace(outcome=units.outcome + self.shift(1.0), q=None)


def test_a_function_may_lie_elsewhere_when_a_study_goes_on() -> None:
    def shifted() -> Shifted:
        return Shifted(lambda x: 2 * x)

    first, again = shifted(), shifted()
    study = dtr.simulate(first, FEW, horizon=60, paths=1)

    assert repr(first) != repr(again)
    assert dtr.simulate(again, FEW, horizon=60, paths=2, resume=study).take([0]) == study


class Late:
    """Outcomes that wait for some units more; it does not say for how many."""

    def __init__(self, wait: int) -> None:
        self.wait = wait

    def events(self, n: int, stages: int, rng: np.random.Generator) -> NDArray[np.int32]:  # noqa: ARG002
        time = np.arange(n)[:, None] + self.wait * np.arange(stages + 1)
        unit, what = np.divmod(np.argsort(time, axis=None, kind="stable"), stages + 1)
        return np.column_stack([what, unit]).astype(np.int32)


def test_resuming_with_other_arrivals_is_refused_though_they_do_not_show_themselves() -> None:
    asked: dict[str, Any] = {"environment": Counted(), "policies": FEW, "horizon": 60}
    study = dtr.simulate(**asked, paths=1, arrivals=Late(20))

    assert dtr.simulate(**asked, paths=2, arrivals=Late(20), resume=study).take([0]) == study
    with pytest.raises(dtr.DesignError, match="resume= is another study: arrivals is"):
        dtr.simulate(**asked, paths=2, arrivals=Late(21), resume=study)


def test_a_study_without_a_finished_path_says_so() -> None:
    nothing = dtr.simulate(Counted(), FEW, horizon=60, paths=1).take([])

    with pytest.raises(dtr.DTRError, match="no path of this study is finished"):
        nothing.summary()
    assert dtr.simulate(Counted(), FEW, horizon=60, paths=1, resume=nothing).paths == (0,)
