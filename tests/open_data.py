"""Where the open trial data are: beside the repository, or where DTRBANDIT_DATA says."""

from __future__ import annotations

import os
from pathlib import Path

ROOT = Path(__file__).parents[1]


def path(name: str) -> Path:
    """Return the path of a data file."""
    return Path(os.environ.get("DTRBANDIT_DATA", ROOT.parent / "shared" / "data")) / f"{name}.csv"
