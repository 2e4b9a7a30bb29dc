"""Trials and keys of the one service for all tests that do not hurt it."""

from __future__ import annotations

import pytest

from serving.served import Served


@pytest.fixture
def trial(served: Served, request: pytest.FixtureRequest) -> str:
    """The address of a new trial."""
    return served.create(f"trial-{abs(hash(request.node.nodeid))}")


@pytest.fixture(scope="session")
def keys_of_all(served: Served) -> dict[str, str]:
    """A key that opens all trials, for each role that may have one."""
    return {role: served.new_key(role) for role in ("administrator", "statistician", "auditor")}


@pytest.fixture
def keys(served: Served, keys_of_all: dict[str, str], trial: str) -> dict[str, str]:
    """A key for each role; that of a site is for the trial."""
    name = trial.removeprefix("/trials/")
    return {**keys_of_all, "site": served.new_key("site", trial=name, site="north")}
