"""The errors of the package: one class for each reaction a caller can have.

::

    DTRError
    ├── DesignError        fix the set-up: a design, a policy or a file that describes one
    ├── ObservationError   fix the value: a context or an outcome that cannot be recorded
    ├── ProtocolError      this cannot happen now: another content, an unknown unit, a wrong moment
    ├── NotEstimable       need more data, or a simpler question
    ├── LogError           this log cannot be continued here: damaged, or of another release
    └── StudyError         a path of a study failed: resume from its ``study`` (in ``simulation``, which it knows)

An error that leaves a session leaves it unchanged.
"""


class DTRError(Exception):
    """Base of every error that this package raises on purpose."""


class DesignError(DTRError, ValueError):
    """A design or a policy is not valid; the message says where and what is allowed."""


class ObservationError(DTRError, ValueError):
    """A context or an outcome holds something that cannot be recorded."""


class ProtocolError(DTRError):
    """The call contradicts what is already recorded."""


class LogError(DTRError):
    """A log is damaged, incomplete, out of order or of another release."""


class NotEstimable(DTRError):  # noqa: N818  # a reaction, as the others
    """Need more data, or a simpler question."""
