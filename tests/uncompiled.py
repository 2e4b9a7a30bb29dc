"""Import this first in a process of its own, and every module of the package runs as plain Python there."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec
from importlib.util import spec_from_file_location
from pathlib import Path
from types import ModuleType


class PlainFinder:
    """Finds the Python file of a module that has C types beside it, before anybody finds its compiled form."""

    @staticmethod
    def find_spec(name: str, path: Sequence[str] | None, _: ModuleType | None = None) -> ModuleSpec | None:
        for folder in path or ():
            file = Path(folder) / f"{name.rpartition('.')[2]}.py"
            if name.startswith("dtrbandit.") and file.with_suffix(".pxd").exists():
                return spec_from_file_location(name, file)
        return None


assert not any(name.startswith("dtrbandit.") for name in sys.modules), "import it before dtrbandit"
sys.meta_path.insert(0, PlainFinder())
