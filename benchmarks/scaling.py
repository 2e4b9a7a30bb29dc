"""Paths per second of studies in this process, on processes, and on local Dask and Ray clusters of 1 and 2 workers."""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from typing import Any

import joblib
import numpy as np

import dtrbandit as dtr
from dtrbandit.environments import PotentialOutcomes, Synthetic
from dtrbandit.parallel import map_unordered

POLICIES = {"DTRB": dtr.DTRBandit(q=5, delta=0.5), "greedy": dtr.Greedy()}


@dataclass(frozen=True)
class Waiting:
    """Takes its time without a core: shows what sending work costs, on a machine that has other things to do."""

    seconds: float
    design = Synthetic().design

    def draw(self, n: int, rng: np.random.Generator) -> PotentialOutcomes:
        """Draw n units, after a while."""
        if n > 1:  # a path
            time.sleep(self.seconds)
        return Synthetic().draw(n, rng)


def here(_: int) -> AbstractContextManager[Any]:
    return nullcontext()


@contextmanager
def processes(workers: int) -> Iterator[None]:
    with joblib.parallel_config(backend="loky", n_jobs=workers):
        yield


@contextmanager
def dask(workers: int) -> Iterator[None]:
    from distributed import Client, LocalCluster

    options: dict[str, Any] = {"n_workers": workers, "threads_per_worker": 1, "dashboard_address": None}
    with LocalCluster(**options) as cluster, Client(cluster), joblib.parallel_config(backend="dask"):
        yield


@contextmanager
def ray(workers: int) -> Iterator[None]:
    import ray as library
    from ray.util.joblib import register_ray

    register_ray()
    library.init(num_cpus=workers, include_dashboard=False, log_to_driver=False)
    with joblib.parallel_config(backend="ray"):
        yield
    library.shutdown()


PLACES: list[tuple[Callable[[int], AbstractContextManager[Any]], int]] = [
    (here, 1),
    (processes, 2),
    (dask, 1),
    (dask, 2),
    (ray, 1),
    (ray, 2),
]
STUDIES: dict[str, tuple[Any, int, int]] = {  # environment, horizon, paths
    "empty": (Synthetic(), 10, 100),
    "10,000 rounds": (Synthetic(), 10_000, 30),
    "waiting 0.1 s": (Waiting(0.1), 10, 40),
}


def result(rounds: int) -> list[np.ndarray]:
    """Return as much as a path of two policies sends back, 60 bytes a round, at once."""
    return [np.zeros(shape) for shape in ((2, rounds, 2), (2, rounds), (rounds,))] + [np.zeros((2, rounds, 2), np.int8)]


def collecting(rounds: int, *, paths: int = 60) -> float:
    """Return how many milliseconds of this process's time it takes to send a path and to collect its result."""
    list(map_unordered(result, [rounds] * 10))
    began = time.process_time()
    for _ in map_unordered(result, [rounds] * paths):
        pass
    return 1e3 * (time.process_time() - began) / paths


def rate(environment: Any, horizon: int, paths: int, *, runs: int) -> float:
    """Return paths per second in the best of some runs, after one that starts the workers."""
    seconds = []
    for _ in range(runs + 1):
        began = time.perf_counter()
        dtr.simulate(environment, POLICIES, horizon=horizon, paths=paths)
        seconds.append(time.perf_counter() - began)
    return paths / min(seconds[1:])


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--runs", type=int, default=4)
    runs = options.parse_args().runs
    for place, workers in PLACES:
        with place(workers):
            rates = [f"{name} {rate(*study, runs=runs):.1f}" for name, study in STUDIES.items()]
            costs = [f"{rounds:,} rounds {collecting(rounds):.1f}" for rounds in (10, 10_000, 100_000)]
        print(f"{place.__name__}, {workers}: paths/s: {'; '.join(rates)}", flush=True)
        print(f"    ms of this process to send and collect a path: {'; '.join(costs)}", flush=True)


if __name__ == "__main__":
    main()
