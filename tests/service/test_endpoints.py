"""Who may do what (F16): the table, what the page says of it, and every endpoint called with every kind of key."""

from __future__ import annotations

import re
from itertools import count
from pathlib import Path
from typing import Any, get_args, get_type_hints

import pytest

from dtrbandit.record import Command, Upgrade
from extras import needed
from serving.served import TRIAL, Answer, Served

needed("starlette")
needed("pydantic")

from dtrbandit.service.endpoints import ENDPOINTS, PERMISSIONS  # noqa: E402
from dtrbandit.service.keys import Role  # noqa: E402
from dtrbandit.service.problems import Refused  # noqa: E402

MAY = {name: permission.roles for name, permission in PERMISSIONS.items()}
OF_ALL_TRIALS = {name for name, permission in PERMISSIONS.items() if not permission.for_one_trial}


def require(role: Role, endpoint: str) -> None:
    PERMISSIONS[endpoint].require(role)


def test_an_administrator_may_do_everything() -> None:
    for endpoint in MAY:
        require(Role.ADMINISTRATOR, endpoint)


@pytest.mark.parametrize("endpoint", ["explain_decisions", "read_log", "read_head", "summarise_trial", "read_metrics"])
def test_a_site_sees_no_counts_estimates_or_rounds(endpoint: str) -> None:
    with pytest.raises(Refused, match="site may not") as refused:
        require(Role.SITE, endpoint)

    assert refused.value.status == 403


@pytest.mark.parametrize("role", [Role.STATISTICIAN, Role.AUDITOR])
def test_who_reads_changes_nothing(role: Role) -> None:
    changing = [endpoint for endpoint in MAY if endpoint.split("_")[0] not in ("list", "show", "read")]
    changing = [endpoint for endpoint in changing if endpoint not in ("explain_decisions", "summarise_trial")]

    assert len(changing) == 17
    for endpoint in changing:
        with pytest.raises(Refused):
            require(role, endpoint)


def test_handlers_take_what_the_table_says() -> None:
    for endpoint in ENDPOINTS:
        taken = get_type_hints(endpoint.handler)
        body = endpoint.body if endpoint.command is None else taken.get("body")
        assert (taken.get("query"), taken.get("body")) == (endpoint.query, body), endpoint.name
        assert taken.get("command") in (endpoint.command, Any), endpoint.name


def test_every_command_that_the_service_takes_is_an_endpoint() -> None:
    others = {Upgrade}  # which is for whoever runs the service, from the command line

    assert {each.command for each in ENDPOINTS} - {None} == {*get_args(Command)} - others


def test_the_page_on_roles_has_the_same_table() -> None:
    page = (Path(__file__).parents[2] / "docs/roles.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `(\w+)` \|(.*)\|$", page, flags=re.MULTILINE)
    told = {name: [cell.strip() for cell in cells.split("|")] for name, cells in rows}

    assert list(told) == list(MAY)
    for endpoint, cells in told.items():
        *_, administrator, site, statistician, auditor, one_trial = cells
        by_role = zip(Role, (administrator, site, statistician, auditor), strict=True)
        assert {role for role, cell in by_role if cell} == MAY[endpoint], endpoint
        assert (not one_trial) == (endpoint in OF_ALL_TRIALS), endpoint


# -- every endpoint with every kind of key -----------------------------------------------------------------------

REASON = {"reason": "because"}
UNIT = {"unit": "u1", "context": {"x": 0.5}, "site": "north"}
REQUESTS: dict[str, tuple[str, str, Any]] = {
    "list_trials": ("GET", "/trials", None),
    "create_trial": ("POST", "/trials", {"name": "another", **TRIAL}),
    "show_trial": ("GET", "{trial}", None),
    "lock_trial": ("POST", "{trial}/lock", REASON),
    "end_trial": ("POST", "{trial}/end", REASON),
    "hold_accrual": ("POST", "{trial}/hold", {**REASON, "site": "south"}),
    "release_accrual": ("POST", "{trial}/release", REASON),
    "close_arm": ("POST", "{trial}/arms/close", {"stage": "first", "arm": "a", **REASON}),
    "enroll_unit": ("POST", "{trial}/units", UNIT),
    "record_response": ("POST", "{trial}/units/u1/responses", {"context": {"z": -1.0}}),
    "record_outcome": ("POST", "{trial}/units/left/outcome", {"outcome": 1.0}),
    "withdraw_unit": ("POST", "{trial}/units/u1/withdrawal", REASON),
    "override_arm": ("POST", "{trial}/units/u1/override", {"arm": "{other}", **REASON}),
    "correct_record": ("POST", "{trial}/units/u1/corrections", {"stage": "first", "context": {"x": 0.75}, **REASON}),
    "void_unit": ("POST", "{trial}/units/u1/void", REASON),
    "unblind_unit": ("POST", "{trial}/units/u1/unblinding", REASON),
    "list_units": ("GET", "{trial}/units", None),
    "show_unit": ("GET", "{trial}/units/u1", None),
    "explain_decisions": ("POST", "{trial}/units?explain=true", UNIT),
    "read_log": ("GET", "{trial}/log", None),
    "read_head": ("GET", "{trial}/head", None),
    "summarise_trial": ("GET", "{trial}/summary", None),
    "read_metrics": ("GET", "/metrics", None),
    "list_keys": ("GET", "/keys", None),
    "read_key_events": ("GET", "/keys/events", None),
    "create_key": ("POST", "/keys", {"role": "auditor", "label": "another", "trial": "{name}"}),
    "rotate_key": ("POST", "/keys/000000000000/rotation", None),
    "revoke_key": ("POST", "/keys/000000000000/revocation", None),
}
OTHERWISE = {"release_accrual": 409, "rotate_key": 404, "revoke_key": 404}  # what who may do it gets, if not 200
WHOLE = {"list_trials", "list_units", "show_trial"}  # that a site sees, without units of other sites
numbers = count(1)


