"""Studies on a real Dask cluster and on a real Ray cluster of two nodes: the same results, whatever happens."""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import dtrbandit as dtr
from dtrbandit.environments import Synthetic
from dtrbandit.parallel import map_unordered
from extras import needed
from simulation.clusters import HORIZON, Cluster, Deadly, Faulty, dask_cluster, nap, node, policies, ray_cluster, where

CLUSTERS = {"distributed": dask_cluster, "ray": ray_cluster}


@pytest.fixture(scope="module", params=CLUSTERS)
def cluster(request: pytest.FixtureRequest) -> Iterator[Cluster]:
    needed(request.param)
    with CLUSTERS[request.param]() as running:
        yield running


def study(environment: Any, **options: Any) -> dtr.Study:
    return dtr.simulate(environment, policies(), horizon=HORIZON, paths=24, seed=5, **options)


@pytest.mark.slow
def test_a_study_on_a_cluster_is_that_of_one_process(cluster: Cluster) -> None:
    with cluster.usual():
        found = study(Synthetic())

    assert found == study(Synthetic(), n_jobs=1)


def test_both_workers_work_and_each_keeps_to_one_core(cluster: Cluster) -> None:
    with cluster.usual():
        places = list(map_unordered(where, range(12)))

    assert len({process for process, _, _ in places} - {os.getpid()}) == 2
    assert {allowed for _, allowed, _ in places} == {"1"}
    assert {used for _, _, used in places} == {1}


@pytest.mark.parametrize("cluster", ["ray"], indirect=True)
def test_both_nodes_of_a_ray_cluster_work(cluster: Cluster) -> None:
    with cluster.usual():
        assert len(set(map_unordered(node, range(8)))) == 2


def test_one_job_stays_in_this_process(cluster: Cluster) -> None:
    with cluster.usual():
        places = list(map_unordered(where, range(2), n_jobs=1))

    assert {process for process, _, _ in places} == {os.getpid()}


@pytest.mark.slow
def test_what_a_killed_worker_had_is_done_by_another(cluster: Cluster, tmp_path: Path) -> None:
    weapon = tmp_path / "weapon"
    weapon.touch()

    with cluster.usual():
        found = study(Deadly(weapon))

    assert not weapon.exists()  # it was used
    assert found == study(Deadly(weapon), n_jobs=1)


@pytest.mark.slow
def test_when_a_worker_is_killed_for_good_finished_paths_are_kept(cluster: Cluster, tmp_path: Path) -> None:
    weapon = tmp_path / "weapon"
    weapon.touch()

    with cluster.last_chance(), pytest.raises(dtr.StudyError, match="paths are finished and kept") as failed:
        study(Deadly(weapon))

    kept = failed.value.study
    assert type(failed.value.__cause__).__name__ in ("KilledWorker", "WorkerCrashedError")
    assert 0 < len(kept.paths) < 24
    with cluster.usual():
        resumed = study(Deadly(weapon), resume=kept)
    assert resumed == study(Deadly(weapon), n_jobs=1)
    assert resumed.take(kept.paths) == kept


def test_who_stops_listening_frees_the_cluster(cluster: Cluster, tmp_path: Path) -> None:
    """As Ctrl-C does: of 100 items for two workers, those not begun are never worked on."""
    with cluster.usual():
        results = map_unordered(partial(nap, tmp_path), range(100))
        heard = {next(results), next(results)}
        results.close()  # type: ignore[attr-defined]  # a generator
        list(map_unordered(partial(nap, tmp_path), range(100, 102)))

    begun = [int(file.name) for file in tmp_path.iterdir()]
    assert len(heard) == 2
    assert {100, 101} <= set(begun)
    assert len(begun) < 50


@pytest.mark.slow
def test_an_error_in_a_path_comes_back_by_name(cluster: Cluster, tmp_path: Path) -> None:
    faulty = tmp_path / "faulty"
    faulty.touch()
    named = r"ZeroDivisionError: no units today \(in path \d"

    with cluster.usual(), pytest.raises(dtr.StudyError, match=named) as failed:
        study(Faulty(faulty))

    assert isinstance(failed.value.__cause__, ZeroDivisionError)
    faulty.unlink()
    with cluster.usual():
        assert study(Faulty(faulty), resume=failed.value.study) == study(Faulty(faulty), n_jobs=1)
