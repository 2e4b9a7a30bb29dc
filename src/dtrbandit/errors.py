"""The errors of the package: one class for each reaction a caller can have.

::

    DTRError
    ├── DesignError        fix the set-up: a design, a policy or a file that describes one
    ├── ObservationError   fix the value: a context or an outcome that cannot be recorded
    ├── NotEstimable       get more data, or ask for less: the units do not determine what was asked for
    ├── ProtocolError      this cannot happen now: another content, a wrong moment
    │   ├── NotFound       look at the name: there is no such unit or trial
    │   └── OtherLog       look at the trial: it was locked, and this was meant for its rehearsal
    ├── NotAllowed         ask somebody who may: the key, its role or its site does not open this
    ├── Conflict           catch up and retry: the session has moved on since it answered
    ├── LogError           this log cannot be continued here: damaged, or of another release
    ├── Unavailable        try again later: nothing could be stored for good, so nothing was recorded
    └── StudyError         a path of a study failed: resume from its ``study`` (defined in ``simulation``)

An error that leaves a session leaves it unchanged.
"""


class DTRError(Exception):
    """Base of every error that this package raises on purpose."""


class DesignError(DTRError, ValueError):
    """A design or a policy is not valid; the message says where and what is allowed."""


class ObservationError(DTRError, ValueError):
    """A context or an outcome holds something that cannot be recorded."""


class NotEstimable(DTRError):  # noqa: N818  # what it is, not that it is one
    """The units do not determine what was asked for; the message says what is missing."""


class ProtocolError(DTRError):
    """The call contradicts what is already recorded.

    ``blind`` says the same to those who must not know reasons of the trial as a whole. ``remedy`` says what to do,
    where that is not to look at the unit.
    """

    def __init__(self, message: str, *, blind: str | None = None, remedy: str | None = None) -> None:
        super().__init__(message)
        self.blind = message if blind is None else blind
        self.remedy = remedy


class NotFound(ProtocolError):  # noqa: N818  # what it is, not that it is one
    """There is no unit or trial of this name."""


class OtherLog(ProtocolError):  # noqa: N818  # what it is, not that it is one
    """The call was meant for the rehearsal of a trial that is locked, or for the live log of one that is not."""


class NotAllowed(DTRError):  # noqa: N818  # what it is, not that it is one
    """The key is not valid, or it does not open this to its role, in its trial, at its site."""


class Conflict(DTRError):  # noqa: N818  # what it is, not that it is one
    """The session has moved on since it answered; follow what is new and answer again."""


class LogError(DTRError):
    """A log is damaged, incomplete, out of order or of another release.

    ``sequence`` is the number of the first event that is wrong, from 1; None where it is not one event. ``outside``
    says the same to those who need not know where the database is.
    """

    def __init__(self, message: str, *, sequence: int | None = None, outside: str | None = None) -> None:
        super().__init__(message)
        self.sequence = sequence
        self.outside = message if outside is None else outside


class Unavailable(DTRError):  # noqa: N818  # what it is, not that it is one
    """Nothing could be stored for good, so nothing was recorded; the same call may be repeated later."""
