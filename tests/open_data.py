"""Open trials that lie beside the repository, or where ``DTRBANDIT_DATA`` says: files with a note on their source."""

from __future__ import annotations

import os
from pathlib import Path

ROOT = Path(__file__).parents[1]


def path(name: str) -> Path:
    """Return where a file of data is."""
    return Path(os.environ.get("DTRBANDIT_DATA", ROOT.parent / "shared" / "data")) / f"{name}.csv"
