"""One set-up for all tests: Hypothesis draws as ``effort.py`` says."""

from collections.abc import Iterator

import pytest

import effort  # noqa: F401  # loads a profile of Hypothesis
from extras import needed
from postgres_server import Server
from serving.served import Served

collect_ignore = ["fixtures"]  # scripts for the commits that made them


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[Server]:
    """One PostgreSQL server for all tests; each has a schema of its own."""
    server = Server()
    yield server
    server.close()


@pytest.fixture
def postgres(postgres_server: Server) -> str:
    """The address of an empty store in PostgreSQL."""
    return postgres_server.new()


@pytest.fixture(scope="session")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A service that runs; each test has a trial of its own."""
    needed("starlette")
    needed("uvicorn")
    service = Served(tmp_path_factory.mktemp("service"))
    yield service
    service.stop()
