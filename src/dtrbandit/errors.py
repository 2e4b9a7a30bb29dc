"""The errors of the package: one class for each reaction a caller can have.

::

    DTRError
    ├── DesignError        fix the set-up: a design, a policy or a file that describes one
    ├── ObservationError   fix the value: a context or an outcome that cannot be recorded
    ├── NotEstimable       get more data, or ask for less: the units do not determine what was asked for
    ├── ProtocolError      this cannot happen now: another content, an unknown unit, a wrong moment
    ├── Conflict           catch up and retry: the session has moved on since it answered
    ├── LogError           this log cannot be continued here: damaged, or of another release
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
    """The call contradicts what is already recorded."""


class Conflict(DTRError):  # noqa: N818  # what it is, not that it is one
    """The session has moved on since it answered; follow what is new and answer again."""


class LogError(DTRError):
    """A log is damaged, incomplete, out of order or of another release."""
