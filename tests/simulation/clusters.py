"""Real clusters on this machine, and environments that hurt their workers."""

from __future__ import annotations

import os
import signal
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pytest
from threadpoolctl import threadpool_info

import dtrbandit as dtr
from dtrbandit.environments import PotentialOutcomes, Synthetic

HORIZON = 80


@dataclass(frozen=True)
class Cluster:
    """How to send work to a cluster; ``last_chance()`` does so without a second try for what a dead worker had."""

    usual: Callable[[], AbstractContextManager[Any]]
    last_chance: Callable[[], AbstractContextManager[Any]]


@contextmanager
def dask_cluster() -> Iterator[Cluster]:
    """Two worker processes."""
    from distributed import Client, LocalCluster

    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as local, Client(local):

        @contextmanager
        def last_chance() -> Iterator[None]:
            usual = local.scheduler.allowed_failures
            local.scheduler.allowed_failures = 0
            with joblib.parallel_config(backend="dask"):
                yield
            local.scheduler.allowed_failures = usual

        yield Cluster(lambda: joblib.parallel_config(backend="dask"), last_chance)


@contextmanager
def ray_cluster() -> Iterator[Cluster]:
    """Two nodes of one core each."""
    import ray
    from ray.cluster_utils import Cluster as Nodes
    from ray.util.joblib import register_ray

    register_ray()
    with pytest.MonkeyPatch.context() as patch, warnings.catch_warnings():
        warnings.filterwarnings("ignore", "unclosed file", ResourceWarning)  # Ray 2.40 forgets its logs
        patch.setenv("PYTHONPATH", str(Path(__file__).parents[1]))  # workers import the environments below
        nodes = Nodes(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False})
        nodes.add_node(num_cpus=1)
    ray.init(address=nodes.address, log_to_driver=False)
    once = {"ray_remote_args": {"max_retries": 0}}
    try:
        yield Cluster(lambda: joblib.parallel_config("ray"), lambda: joblib.parallel_config("ray", **once))
    finally:
        ray.shutdown()
        nodes.shutdown()


@dataclass(frozen=True)
class Deadly:
    """The synthetic problem, but the worker that draws the sixth path while ``weapon`` is a file dies by it."""

    weapon: Path
    design = Synthetic().design

    def draw(self, n: int, rng: np.random.Generator) -> PotentialOutcomes:
        if n == HORIZON:  # of a path, not of the check before
            time.sleep(0.05)  # so that both workers have some
            with suppress(FileNotFoundError):
                self._load()
        return Synthetic().draw(n, rng)

    def _load(self) -> None:
        with self.weapon.open("r+b") as file:
            file.seek(0, os.SEEK_END)
            file.write(b"x")
            loaded = file.tell()
        if loaded > 5:
            self.weapon.unlink()
            os.kill(os.getpid(), signal.SIGKILL)


@dataclass(frozen=True)
class Faulty:
    """The synthetic problem, but a path whose first unit has x₁ > 0.9 fails while ``faulty`` is a file."""

    faulty: Path
    design = Synthetic().design

    def draw(self, n: int, rng: np.random.Generator) -> PotentialOutcomes:
        units = Synthetic().draw(n, rng)
        if n == HORIZON and units.contexts[0]["x1"][0] > 0.9 and self.faulty.exists():
            raise ZeroDivisionError("no units today")
        return units


def where(_: int) -> tuple[int, str | None, int]:
    """Say which process works, how many threads it is allowed, and how many would multiply matrices in it."""
    time.sleep(0.1)  # so that both workers have some
    pools = threadpool_info()
    return os.getpid(), os.environ.get("OMP_NUM_THREADS"), max(pool["num_threads"] for pool in pools)


def nap(noted: Path, item: int) -> int:
    """Sleep, and leave a file that says so."""
    (noted / str(item)).touch()
    time.sleep(0.2)
    return item


def node(_: int) -> str:
    """Say which node of a Ray cluster works."""
    import ray

    time.sleep(0.2)
    return str(ray.get_runtime_context().get_node_id())


def policies() -> dict[str, Any]:
    return {"DTRB": dtr.DTRBandit(q=2, delta=0.5), "uniform": dtr.UniformRandom()}
