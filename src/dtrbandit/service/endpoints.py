"""All endpoints in one table: method, address, who may use it, its handler, and what it takes and gives."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import NamedTuple

from starlette.responses import Response

from dtrbandit.service import key_handlers as keys
from dtrbandit.service import models
from dtrbandit.service import trial_handlers as trials
from dtrbandit.service import unit_handlers as units
from dtrbandit.service.keys import ALL, COMPARES, EXPLAIN, INSPECTS, READS, RUNS, TREATS, Permission, Role


class Endpoint(NamedTuple):
    """What one method of one address does. A handler takes the call, its parameters, and its body.

    Attributes
    ----------
    roles
        Who may use it; None: everybody, without a key.
    query, body, reply
        The models of its parameters, its body and its reply, where there are any.
    for_one_trial
        Whether a key that opens one trial alone may use it.
    """

    method: str
    path: str
    roles: frozenset[Role] | None
    handler: Callable[..., Awaitable[Response]]
    query: type[models.Query] | None = None
    body: type[models.Body] | None = None
    reply: type[models.Reply] | None = None
    for_one_trial: bool = True

    @property
    def name(self) -> str:
        """How tables, figures and descriptions name it."""
        return self.handler.__name__

    @property
    def permission(self) -> Permission | None:
        """What a key must allow; None if it needs none."""
        return None if self.roles is None else Permission(self.name, self.roles, self.for_one_trial)


TRIAL = "/trials/{trial}"
UNITS = f"{TRIAL}/units"
UNIT = f"{UNITS}/{{unit:path}}"  # whose id may have slashes
KEY = "/keys/{key_id}"

ENDPOINTS = (  # in the order in which the router tries them: the frequent ones first
    Endpoint("POST", UNITS, TREATS, units.enroll_unit, models.Explain, models.Enrolment, models.ArmReply),
    Endpoint(
        "POST", f"{UNIT}/responses", TREATS, units.record_response, models.Explain, models.Response, models.ArmReply
    ),
    Endpoint("POST", f"{UNIT}/outcome", TREATS, units.record_outcome, body=models.Outcome, reply=models.Recorded),
    Endpoint("POST", f"{UNIT}/withdrawal", TREATS, units.withdraw_unit, body=models.Because, reply=models.Recorded),
    Endpoint("POST", f"{UNIT}/override", TREATS, units.override_arm, models.Explain, models.Given, models.ArmReply),
    Endpoint(
        "POST", f"{UNIT}/corrections", TREATS, units.correct_record, body=models.Correction, reply=models.Recorded
    ),
    Endpoint("POST", f"{UNIT}/void", RUNS, units.void_unit, body=models.Because, reply=models.Recorded),
    Endpoint("POST", f"{UNIT}/unblinding", TREATS, units.unblind_unit, body=models.Because, reply=models.UnitReply),
    Endpoint("GET", UNITS, ALL, units.list_units, models.Awaiting, reply=models.UnitsReply),
    Endpoint("GET", UNIT, ALL, units.show_unit, models.Explain, reply=models.UnitReply),
    Endpoint("GET", "/live", None, trials.is_alive),
    Endpoint("GET", "/ready", None, trials.is_ready),
    Endpoint("GET", "/trials", ALL, trials.list_trials, reply=models.TrialsReply),
    Endpoint(
        "POST", "/trials", RUNS, trials.create_trial, body=models.NewTrial, reply=models.TrialReply, for_one_trial=False
    ),
    Endpoint("GET", TRIAL, ALL, trials.show_trial, reply=models.TrialReply),
    Endpoint("POST", f"{TRIAL}/lock", RUNS, trials.lock_trial, body=models.Lock, reply=models.TrialReply),
    Endpoint("POST", f"{TRIAL}/end", RUNS, trials.end_trial, body=models.Because),
    Endpoint("POST", f"{TRIAL}/hold", RUNS, trials.hold_accrual, body=models.Accrual),
    Endpoint("POST", f"{TRIAL}/release", RUNS, trials.release_accrual, body=models.Accrual),
    Endpoint("POST", f"{TRIAL}/arms/close", RUNS, trials.close_arm, body=models.ArmToClose),
    Endpoint("GET", f"{TRIAL}/log", READS, trials.read_log, models.Records),
    Endpoint("GET", f"{TRIAL}/head", READS, trials.read_head, reply=models.HeadReply),
    Endpoint("GET", f"{TRIAL}/summary", COMPARES, trials.summarise_trial, reply=models.SummaryReply),
    Endpoint("GET", "/metrics", READS, trials.read_metrics, for_one_trial=False),
    Endpoint("GET", "/keys", RUNS, keys.list_keys, reply=models.KeysReply),
    Endpoint("GET", "/keys/events", INSPECTS, keys.read_key_events, models.Records),
    Endpoint("POST", "/keys", RUNS, keys.create_key, body=models.KeyWanted, reply=models.KeyReply),
    Endpoint("POST", f"{KEY}/rotation", RUNS, keys.rotate_key, body=models.Rotation, reply=models.KeyReply),
    Endpoint("POST", f"{KEY}/revocation", RUNS, keys.revoke_key, reply=models.KeyReply),
)
PERMISSIONS = {
    permission.name: permission
    for permission in (*(each.permission for each in ENDPOINTS), EXPLAIN)
    if permission is not None
}
