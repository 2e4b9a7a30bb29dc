"""The cache of compiled kernels: an edited kernel is never served stale, and compilation is announced once."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from dtrbandit.kernels import compile as compiling

LEAF = "from dtrbandit.kernels.compile import kernel\n\n@kernel\ndef leaf():\n    return {value}\n"
CALLER = (
    "from dtrbandit.kernels.compile import kernel\nfrom dtrbandit.leaf import leaf\n\n"
    "@kernel(entry=True)\ndef caller():\n    return leaf() + 1\n"
)


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """Return a package of two kernels, one calling the other in another file, compiled as ours are."""
    folder = tmp_path / "dtrbandit"
    shutil.copytree(compiling.PACKAGE / "kernels", folder / "kernels")
    (folder / "__init__.py").touch()
    (folder / "leaf.py").write_text(LEAF.format(value=1))
    (folder / "caller.py").write_text(CALLER)
    return tmp_path


def call(package: Path) -> tuple[int, str]:
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(package / "cache"), "PYTHONPATH": str(package)}
    command = [sys.executable, "-c", "from dtrbandit.caller import caller; print(caller())"]
    done = subprocess.run(command, env=environment, cwd=package, capture_output=True, text=True, check=True)
    return int(done.stdout), done.stderr


def test_an_edited_kernel_in_another_file_is_never_served_stale(package: Path) -> None:
    assert call(package)[0] == 2

    (package / "dtrbandit" / "leaf.py").write_text(LEAF.format(value=41))

    assert call(package)[0] == 42


def test_compilation_is_announced_once_and_loading_is_silent(package: Path) -> None:
    cold, warm = call(package)[1], call(package)[1]

    assert cold.count("compiling its kernels") == 1
    assert warm == ""


def test_machine_code_is_made_and_kept_of_entries_alone(package: Path) -> None:
    call(package)

    kept = {path.name.split("-")[0] for path in (package / "cache").rglob("*.nbc")}

    assert kept == {"caller.caller"}


def test_without_a_place_to_write_the_kernels_still_compile(package: Path) -> None:
    (package / "cache").write_text("a file where a folder should be")

    assert call(package)[0] == 2


def test_the_only_place_that_says_njit_is_the_decorator() -> None:
    said = [path.name for path in compiling.PACKAGE.rglob("*.py") if "njit" in path.read_text()]

    assert said == ["compile.py"]
