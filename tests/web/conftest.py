"""One service with its pages for all tests that do not hurt it, and people who are logged in."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from extras import needed
from serving.served import Served
from serving.surfer import Surfer


@pytest.fixture(scope="session")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A service that runs; each test has a trial of its own."""
    for module in ("starlette", "jinja2", "uvicorn"):
        needed(module)
    service = Served(tmp_path_factory.mktemp("pages"), behind_proxy=False)
    yield service
    service.stop()


@pytest.fixture
def trial(served: Served, request: pytest.FixtureRequest) -> str:
    """The name of a new trial."""
    name = f"trial-{abs(hash(request.node.nodeid))}"
    served.create(name)
    return name


@pytest.fixture(scope="session")
def keys_of_all(served: Served) -> dict[str, str]:
    """A key that opens all trials, for each role that may have one."""
    return {role: served.new_key(role, f"the {role}") for role in ("administrator", "statistician", "auditor")}


@pytest.fixture
def keys(served: Served, keys_of_all: dict[str, str], trial: str) -> dict[str, str]:
    """A key for each role; that of a site is for the trial."""
    return {**keys_of_all, "site": served.new_key("site", "the site", trial=trial, site="north")}


@pytest.fixture
def somebody(served: Served, keys: dict[str, str]) -> Callable[[str], Surfer]:
    """Log in by a role."""

    def logged_in(role: str) -> Surfer:
        surfer = Surfer(served)
        assert surfer.log_in(keys[role]).status == 200
        return surfer

    return logged_in
