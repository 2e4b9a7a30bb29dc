"""Who may do what: one table of endpoints and roles."""

from __future__ import annotations

from enum import StrEnum

from dtrbandit.service.problems import Refused


class Role(StrEnum):
    """What a key is for.

    A *site* treats its own patients and sees their arms, never counts, estimates, rounds or the schedule. A
    *statistician* sees comparisons. An *administrator* runs the trial and its keys. An *auditor* reads the log.
    """

    ADMINISTRATOR = "administrator"
    SITE = "site"
    STATISTICIAN = "statistician"
    AUDITOR = "auditor"


_RUNS = frozenset({Role.ADMINISTRATOR})
_TREATS = frozenset({Role.ADMINISTRATOR, Role.SITE})
_READS = frozenset({Role.ADMINISTRATOR, Role.STATISTICIAN, Role.AUDITOR})
_COMPARES = frozenset({Role.ADMINISTRATOR, Role.STATISTICIAN})
_INSPECTS = frozenset({Role.ADMINISTRATOR, Role.AUDITOR})
_ALL = frozenset(Role)

MAY = {
    "list_trials": _ALL,
    "create_trial": _RUNS,
    "show_trial": _ALL,
    "lock_trial": _RUNS,
    "end_trial": _RUNS,
    "hold_accrual": _RUNS,
    "release_accrual": _RUNS,
    "close_arm": _RUNS,
    "enroll_unit": _TREATS,
    "record_response": _TREATS,
    "record_outcome": _TREATS,
    "withdraw_unit": _TREATS,
    "override_arm": _TREATS,
    "correct_record": _TREATS,
    "void_unit": _RUNS,
    "unblind_unit": _TREATS,
    "list_units": _ALL,
    "show_unit": _ALL,
    "explain_decisions": _COMPARES,
    "read_log": _READS,
    "read_head": _READS,
    "summarise_trial": _COMPARES,
    "read_metrics": _READS,
    "list_keys": _RUNS,
    "read_key_events": _INSPECTS,
    "create_key": _RUNS,
    "rotate_key": _RUNS,
    "revoke_key": _RUNS,
}
OF_ALL_TRIALS = frozenset({"create_trial", "read_metrics"})  # closed to a key that opens one trial


def require(role: Role, endpoint: str) -> None:
    """Refuse a role that may not use an endpoint.

    Examples
    --------
    >>> require(Role.SITE, "enroll_unit")
    """
    if role not in MAY[endpoint]:
        allowed = ", ".join(sorted(MAY[endpoint]))
        raise Refused(
            "forbidden", f"a key of the role {role.value} may not {endpoint.replace('_', ' ')}; {allowed} may"
        )
