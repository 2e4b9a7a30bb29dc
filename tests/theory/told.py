"""A short report, and what it says fails."""

from __future__ import annotations

from dtrbandit import theory
from dtrbandit.environments import (
    ArrivalProcess,
)
from dtrbandit.environments.potential_outcomes import Environment


def told(
    environment: Environment, *, q: int = 2, delta: float = 0.2, arrivals: ArrivalProcess | None = None
) -> theory.Report:
    return theory.report(environment, q=q, delta=delta, arrivals=arrivals, horizon=400, paths=2, units=8000)


def fails(report: theory.Report) -> dict[str, str]:
    """Return what fails, with the words."""
    return {finding.subject: finding.words for finding in report.findings if finding.verdict == "fails"}
