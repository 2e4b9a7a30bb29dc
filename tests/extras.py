"""Optional dependencies: what needs them is skipped without them, but fails in continuous integration."""

from __future__ import annotations

import os
from importlib import import_module
from typing import Any

import pytest


def needed(module: str) -> Any:
    """Import a module of an extra."""
    return import_module(module) if os.environ.get("CI") else pytest.importorskip(module)
