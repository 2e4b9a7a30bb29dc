"""A small package with our machinery, its cache empty or filled."""

from __future__ import annotations

from pathlib import Path

import pytest

from kernels.small_package import TELL, WAIT, SmallPackage, create


@pytest.fixture
def small(tmp_path: Path) -> SmallPackage:
    return create(tmp_path)


@pytest.fixture(scope="session")
def filled(tmp_path_factory: pytest.TempPathFactory) -> SmallPackage:
    """Return a package whose cache is filled; tests must leave it so."""
    small = create(tmp_path_factory.mktemp("filled"))
    assert small.run(WAIT + TELL)[0] == "11 True"
    return small
