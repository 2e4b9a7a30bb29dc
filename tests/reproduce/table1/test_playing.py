"""An entry of Table 1 is a replay with its version's weights and parameters."""

from __future__ import annotations

import warnings

import dtrbandit as dtr
from dtrbandit.datasets import OFFLINE
from dtrbandit.evaluation import SmallCohort
from dtrbandit.reproduce.reproduction import Size
from dtrbandit.reproduce.table1.patients import Patients
from dtrbandit.reproduce.table1.playing import played, players
from dtrbandit.reproduce.table1.versions import COMPUTED, TEXT

SIZE: Size = {"paths": 2, "horizon": 150, "seed": 0, "n_jobs": 1, "progress": False}


def test_each_version_is_played_with_its_own_weights_and_parameters_and_in_silence() -> None:
    patients = Patients.simulated(9)

    for version in (COMPUTED, TEXT):
        found = played("LSVI-UCB", patients.by(version), SIZE)

        with warnings.catch_warnings(action="ignore", category=UserWarning):
            expected = dtr.replay(
                version.online["LSVI-UCB"], patients.by(version).cohort, horizon=150, paths=2
            )  # fmt: skip
        assert (found.rows == expected.rows).all()
    assert issubclass(SmallCohort, UserWarning)


def test_players_are_the_online_algorithms_and_the_offline_rule() -> None:
    assert players(COMPUTED) == {**COMPUTED.online, "Offline": OFFLINE}
