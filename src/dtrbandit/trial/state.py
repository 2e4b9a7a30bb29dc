"""Where a trial stands: which of its two logs is written, in which phase, up to which head."""

from __future__ import annotations

from typing import Literal, NamedTuple, get_args

from dtrbandit.design.values import shown
from dtrbandit.errors import ObservationError, OtherLog
from dtrbandit.record.chain import Head, time_of
from dtrbandit.record.units import Histories
from dtrbandit.storage.store import Storage

Phase = Literal["rehearsal", "live", "ended"]
LogName = Literal["rehearsal", "live"]
LOGS: tuple[LogName, ...] = get_args(LogName)


class TrialState(NamedTuple):
    """Where a trial stands, all of the same moment.

    ``log`` is the log that is written: that of the rehearsal, or once the trial was locked the live one. A trial that
    has ended has ended in one of them.
    """

    phase: Phase
    log: LogName
    head: Head


def state_of(histories: Histories, head: Head) -> TrialState:
    """Return where the trial of these units stands."""
    log = log_name(histories)
    return TrialState(log if histories.ended is None else "ended", log, head)


def log_name(histories: Histories) -> LogName:
    """Say which log this is. Its first event does: a live log names the rehearsal that came before."""
    return "rehearsal" if histories.opened.rehearsal is None else "live"


def _require_name(meant: str) -> None:
    if meant not in LOGS:
        raise ObservationError(f"a trial has the logs {' and '.join(map(repr, LOGS))}, found {shown(meant)}")


def require_not_live(meant: str) -> None:
    """Refuse a lock that is meant for the live log: it ends the rehearsal, whichever log is written."""
    _require_name(meant)
    if meant == "live":
        raise OtherLog("a lock ends the rehearsal, and this was meant for the live trial; nothing was recorded")


def require_log(meant: str, histories: Histories, storage: Storage) -> None:
    """Refuse what is meant for another log than the one that is written."""
    _require_name(meant)
    found = log_name(histories)
    if meant == found:
        return
    if found == "rehearsal":
        raise OtherLog("this was meant for the live trial, which is still in rehearsal; nothing was recorded")
    raise OtherLog(
        f"the trial was locked{_when(storage)}, and this was meant for its rehearsal; nothing was recorded in the live "
        "trial"
    )


def _when(storage: Storage) -> str:
    """Say when a log began."""
    (first,) = storage.pick([1])
    time = time_of(first.text, 1)
    return "" if time is None else f" at {time:%Y-%m-%d %H:%M} UTC"
