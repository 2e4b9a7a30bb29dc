"""The command ``compile``: machine code of all kernels, beforehand."""

from __future__ import annotations

import typer

from dtrbandit.kernels.cache import NoCache, find_cache
from dtrbandit.kernels.digest import key_of
from dtrbandit.kernels.fill import fill_alone, own_entries
from dtrbandit.kernels.supplier import SECONDS_TO_COMPILE
from dtrbandit.kernels.waiting import Waiting

NOT_WRITTEN = 1


def compile_all() -> int:
    """Fill the cache and say where it is; return the exit code."""
    try:
        cache = find_cache()
        with Waiting("all commands", seconds=SECONDS_TO_COMPILE) as waiting:
            fill_alone(cache, report=waiting.show)
    except NoCache as error:
        typer.echo(f"error: {error}; set DTRBANDIT_CACHE_DIR to a folder of your own", err=True)
        return NOT_WRITTEN
    except OSError as error:
        typer.echo(f"error: the cache could not be filled ({error.strerror or error}): {error.filename}", err=True)
        return NOT_WRITTEN
    sizes = [cache.size(key_of(name)) for name in own_entries()]
    typer.echo(f"{len(sizes)} kernels, {sum(sizes) / 1e6:.1f} MB, in {cache.folder}")
    return 0
