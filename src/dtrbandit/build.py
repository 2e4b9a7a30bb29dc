"""What was built: whether each kernel is compiled, and from which sources.

A module with a ``.pxd`` file beside it is a kernel. ``setup.py`` compiles it, and writes a digest of its sources into
it. The digest tells whether the compiled module still belongs to the files beside it; times of files do not, after
a checkout or in a wheel. ``setup.py`` runs this file by itself, so it needs only the standard library.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Final

PACKAGE: Final = Path(__file__).parent
CONSTANTS: Final = "kernels/constants.pxd"  # every kernel reads it; the module beside it stays plain Python
CHECKED_SUFFIX: Final = "-checked"

COMPILED: Final = "compiled"
CHECKED: Final = "compiled with bounds checks"
PLAIN: Final = "plain Python"
STALE: Final = "stale"


def kernel_modules(package: Path = PACKAGE) -> dict[str, Path]:
    """Return the source of each kernel below a folder of the package, by the name of the module.

    Examples
    --------
    >>> kernel_modules()["dtrbandit.kernels.triangular"].name
    'triangular.py'
    """
    found = [path for path in sorted(package.rglob("*.pxd")) if path != package / CONSTANTS]
    return {
        ".".join((package.name, *path.relative_to(package).with_suffix("").parts)): path.with_suffix(".py")
        for path in found
    }


def digest_of(source: Path, package: Path = PACKAGE) -> str:
    """Return the SHA-256 of all that a kernel is made from: its two files and the constants."""
    files = (source, source.with_suffix(".pxd"), package / CONSTANTS)
    parts = [hashlib.sha256(path.read_bytes()).digest() for path in files]
    return hashlib.sha256(b"".join(parts)).hexdigest()


def built_from(name: str) -> str:
    """Return what the kernel of this name carries: a digest of its sources, or nothing if it is plain Python."""
    carried: bytes = import_module(name).BUILT_FROM
    return carried.decode("ascii")


def states(package: Path = PACKAGE) -> dict[str, str]:
    """Say of each kernel that is imported how it was built, as against the sources in a folder.

    Examples
    --------
    >>> "stale" in states().values()
    False
    """
    return {
        name: state_of(built_from(name), digest_of(source, package)) for name, source in kernel_modules(package).items()
    }


def state_of(carried: str, digest: str) -> str:
    """Say how a kernel was built that carries this, and whose sources have this digest."""
    if not carried:
        return PLAIN
    if carried.removesuffix(CHECKED_SUFFIX) != digest:
        return STALE
    return CHECKED if carried.endswith(CHECKED_SUFFIX) else COMPILED


def stale(found: Mapping[str, str]) -> list[str]:
    """Return the names of the kernels that were compiled from other sources."""
    return [name for name, state in found.items() if state == STALE]
