"""Studies in a folder: gone on with, kept when they stop, and never mistaken for another."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

import dtrbandit as dtr
from dtrbandit.environments import Synthetic
from dtrbandit.simulation.in_folder import simulate_in
from dtrbandit.simulation.inputs import Inputs
from simulation.worlds import FEW, Counted, Moody

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
