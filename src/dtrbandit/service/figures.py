"""What a service tells Prometheus about its trials: how much is on record, who waits, what was checked."""

from __future__ import annotations

from dtrbandit.service.metrics import Labels, series
from dtrbandit.service.service import Service
from dtrbandit.storage import Check

Samples = list[tuple[Labels, float]]


def figures(service: Service) -> list[str]:
    """Return the lines about all trials."""
    trials = sorted(service.trials.items())
    records: Samples = [({"trial": name}, float(trial.head.sequence)) for name, trial in trials]
    waiting: Samples = [({"trial": name}, float(trial.in_flight)) for name, trial in trials]
    lines = series("dtrbandit_ready", "gauge", "Whether the service is ready.", [({}, float(service.ready))])
    lines += series("dtrbandit_log_records", "gauge", "Records in the log.", records)
    lines += series("dtrbandit_units_in_flight", "gauge", "Units that await something.", waiting)
    return lines + _checked(service.store.last_checks())


def _checked(checks: list[Check]) -> list[str]:
    verified: Samples = [({"trial": check.trial}, check.time) for check in checks if check.what == "verify"]
    good: Samples = [({"trial": check.trial}, float(check.ok)) for check in checks if check.what == "verify"]
    copied: Samples = [({"trial": check.trial}, check.time) for check in checks if check.what == "backup" and check.ok]
    lines = series("dtrbandit_verified_seconds", "gauge", "When the log was last verified, in Unix time.", verified)
    lines += series("dtrbandit_verified_ok", "gauge", "Whether the last verification found nothing.", good)
    return lines + series("dtrbandit_backup_seconds", "gauge", "When the last backup was made, in Unix time.", copied)
