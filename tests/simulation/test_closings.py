"""Arms that a study closes: from a round on nobody has them, whichever driver plays."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dtrbandit as dtr
from dtrbandit.environments import Contraindicated, Synthetic
from dtrbandit.environments.arrivals import ArrivalProcess, Exponential
from dtrbandit.simulation.closings import Closing, accept_closings
from simulation.worlds import Own

LATE = ArrivalProcess(response=Exponential(mean=3.0), outcome=Exponential(mean=2.0), dropout=0.1)
CLOSED = [Closing(40, "second", "1"), Closing(20, "first", "2")]


def test_from_its_round_on_nobody_has_a_closed_arm() -> None:
    study = dtr.simulate(Synthetic(), {"any": dtr.UniformRandom()}, horizon=60, paths=3, closings=CLOSED)

    arms = study.arms["any"]
    assert (arms[:, :19, 0] == 1).any()
    assert (arms[:, 19:, 0] == 0).all()
    assert (arms[:, :39, 1] == 0).any()
    assert (arms[:, 39:, 1] == 1).all()


@pytest.mark.parametrize("policy", [dtr.DTRBandit(q=1, delta=0.5), dtr.Greedy(), dtr.LSVIUCB(beta=1.0)], ids=repr)
def test_both_drivers_give_the_same_arms(policy: Any) -> None:
    some = Contraindicated(Synthetic(), {"first": {"2": 0.2}, "second": {"1": 0.1}})
    players = {"compiled": policy, "session": Own(policy)}

    study = dtr.simulate(some, players, horizon=70, paths=2, arrivals=LATE, closings=CLOSED[1:])

    assert np.array_equal(study.arms["compiled"], study.arms["session"])
    assert (study.arms["compiled"][:, 19:, 0] == 0).all()


def test_a_study_knows_its_closings_on_disk_too(tmp_path: Path) -> None:
    study = dtr.simulate(Synthetic(), {"any": dtr.UniformRandom()}, horizon=50, paths=1, closings=CLOSED)
    study.save(tmp_path / "study")

    loaded = dtr.load_study(tmp_path / "study")

    assert loaded.manifest == study.manifest
    assert loaded.manifest.closings == [[20, "first", "2"], [40, "second", "1"]]
    other = dtr.simulate(Synthetic(), {"any": dtr.UniformRandom()}, horizon=50, paths=1)
    assert study.manifest.difference(other.manifest) is not None


@pytest.mark.parametrize(
    ("closings", "words"),
    [
        (["first"], "closings= needs a list such as"),
        ([Closing(0, "first", "1")], "round must be"),
        ([Closing(5, "third", "1")], "there is no stage 'third'"),
        ([Closing(5, "first", "3")], "no arm '3'"),
        ([Closing(5, "first", "1"), Closing(9, "first", "1")], "twice"),
        ([Closing(5, "first", "1"), Closing(9, "first", "2")], "it is the last that is feasible"),
    ],
)
def test_what_cannot_be_closed_is_refused_before_any_path(closings: Any, words: str) -> None:
    with pytest.raises(dtr.DTRError, match=words):
        accept_closings(closings, Synthetic().design)


def test_a_unit_for_whom_nothing_is_left_is_named() -> None:
    some = Contraindicated(Synthetic(), {"first": {"1": 0.3}})

    with pytest.raises(dtr.StudyError, match=r"no arm left at the first stage"):
        dtr.simulate(some, {"any": dtr.UniformRandom()}, horizon=50, paths=1, closings=[Closing(20, "first", "2")])
