"""Metrics for Prometheus, in its text format: of requests, and of trials."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Mapping

from dtrbandit.storage import Check
from dtrbandit.trial import Trial

BOUNDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0)
MEDIA_TYPE = "text/plain; version=0.0.4; charset=utf-8"
Labels = Mapping[str, str]
Samples = list[tuple[Labels, float]]


class Requests:
    """How many requests came, how they ended and how long they took, by endpoint. For one thread."""

    def __init__(self) -> None:
        self._counts: dict[tuple[str, int], int] = {}
        self._times: dict[str, list[int]] = {}
        self._sums: dict[str, float] = {}

    def count(self, endpoint: str, status: int, seconds: float) -> None:
        """Take in one request that was answered."""
        ended = endpoint, status
        self._counts[ended] = self._counts.get(ended, 0) + 1
        times = self._times.get(endpoint)
        if times is None:
            times = self._times[endpoint] = [0] * (len(BOUNDS) + 1)
            self._sums[endpoint] = 0.0
        times[bisect_left(BOUNDS, seconds)] += 1
        self._sums[endpoint] += seconds

    def lines(self) -> list[str]:
        """Return them as Prometheus reads them."""
        counts = [({"endpoint": e, "status": str(s)}, float(n)) for (e, s), n in sorted(self._counts.items())]
        lines = series("dtrbandit_requests_total", "counter", "Requests answered.", counts)
        lines += heading("dtrbandit_request_seconds", "histogram", "Time from request to answer.")
        for endpoint in sorted(self._times):
            total = 0
            for bound, here in zip((*map(str, BOUNDS), "+Inf"), self._times[endpoint], strict=True):
                total += here
                lines.append(sample("dtrbandit_request_seconds_bucket", {"endpoint": endpoint, "le": bound}, total))
            lines.append(sample("dtrbandit_request_seconds_sum", {"endpoint": endpoint}, self._sums[endpoint]))
            lines.append(sample("dtrbandit_request_seconds_count", {"endpoint": endpoint}, total))
        return lines


def of_trials(trials: Mapping[str, Trial], checks: Iterable[Check], *, ready: bool) -> list[str]:
    """Return what is told of all trials: how much is on record, who waits, what was checked."""
    records: Samples = [({"trial": name}, float(trial.head.sequence)) for name, trial in sorted(trials.items())]
    waiting: Samples = [({"trial": name}, float(trial.in_flight)) for name, trial in sorted(trials.items())]
    lines = series("dtrbandit_ready", "gauge", "Whether the service is ready.", [({}, float(ready))])
    lines += series("dtrbandit_log_records", "gauge", "Records in the log.", records)
    lines += series("dtrbandit_units_in_flight", "gauge", "Units that await something.", waiting)
    return lines + _of_checks(list(checks))


def _of_checks(checks: list[Check]) -> list[str]:
    verified: Samples = [({"trial": check.trial}, check.time) for check in checks if check.what == "verify"]
    good: Samples = [({"trial": check.trial}, float(check.ok)) for check in checks if check.what == "verify"]
    copied: Samples = [({"trial": check.trial}, check.time) for check in checks if check.what == "backup" and check.ok]
    lines = series("dtrbandit_verified_seconds", "gauge", "When the log was last verified, in Unix time.", verified)
    lines += series("dtrbandit_verified_ok", "gauge", "Whether the last verification found nothing.", good)
    return lines + series("dtrbandit_backup_seconds", "gauge", "When the last backup was made, in Unix time.", copied)


def series(name: str, kind: str, what: str, samples: Iterable[tuple[Labels, float]]) -> list[str]:
    """Return one figure with all its samples; nothing if there are none.

    Examples
    --------
    >>> print(*series("up", "gauge", "Whether it runs.", [({"trial": "a"}, 1.0)]), sep=chr(10))
    # HELP up Whether it runs.
    # TYPE up gauge
    up{trial="a"} 1.0
    """
    found = [sample(name, labels, value) for labels, value in samples]
    return [*heading(name, kind, what), *found] if found else []


def heading(name: str, kind: str, what: str) -> list[str]:
    """Return the two lines before the samples of a figure."""
    return [f"# HELP {name} {what}", f"# TYPE {name} {kind}"]


def sample(name: str, labels: Labels, value: float) -> str:
    """Return one line; labels may hold anything."""
    inside = ",".join(f'{key}="{_escaped(text)}"' for key, text in labels.items())
    return f"{name}{{{inside}}} {value!r}" if inside else f"{name} {value!r}"


def _escaped(text: str) -> str:
    return text.replace("\\", r"\\").replace("\n", r"\n").replace('"', r"\"")
