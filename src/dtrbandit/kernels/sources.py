"""Which modules of the package hold kernels, told by their sources, without importing them."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

PACKAGE = Path(__file__).parents[1]
HOLDS_KERNELS = re.compile(rb"^from \w+\.kernels\.compile import .*\bkernel\b", re.MULTILINE)


def kernel_modules(package: Path = PACKAGE) -> list[str]:
    """Return the names of the modules that hold kernels."""
    files = [path for path in sorted(package.rglob("*.py")) if HOLDS_KERNELS.search(path.read_bytes())]
    return [".".join(path.relative_to(package.parent).with_suffix("").parts) for path in files]


def hash_of_makers() -> str:
    """Return a hash of the files that make machine code."""
    digest = hashlib.sha256()
    for name in ("machine", "opened", "parts"):
        digest.update(Path(__file__).with_name(f"{name}.py").read_bytes())
    return digest.hexdigest()
