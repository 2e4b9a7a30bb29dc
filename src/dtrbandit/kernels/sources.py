"""What kernels are made of: the files that hold them, and all files of the package that these import.

A constant that a kernel reads becomes a part of its machine code, whichever file it comes from.
"""

from __future__ import annotations

import hashlib
import os
import re
from pathlib import Path

PACKAGE = Path(__file__).parents[1]
HOLDS_KERNELS = re.compile(rb"^from \w+\.kernels\.compile import .*\bkernel\b", re.MULTILINE)
IMPORTS = re.compile(rb"^ *(?:from|import) \w+\.([\w.]+)", re.MULTILINE)


def kernel_modules(package: Path = PACKAGE) -> list[str]:
    """Return the names of the modules that hold kernels."""
    found = [module for module, content in _contents(package).items() if HOLDS_KERNELS.search(content)]
    return [f"{package.name}.{module}" for module in found]


def hash_of_sources(package: Path = PACKAGE) -> str:
    """Return a hash of all files that kernels are made of: an edit anywhere gives another one."""
    contents = _contents(package)
    waiting = [name for name, content in contents.items() if name[:8] == "kernels." or HOLDS_KERNELS.search(content)]
    taken: set[str] = set()
    while waiting:
        module = waiting.pop()
        if module in contents and module not in taken:
            taken.add(module)
            waiting += (name.decode() for name in IMPORTS.findall(contents[module]))
        elif module not in contents:  # a package: names are taken from any of its files
            waiting += [name for name in contents if name.startswith(f"{module}.") and name not in taken]
    digest = hashlib.sha256()
    for module in sorted(taken):
        digest.update(module.encode() + b"\0" + contents[module])
    return digest.hexdigest()


def _contents(package: Path) -> dict[str, bytes]:
    """Return the files of the package by the names of their modules, without the package's own."""
    files = sorted(Path(folder, name) for folder, _, names in os.walk(package) for name in names if name[-3:] == ".py")
    start = len(package.parts)
    return {".".join((*path.parts[start:-1], path.stem)): path.read_bytes() for path in files}


# Taken on import: what is on disk later need not be what this process runs.
SOURCES = hash_of_sources()
