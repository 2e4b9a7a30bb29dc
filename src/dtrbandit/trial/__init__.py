"""Live trials: a session whose every fact is stored for good before it counts."""

from dtrbandit.record.chain import Head, Record
from dtrbandit.trial.batch import Ask, Taken
from dtrbandit.trial.export import Exported
from dtrbandit.trial.proof import Verification, verify_stored
from dtrbandit.trial.state import LogName, TrialState
from dtrbandit.trial.trial import Trial
from dtrbandit.trial.units import UnitStatus, UnitStory

__all__ = [
    "Ask",
    "Exported",
    "Head",
    "LogName",
    "Record",
    "Taken",
    "Trial",
    "TrialState",
    "UnitStatus",
    "UnitStory",
    "Verification",
    "verify_stored",
]
