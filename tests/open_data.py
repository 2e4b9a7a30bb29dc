"""Open trials that lie beside the repository, or where ``DTRBANDIT_DATA`` says: files with a note on their source."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


def path(name: str) -> Path:
    """Return where a file of data is, or skip the test that asks."""
    file = Path(os.environ.get("DTRBANDIT_DATA", ROOT.parent / "shared" / "data")) / f"{name}.csv"
    if not file.exists():
        pytest.skip(f"{file} is not there")
    return file
