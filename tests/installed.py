"""Tests run on what is installed: the package that ``src`` holds now, with kernels as this run wants them.

A test of sources that are not those which run proves nothing. The root's ``conftest.py`` registers this as a plugin. It
looks before the first test and after the last, since a module of Python can be loaded over a compiled one.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import dtrbandit
from dtrbandit.build import CHECKED, COMPILED, LIST, PLAIN, states

SOURCES = Path(__file__).parents[1] / "src/dtrbandit"
INSTALLED = Path(dtrbandit.__file__).parent
REMEDIES = {
    COMPILED: "make build",
    CHECKED: "DTRBANDIT_CHECK=1 make VENV=.venv-checked build",
    PLAIN: "DTRBANDIT_PLAIN=1 make VENV=.venv-plain build",
}


def pytest_plugin_registered(plugin: object) -> None:
    """Refuse to test anything else than what the sources say, before the next ``conftest.py`` imports it."""
    if plugin is sys.modules[__name__] and (fault := fault_of(INSTALLED, SOURCES)):
        raise pytest.UsageError(fault)


@pytest.fixture(scope="session", autouse=True)
def still_the_same_build() -> Iterator[None]:
    """Look again after the last test."""
    yield
    fault = fault_of(INSTALLED, SOURCES)
    assert not fault, f"after the last test: {fault}"


def fault_of(installed: Path, sources: Path) -> str:
    """Say what is wrong with what is installed, and what to do; nothing if it is as it should be."""
    wanted = wanted_state()
    if other := differences(installed, sources):
        return f"the installed dtrbandit is not that of {sources.parent.name}/ ({listed(other)}): {REMEDIES[wanted]}"
    if wrong := [f"{name} is {state}" for name, state in states(sources).items() if state != wanted]:
        return f"kernels must be {wanted}; {listed(wrong)}: {REMEDIES[wanted]}"
    return ""


def wanted_state() -> str:
    """Return how kernels must have been built: as the variables say that ``setup.py`` reads too."""
    if os.environ.get("DTRBANDIT_PLAIN") == "1":
        return PLAIN
    return CHECKED if os.environ.get("DTRBANDIT_CHECK") == "1" else COMPILED


def differences(installed: Path, sources: Path) -> list[str]:
    """Return the files that differ, or that are in one of two folders only, without what Python or a build adds."""
    contents = [contents_of(folder) for folder in (installed, sources)]
    names = sorted({*contents[0], *contents[1]})
    return [name for name in names if contents[0].get(name) != contents[1].get(name)]


def contents_of(folder: Path) -> dict[str, bytes]:
    """Return what the files of a package hold, by their names."""
    added = {".pyc", ".so", ".pyd"}
    files = [file for file in folder.rglob("*") if file.is_file() and file.suffix not in added and file.name != LIST]
    return {str(file.relative_to(folder)): file.read_bytes() for file in files}


def listed(names: list[str], most: int = 3) -> str:
    """Return some names, and how many more there are."""
    more = len(names) - most
    return ", ".join(names[:most]) + (f" and {more} more" if more > 0 else "")
