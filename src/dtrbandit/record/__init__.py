"""The facts of a trial and their fold: events, their text form, and units' histories."""

from dtrbandit.record.codec import read_log, write_log
from dtrbandit.record.events import (
    Assigned,
    Completed,
    Corrected,
    Decision,
    Enrolled,
    Event,
    Opened,
    Overridden,
    Responded,
    Withdrawn,
)
from dtrbandit.record.histories import Histories, History

__all__ = [
    "Assigned",
    "Completed",
    "Corrected",
    "Decision",
    "Enrolled",
    "Event",
    "Histories",
    "History",
    "Opened",
    "Overridden",
    "Responded",
    "Withdrawn",
    "read_log",
    "write_log",
]
