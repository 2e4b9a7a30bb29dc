"""Addresses of pages, and who sees which of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import get_args

import pytest

from extras import needed

for module in ("starlette", "jinja2", "uvicorn"):
    needed(module)

from dtrbandit.service.endpoints import PERMISSIONS  # noqa: E402
from dtrbandit.service.keys import Role  # noqa: E402
from dtrbandit.trial.state import Phase  # noqa: E402
from dtrbandit.web.page import BANNERS, TABS, address, banner_of, home  # noqa: E402
from serving.surfer import Surfer  # noqa: E402

PAGES = {
    "administrator": {"", "/allocation", "/outcomes", "/learning", "/bedside", "/units", "/integrity"},
    "statistician": {"", "/allocation", "/outcomes", "/learning", "/units", "/integrity"},
    "site": {"/bedside"},
    "auditor": {"/units", "/integrity"},
}


@pytest.mark.parametrize("role", PAGES)
def test_a_role_gets_its_pages_and_no_others(role: str, trial: str, somebody: Callable[[str], Surfer]) -> None:
    surfer = somebody(role)

    statuses = {path: surfer.get(f"/ui/trials/{trial}{path}").status for path, _, _ in TABS}

    assert {path for path, status in statuses.items() if status == 200} == PAGES[role]
    assert set(statuses.values()) <= {200, 403}


@pytest.mark.parametrize("role", PAGES)
def test_links_lead_only_where_the_role_may_go(role: str, trial: str, somebody: Callable[[str], Surfer]) -> None:
    shown = somebody(role).get(home(Role(role), trial))

    assert shown.status == 200
    for path, name, _ in TABS:
        linked = f'href="/ui/trials/{trial}{path}">{name}' in shown.text or f'aria-current="page">{name}' in shown.text
        assert linked == (path in PAGES[role] and len(PAGES[role]) > 1)


def test_tabs_are_allowed_by_the_table_of_roles() -> None:
    assert {endpoint for _, _, endpoint in TABS} <= set(PERMISSIONS)


def test_an_address_holds_any_id() -> None:
    assert address("a b", "/unit", id="x/../?&\u202e") == "/ui/trials/a%20b/unit?id=x%2F..%2F%3F%26%E2%80%AE"


@pytest.mark.parametrize(("role", "place"), [("site", "/bedside"), ("auditor", "/integrity"), ("statistician", "")])
def test_each_role_begins_at_its_own_page(role: str, place: str) -> None:
    assert home(Role(role), "pilot") == f"/ui/trials/pilot{place}"


def test_every_phase_has_a_banner_of_its_own() -> None:
    assert set(BANNERS) == set(get_args(Phase))
    assert len({banner.word for banner in BANNERS.values()}) == 3
    assert {banner_of(phase, simulated=False).phase for phase in BANNERS} == set(BANNERS)


def test_simulated_patients_are_a_rehearsal_in_every_phase() -> None:
    assert {banner_of(phase, simulated=True).word for phase in BANNERS} == {"REHEARSAL"}