@pytest.fixture(scope="module")
def strangers(served: Served) -> dict[str, str]:
    """Keys that were valid, and such as never were."""
    revoked = served.post("/keys", {"role": "administrator", "label": "revoked"}).json
    served.post(f"/keys/{revoked['id']}/revocation", None)
    expired = served.post("/keys", {"role": "administrator", "label": "expired", "days": 1e-11}).json
    return {
        "revoked": revoked["key"],
        "expired": expired["key"],
        "unknown": "dtrb_000000000000_" + "x" * 43,
        "nonsense": "nonsense",
        "none": "",
    }


@pytest.fixture(scope="module")
def elsewhere(served: Served) -> dict[Role, str]:
    """A key of each role that opens another trial alone."""
    served.create("elsewhere")
    places = {role: {"trial": "elsewhere"} | ({"site": "north"} if role is Role.SITE else {}) for role in Role}
    return {role: served.new_key(role, **place) for role, place in places.items()}


class Asking:
    """One endpoint of a trial that has a unit of site north under way, and one that left early."""

    def __init__(self, served: Served, trial: str, north: str, endpoint: str) -> None:
        self.served, self.endpoint = served, endpoint
        arm = served.post(f"{trial}/units", {"unit": "u1", "context": {"x": 0.5}}, key=north).json["arm"]
        served.post(f"{trial}/units", {"unit": "left", "context": {"x": 0.5}}, key=north)
        served.post(f"{trial}/units/left/responses", {"context": {"z": -1.0}}, key=north)
        said = {"{trial}": trial, "{name}": trial.removeprefix("/trials/"), "{other}": {"a": "b", "b": "a"}[arm]}
        self.method, path, body = REQUESTS[endpoint]
        self.path = path.replace("{trial}", trial)
        self.body = body and {
            name: said.get(value, value) if isinstance(value, str) else value for name, value in body.items()
        }

    def __call__(self, key: str) -> Answer:
        """Ask with a key, from an address of its own: wrong keys are limited by address."""
        number = next(numbers)
        headers = {"X-Forwarded-For": f"10.{number >> 16}.{number >> 8 & 255}.{number & 255}"}
        return self.served.send(self.method, self.path, self.body, key=key, headers=headers)


@pytest.mark.parametrize("endpoint", MAY)
def test_each_endpoint_opens_to_its_roles_in_their_trial_at_their_site_alone(
    served: Served,
    trial: str,
    keys: dict[str, str],
    elsewhere: dict[Role, str],
    strangers: dict[str, str],
    endpoint: str,
) -> None:
    asking, name = Asking(served, trial, keys["site"], endpoint), trial.removeprefix("/trials/")
    allowed = MAY[endpoint] if endpoint != "explain_decisions" else {Role.ADMINISTRATOR}  # others may not enrol
    about_trial = "{trial}" in REQUESTS[endpoint][1] or endpoint == "create_key"
    good = OTHERWISE.get(endpoint, 200)
    bound = {role: keys["site"] if role is Role.SITE else served.new_key(role, trial=name) for role in Role}
    before = served.records(trial)

    for which, key in strangers.items():
        answer = asking(key)
        assert answer.status == 401, which
        assert answer.headers["www-authenticate"] == "Bearer"
    for role in Role:
        if role not in allowed:
            assert asking(keys[role]).status == 403, role
            assert asking(bound[role]).status == 403, role
        closed = role not in allowed or about_trial or endpoint in OF_ALL_TRIALS
        assert asking(elsewhere[role]).status == (403 if closed else good), f"{role}, another trial"
    south = asking(served.new_key("site", trial=name, site="south"))
    assert south.status == (200 if endpoint in WHOLE else 403)
    assert served.records(trial) == before  # of all this, nothing was recorded

    for role in allowed:
        assert asking(keys[role]).status == good, role
        closed = role is not Role.SITE and endpoint in OF_ALL_TRIALS
        assert asking(bound[role]).status == (403 if closed else good), f"{role}, of this trial"
