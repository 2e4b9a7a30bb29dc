"""Simulation studies: several policies, the same simulated units, many paths (paper, section 5.2)."""

from dtrbandit.simulation.inputs import ArrivalOrder, Closing
from dtrbandit.simulation.run_paths import StudyError, StudyInterrupted, simulate
from dtrbandit.simulation.saved import load_study
from dtrbandit.simulation.study import Study
from dtrbandit.simulation.summary import StudySummary

__all__ = [
    "ArrivalOrder",
    "Closing",
    "Study",
    "StudyError",
    "StudyInterrupted",
    "StudySummary",
    "load_study",
    "simulate",
]
