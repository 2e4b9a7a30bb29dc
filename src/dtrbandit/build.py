"""What was built: whether each kernel is compiled, and from which sources.

A module with a ``.pxd`` file beside it is a kernel. ``setup.py`` compiles it, and writes a digest of its sources into
it. The digest tells whether the compiled module still belongs to the files beside it; times of files do not, after
a checkout or in a wheel. ``setup.py`` runs this file by itself, so it needs only the standard library.

``setup.py`` also writes the list of all kernels into the package. So a file that was lost later is noticed. That is
looked for on the disk: a compiled module cannot even be imported beside one that is plain.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from importlib import import_module
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path
from typing import Final

PACKAGE: Final = Path(__file__).parent
CONSTANTS: Final = "kernels/constants.pxd"  # every kernel reads it; the module beside it stays plain Python
CHECKED_SUFFIX: Final = "-checked"
LIST: Final = "kernels.txt"  # what a build has made: the name of each kernel, and if it is compiled what it carries
CIMPORT: Final = re.compile(r"^from (\S+) cimport (\w+)", re.MULTILINE)

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
    """Return the SHA-256 of all that a kernel is made from: its source, its types, and those that these rest on."""
    files = (source, *sorted({package / CONSTANTS, *types_of(source, package)}))
    parts = [hashlib.sha256(path.read_bytes()).digest() for path in files]
    return hashlib.sha256(b"".join(parts)).hexdigest()


def types_of(source: Path, package: Path = PACKAGE) -> set[Path]:
    """Return the ``.pxd`` file of a kernel, and all those of the package that it cimports, or that these do.

    Examples
    --------
    >>> sorted(path.name for path in types_of(PACKAGE / "kernels/triangular.py"))
    ['constants.pxd', 'triangular.pxd']
    """
    found: set[Path] = set()
    waiting = {source.with_suffix(".pxd")}
    while waiting:
        path = waiting.pop()
        found.add(path)
        for module, name in CIMPORT.findall(path.read_text(encoding="utf-8")):
            whole = package.parent.joinpath(*module.split("."))
            waiting |= {file for file in (whole.with_suffix(".pxd"), whole / f"{name}.pxd") if file.is_file()} - found
    return found


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


def list_of(carried: Mapping[str, str]) -> str:
    """Return what the list of a build says: each kernel, and what it carries; nothing where it is plain Python."""
    return "".join(f"{name} {digest}".rstrip() + "\n" for name, digest in sorted(carried.items()))


def listed(package: Path = PACKAGE) -> list[str]:
    """Return the kernels that a build has listed; where nothing was built, those whose files are there."""
    file = package / LIST
    if not file.is_file():
        return list(kernel_modules(package))
    return [line.split()[0] for line in file.read_text(encoding="utf-8").splitlines()]


def lost_files(package: Path = PACKAGE) -> list[str]:
    """Return the sources of kernels that are not on the disk any more."""
    files = [path_of(name, package).with_suffix(suffix) for name in listed(package) for suffix in (".py", ".pxd")]
    return [str(file.relative_to(package)) for file in files if not file.is_file()]


def plain_beside_compiled(package: Path = PACKAGE) -> list[str]:
    """Return the kernels that are not compiled on the disk, where others are."""
    plain = [name for name in listed(package) if not _is_compiled(path_of(name, package))]
    return plain if len(plain) < len(listed(package)) else []


def path_of(name: str, package: Path = PACKAGE) -> Path:
    """Return where the source of a kernel should be, by the name of the module."""
    return package.parent.joinpath(*name.split(".")).with_suffix(".py")


def _is_compiled(source: Path) -> bool:
    return any(source.with_suffix(suffix).is_file() for suffix in EXTENSION_SUFFIXES)


def stale(found: Mapping[str, str]) -> list[str]:
    """Return the names of the kernels that were compiled from other sources."""
    return [name for name, state in found.items() if state == STALE]
