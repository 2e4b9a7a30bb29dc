"""Table 1 on many cohorts: each is a replay of its own, and the distribution is that of the averages."""

from __future__ import annotations

import numpy as np
import pytest

from dtrbandit.errors import DesignError
from dtrbandit.reproduce.reproduction import Size
from dtrbandit.reproduce.table1 import over_cohorts
from dtrbandit.reproduce.table1.entries import ENTRIES
from dtrbandit.reproduce.table1.over_cohorts import OverCohorts, play_cohorts
from dtrbandit.reproduce.table1.patients import Patients
from dtrbandit.reproduce.table1.playing import played

SIZE: Size = {"paths": 2, "horizon": 100, "seed": 3, "n_jobs": 1, "progress": False}


def test_each_cohort_is_replayed_with_few_paths_and_its_benchmarks_are_its_own() -> None:
    found = play_cohorts(SIZE)

    second = Patients.simulated(1)
    assert len(found) == found.paths == 2
    assert found.left_out == 0
    assert found.averages["Greedy"][1] == pytest.approx(played("Greedy", second, SIZE).value)
    assert found.averages["Offline"][1] == pytest.approx(second.benchmarks.offline.value)
    assert found.averages["Logging"][1] == pytest.approx(second.benchmarks.logging.value)
    assert set(found.averages) == set(ENTRIES)


def test_there_are_half_as_many_cohorts_as_paths_up_to_thirty(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[int, int]] = []

    def on_cohort(seed: int, *, size: Size) -> tuple[int, dict[str, float]]:
        asked.append((seed, size["paths"]))
        return seed, dict.fromkeys(ENTRIES, float(seed))

    monkeypatch.setattr(over_cohorts, "_on_cohort", on_cohort)
    found = play_cohorts({**SIZE, "paths": 80})

    assert asked == [(seed, 3) for seed in range(30)]
    assert found.averages["Greedy"].tolist() == list(range(30))


def test_a_cohort_that_cannot_be_played_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(name: str, patients: Patients, size: Size) -> object:  # noqa: ARG001
        raise DesignError("no unit agrees")

    monkeypatch.setattr(over_cohorts, "played", refuse)

    assert play_cohorts(SIZE).left_out == 2


def test_a_distribution_is_that_of_the_averages() -> None:
    values = np.arange(101.0)

    found = OverCohorts({"Greedy": values}, 3, 0).of("Greedy")

    deviation = values.std(ddof=1)
    assert found == pytest.approx((50.0, 5.0, 95.0, 50.0, deviation, deviation / 101**0.5))
