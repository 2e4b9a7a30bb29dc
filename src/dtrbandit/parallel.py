"""Run independent pieces of work on the cores or machines that joblib is configured for, with progress."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from itertools import islice
from numbers import Integral
from typing import Any, TypeVar

from dtrbandit.design.values import shown
from dtrbandit.errors import DesignError

Item = TypeVar("Item")
Result = TypeVar("Result")

SECONDS_BETWEEN_LINES = 5.0
RAY_KNOWS_OF = 1_000  # items at once: enough for an autoscaler to see, few enough to wait for


def map_unordered(
    work: Callable[[Item], Result],
    items: Sequence[Item],
    *,
    n_jobs: int | None = None,
    progress: str | None = None,
) -> Iterator[Result]:
    """Give ``work(item)`` for each item, as results come; ``progress`` names the items on standard error.

    ``n_jobs=None`` follows ``joblib.parallel_config``, by which one also chooses Dask or Ray. Without a configuration,
    and with ``n_jobs=1``, everything happens in this process. Processes of this machine get short work in batches. On
    a cluster every item is a task, and all workers are used (``docs/adr/0006-clusters-by-their-own-futures.md``).

    Examples
    --------
    >>> sorted(map_unordered(abs, [-1, 3, -2]))
    [1, 2, 3]
    """
    results = _results(work, items, n_jobs)
    yield from results if progress is None else _with_progress(results, len(items), progress)


def _results(work: Callable[[Item], Result], items: Sequence[Item], n_jobs: int | None) -> Iterator[Result]:
    import joblib
    from joblib.parallel import get_active_backend

    if n_jobs == 1:
        return map(work, items)
    backend, _ = get_active_backend()
    match type(backend).__name__:
        case "DaskDistributedBackend":
            return _on_dask(work, items, backend.client, backend.submit_kwargs)
        case "RayBackend":
            return _on_ray(work, items, backend.ray_remote_args or {})
    with _one_thread_each(n_jobs):
        parallel = joblib.Parallel(n_jobs=n_jobs, return_as="generator_unordered")
    results: Iterator[Result] = parallel(joblib.delayed(work)(item) for item in items)
    return results


def _on_dask(work: Callable[[Item], Result], items: Sequence[Item], client: Any, options: Any) -> Iterator[Result]:
    """Work on a Dask cluster, which gives the items of a worker that dies to another, a few times."""
    from distributed import as_completed

    unfinished = set(client.map(work, items, pure=False, **options))
    try:
        for future, result in as_completed(unfinished, with_results=True):
            if future.cancelled():
                raise result
            unfinished.remove(future)  # its result need not stay with the worker
            yield result
    finally:
        client.cancel(list(unfinished))


def _on_ray(work: Callable[[Item], Result], items: Sequence[Item], options: Any) -> Iterator[Result]:
    """Work on a Ray cluster, which gives the items of a worker that dies to another, a few times."""
    import ray

    options = {"scheduling_strategy": "SPREAD", **options}  # the default leaves nodes idle beside a busy one
    coming, task, shared = iter(items), ray.remote(_call).options(**options), ray.put(work)
    unfinished = [task.remote(shared, item) for item in islice(coming, RAY_KNOWS_OF)]
    try:
        while unfinished:
            (finished,), unfinished = ray.wait(unfinished)
            unfinished += [task.remote(shared, item) for item in islice(coming, 1)]
            yield ray.get(finished)
    except ray.exceptions.RayTaskError as error:
        raise error.cause from error
    finally:
        for item in unfinished:
            ray.cancel(item)


def _call(work: Callable[[Item], Result], item: Item) -> Result:
    return work(item)


def check_jobs(n_jobs: object) -> None:
    """Refuse what joblib would not understand as a number of jobs."""
    if n_jobs is not None and (isinstance(n_jobs, bool) or not isinstance(n_jobs, Integral) or n_jobs == 0):
        raise DesignError(f"n_jobs must be None or a whole number other than 0, found {shown(n_jobs)}")


def _one_thread_each(n_jobs: int | None) -> AbstractContextManager[Any]:
    """Keep libraries in joblib's own processes to one thread; threads of other backends are their owner's choice."""
    import joblib
    from joblib.parallel import get_active_backend

    backend, configured = get_active_backend()
    own = type(backend).__name__ == "LokyBackend" and backend.inner_max_num_threads is None
    if not own:
        return nullcontext()
    context: AbstractContextManager[Any] = joblib.parallel_config(
        "loky", n_jobs=configured if n_jobs is None else n_jobs, inner_max_num_threads=1
    )
    return context


def _with_progress(results: Iterator[Result], total: int, what: str) -> Iterator[Result]:
    from rich.console import Console

    console = Console(stderr=True)
    return _bar(results, total, what, console) if console.is_terminal else _lines(results, total, what)


def _bar(results: Iterator[Result], total: int, what: str, console: Any) -> Iterator[Result]:
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    rate = TextColumn("{task.fields[rate]}")
    columns = (TextColumn(what), BarColumn(), MofNCompleteColumn(), rate, TimeElapsedColumn(), TimeRemainingColumn())
    began = time.monotonic()
    with Progress(*columns, console=console) as bar:
        task = bar.add_task(what, total=total, rate="")
        for done, result in enumerate(results, 1):
            yield result  # what is counted has been taken, and survives Ctrl-C
            bar.update(task, completed=done, rate=f"{done / (time.monotonic() - began):,.1f}/s")


def _lines(results: Iterator[Result], total: int, what: str) -> Iterator[Result]:
    """Write a line now and then, for files and for logs of batch jobs."""
    began = written = time.monotonic()
    for done, result in enumerate(results, 1):
        yield result  # what is counted has been taken, and survives Ctrl-C
        now = time.monotonic()
        if done == total or now - written > SECONDS_BETWEEN_LINES:
            rate, written = done / max(now - began, 1e-9), now
            left = f"{(total - done) / rate:,.0f} s left" if done < total else f"{now - began:,.1f} s"
            print(f"{what}: {done:,} of {total:,}, {rate:,.1f}/s, {left}", file=sys.stderr, flush=True)
