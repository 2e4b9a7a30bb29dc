"""Metrics for Prometheus, in its text format: of requests, and of trials."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from dtrbandit.service.service import BOUNDS, Requests
from dtrbandit.storage import Check
from dtrbandit.trial import Trial

MEDIA_TYPE = "text/plain; version=0.0.4; charset=utf-8"
Labels = Mapping[str, str]
Samples = list[tuple[Labels, float]]


def of_requests(requests: Requests) -> list[str]:
    """Return how many requests came, how they ended and how long they took, as Prometheus reads it."""
    counts = [({"endpoint": e, "status": str(s)}, float(n)) for (e, s), n in sorted(requests.counts.items())]
    lines = series("dtrbandit_requests_total", "counter", "Requests answered.", counts)
    lines += heading("dtrbandit_request_seconds", "histogram", "Time from request to answer.")
    for endpoint, times in sorted(requests.times.items()):
        total = 0
        for bound, here in zip((*map(str, BOUNDS), "+Inf"), times, strict=True):
            total += here
            lines.append(sample("dtrbandit_request_seconds_bucket", {"endpoint": endpoint, "le": bound}, total))
        lines.append(sample("dtrbandit_request_seconds_sum", {"endpoint": endpoint}, requests.sums[endpoint]))
        lines.append(sample("dtrbandit_request_seconds_count", {"endpoint": endpoint}, total))
    return lines


def of_trials(trials: Mapping[str, Trial], checks: Iterable[Check], *, ready: bool) -> list[str]:
    """Return the figures of all trials: how much is on record, who waits, what was checked."""
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
