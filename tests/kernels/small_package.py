"""A package of two kernels with the machinery of ours, to be run in processes of their own."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from dtrbandit.kernels.sources import PACKAGE

CONSTANTS = "ADDED = {added}\n"
LEAF = "from dtrbandit.kernels.compile import kernel\n\n\n@kernel\ndef leaf():\n    return {value}\n"
CALLER = """from dtrbandit import leaf
from dtrbandit.constants import ADDED
from dtrbandit.kernels.compile import kernel


@kernel(entry="int64")
def caller(factor):
    return leaf.leaf() * factor + ADDED
"""
COUNTED = """

_store = Cache.store


def _counted(self, name, packed):
    with open(os.environ["STORED"], "a") as file:
        file.write("x")
    _store(self, name, packed)


Cache.store = _counted
"""
START = "from dtrbandit.caller import caller\nfrom dtrbandit.kernels import supply, supplier\n"
WAIT = "supply.require('a test', seconds=1e9)\n"
JOIN = "supplier.SUPPLIER._thread.join()\n"
NO_CHILD = "def refuse(*_, **__):\n    raise AssertionError('a child')\n\n\nsupplier.start_child = refuse\n"
TELL = "print(caller.call(10), caller.compiled)\n"


@dataclass(frozen=True)
class SmallPackage:
    """Where the package and its cache lie."""

    folder: Path

    @property
    def base(self) -> Path:
        return self.folder / "base"

    def files(self) -> list[Path]:
        """Return the files of machine code."""
        return sorted(self.base.rglob("*.machine"))

    def stored(self) -> int:
        """Return how often machine code was stored."""
        return len((self.folder / "stored").read_text())

    def write(self, *, value: int = 1, added: int = 1) -> None:
        """Write the two kernels."""
        package = self.folder / "dtrbandit"
        (package / "leaf.py").write_text(LEAF.format(value=value))
        (package / "constants.py").write_text(CONSTANTS.format(added=added))
        (package / "caller.py").write_text(CALLER)

    def start(self, code: str, **environment: str) -> subprocess.Popen[str]:
        """Start Python on some code."""
        places = {"PYTHONPATH": str(self.folder), "STORED": str(self.folder / "stored")}
        own = {key: value for key, value in os.environ.items() if key != "DTRBANDIT_KERNELS"}
        return subprocess.Popen(
            [sys.executable, "-W", "error", "-c", START + code],
            env={**own, "DTRBANDIT_CACHE_DIR": str(self.base), **places, **environment},
            cwd=self.folder,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def run(self, code: str, **environment: str) -> tuple[str, str]:
        """Run some code, and return what it wrote on standard output and standard error."""
        process = self.start(code, **environment)
        output, errors = process.communicate()
        assert process.returncode == 0, errors
        return output.strip(), errors


def create(folder: Path) -> SmallPackage:
    """Return the package, its cache empty."""
    package = folder / "dtrbandit"
    shutil.copytree(PACKAGE / "kernels", package / "kernels", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(PACKAGE / "errors.py", package)
    (package / "__init__.py").touch()
    with (package / "kernels" / "cache.py").open("a") as file:
        file.write(COUNTED)
    small = SmallPackage(folder)
    small.write()
    return small
