"""All endpoints in one table: name, method, address, who may use it, its handler, and what it takes and gives."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable
from typing import NamedTuple

from starlette.responses import Response

from dtrbandit.record import Command, commands
from dtrbandit.service import key_handlers as keys
from dtrbandit.service import models, trials, units
from dtrbandit.service.call import recorded_as, reply_arm
from dtrbandit.service.keys import ALL, COMPARES, EXPLAIN, INSPECTS, READS, RUNS, TREATS, Permission, Role
from dtrbandit.service.models import KeyReply, NewTrial, Recorded, TrialReply, UnitReply

Handler = Callable[..., Awaitable[Response]]


class Endpoint(NamedTuple):
    """What one method of one address does. A handler takes the call, its parameters, and its body or command.

    Attributes
    ----------
    name
        How tables, figures and descriptions name it.
    roles
        Who may use it; None: everybody, without a key.
    query, body, reply
        The models of its parameters, its body and its reply, where there are any.
    command
        The command that its body stands for, if it does for one: the handler gets the command.
    for_one_trial
        Whether a key that opens one trial alone may use it.
    """

    name: str
    method: str
    path: str
    roles: frozenset[Role] | None
    handler: Handler
    query: type[models.Query] | None = None
    body: type[models.Body] | None = None
    reply: type[models.Reply] | None = None
    command: type[Command] | None = None
    for_one_trial: bool = True

    @property
    def permission(self) -> Permission | None:
        """What a key must allow; None if it needs none."""
        return None if self.roles is None else Permission(self.name, self.roles, self.for_one_trial)


TRIAL = "/trials/{trial}"
UNITS = f"{TRIAL}/units"
UNIT = f"{UNITS}/{{unit:path}}"  # whose id may have slashes
KEY = "/keys/{key_id}"


def _command(
    name: str,
    path: str,
    roles: frozenset[Role],
    command: type[Command],
    handler: Handler = reply_arm,
    reply: type[models.Reply] | None = None,
) -> Endpoint:
    """Return the endpoint of a command. Its body has what its address does not hold."""
    body = models.body_of(command, in_address=re.findall(r"{(\w+)", path))
    if handler is reply_arm:
        return Endpoint(name, "POST", path, roles, reply_arm, models.Explain, body, models.ArmReply, command)
    return Endpoint(name, "POST", path, roles, handler, None, body, reply, command)


ENDPOINTS = (  # in the order in which the router tries them: the frequent ones first
    _command("enroll_unit", UNITS, TREATS, commands.Enroll),
    _command("record_response", f"{UNIT}/responses", TREATS, commands.Respond),
    _command("record_outcome", f"{UNIT}/outcome", TREATS, commands.Complete, recorded_as("outcome"), Recorded),
    _command("withdraw_unit", f"{UNIT}/withdrawal", TREATS, commands.Withdraw, recorded_as("withdrawal"), Recorded),
    _command("override_arm", f"{UNIT}/override", TREATS, commands.Override),
    _command("correct_record", f"{UNIT}/corrections", TREATS, commands.Correct, recorded_as("correction"), Recorded),
    _command("void_unit", f"{UNIT}/void", RUNS, commands.Void, recorded_as("void"), Recorded),
    _command("unblind_unit", f"{UNIT}/unblinding", TREATS, commands.Unblind, units.unblind_unit, UnitReply),
    Endpoint("list_units", "GET", UNITS, ALL, units.list_units, models.Awaiting, reply=models.UnitsReply),
    Endpoint("show_unit", "GET", UNIT, ALL, units.show_unit, models.Explain, reply=UnitReply),
    Endpoint("is_alive", "GET", "/live", None, trials.is_alive),
    Endpoint("is_ready", "GET", "/ready", None, trials.is_ready),
    Endpoint("list_trials", "GET", "/trials", ALL, trials.list_trials, reply=models.TrialsReply),
    Endpoint("create_trial", "POST", "/trials", RUNS, trials.create_trial, None, NewTrial, TrialReply, None, False),
    Endpoint("show_trial", "GET", TRIAL, ALL, trials.show_trial, reply=TrialReply),
    Endpoint("lock_trial", "POST", f"{TRIAL}/lock", RUNS, trials.lock_trial, None, models.Lock, TrialReply),
    _command("end_trial", f"{TRIAL}/end", RUNS, commands.End, trials.end_trial),
    _command("hold_accrual", f"{TRIAL}/hold", RUNS, commands.Hold, trials.hold_accrual),
    _command("release_accrual", f"{TRIAL}/release", RUNS, commands.Release, recorded_as("release")),
    _command("close_arm", f"{TRIAL}/arms/close", RUNS, commands.CloseArm, recorded_as("closed arm")),
    Endpoint("read_log", "GET", f"{TRIAL}/log", READS, trials.read_log, models.Records),
    Endpoint("read_head", "GET", f"{TRIAL}/head", READS, trials.read_head, reply=models.HeadReply),
    Endpoint("summarise_trial", "GET", f"{TRIAL}/summary", COMPARES, trials.summarise_trial, reply=models.SummaryReply),
    Endpoint("read_metrics", "GET", "/metrics", READS, trials.read_metrics, for_one_trial=False),
    Endpoint("list_keys", "GET", "/keys", RUNS, keys.list_keys, reply=models.KeysReply),
    Endpoint("read_key_events", "GET", "/keys/events", INSPECTS, keys.read_key_events, models.Records),
    Endpoint("create_key", "POST", "/keys", RUNS, keys.create_key, None, models.KeyWanted, KeyReply),
    Endpoint("rotate_key", "POST", f"{KEY}/rotation", RUNS, keys.rotate_key, None, models.Rotation, KeyReply),
    Endpoint("revoke_key", "POST", f"{KEY}/revocation", RUNS, keys.revoke_key, reply=KeyReply),
)
PERMISSIONS = {
    permission.name: permission
    for permission in (*(each.permission for each in ENDPOINTS), EXPLAIN)
    if permission is not None
}
