"""Processes that a test starts, with the same sources."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import dtrbandit as dtr


def run(*arguments: str) -> str:
    """Run Python, and return what it printed; fail with what it complained of."""
    paths = [str(Path(dtr.__file__).parents[1]), str(Path(__file__).parents[1])]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}
    done = subprocess.run([sys.executable, *arguments], capture_output=True, text=True, check=False, env=environment)
    assert done.returncode == 0, done.stderr
    return done.stdout
