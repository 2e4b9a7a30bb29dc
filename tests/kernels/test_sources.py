"""Which modules hold kernels, and which files make machine code."""

from __future__ import annotations

import sys
from hashlib import sha256
from pathlib import Path

from dtrbandit.kernels.compile import KERNELS
from dtrbandit.kernels.fill import all_entries
from dtrbandit.kernels.sources import PACKAGE, hash_of_makers, kernel_modules
from kernels.small_package import create


def test_modules_with_kernels_are_found_by_their_sources(tmp_path: Path) -> None:
    create(tmp_path)

    assert kernel_modules(tmp_path / "dtrbandit") == [
        "dtrbandit.caller", "dtrbandit.kernels.triangular", "dtrbandit.leaf",
    ]  # fmt: skip


def test_no_module_of_the_package_with_kernels_is_missed() -> None:
    all_entries()

    registered = {module for module, _ in KERNELS if module.startswith("dtrbandit.")}
    assert registered == set(kernel_modules())
    assert registered <= set(sys.modules)


def test_the_makers_are_the_files_that_know_numba() -> None:
    """Others import it in a function, to be used by their callers, and make nothing."""
    makers = ["machine.py", "opened.py", "parts.py"]
    digest = sha256(b"".join((PACKAGE / "kernels" / name).read_bytes() for name in makers)).hexdigest()

    known = sorted(path.name for path in (PACKAGE / "kernels").glob("*.py") if "import numba" in path.read_text())
    known += [path.name for path in (PACKAGE / "kernels").glob("*.py") if "\nfrom numba" in path.read_text()]

    assert sorted(set(known)) == makers
    assert hash_of_makers() == digest
