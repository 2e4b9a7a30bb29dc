"""The facts of a trial and their fold: commands, events, logs in memory and as text, and units' histories."""

from dtrbandit.record.codec import read_log, write_log
from dtrbandit.record.commands import Command, Complete, Correct, Enroll, Override, Reply, Respond, Withdraw
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
from dtrbandit.record.log import Log

__all__ = [
    "Assigned",
    "Command",
    "Complete",
    "Completed",
    "Correct",
    "Corrected",
    "Decision",
    "Enroll",
    "Enrolled",
    "Event",
    "Histories",
    "History",
    "Log",
    "Opened",
    "Overridden",
    "Override",
    "Reply",
    "Respond",
    "Responded",
    "Withdraw",
    "Withdrawn",
    "read_log",
    "write_log",
]
