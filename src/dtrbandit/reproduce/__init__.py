"""The paper's experiments, run again, and what it proves but never shows: pictures, tables, claims.

Each of ``NAMES`` is a module here. Its ``EXPERIMENTS`` map a folder, within that of the name, to what fills it.
"""

from importlib import import_module
from typing import TYPE_CHECKING

NAMES = ("figure1", "figure2", "extensions", "table1")  # what can be asked for

if TYPE_CHECKING:
    from dtrbandit.reproduce.claims import Claim, Verdict, Whose
    from dtrbandit.reproduce.extensions import EXTENSIONS
    from dtrbandit.reproduce.registry import EXPERIMENTS, FIGURES, experiments
    from dtrbandit.reproduce.reproduction import Experiment, Figure, Reproduction, reproduce
    from dtrbandit.reproduce.table1 import TABLE1

_HOMES = {
    "registry": ("EXPERIMENTS", "FIGURES", "experiments"),
    "claims": ("Claim", "Verdict", "Whose"),
    "extensions": ("EXTENSIONS",),
    "reproduction": ("Experiment", "Figure", "Reproduction", "reproduce"),
    "table1": ("TABLE1",),
}

__all__ = [
    "EXPERIMENTS",
    "EXTENSIONS",
    "FIGURES",
    "NAMES",
    "TABLE1",
    "Claim",
    "Experiment",
    "Figure",
    "Reproduction",
    "Verdict",
    "Whose",
    "experiments",
    "reproduce",
]

if not TYPE_CHECKING:

    def __getattr__(name: str) -> object:
        """Import what is first asked for: the command line needs the names of experiments at once."""
        for home, names in _HOMES.items():
            if name in names:
                return getattr(import_module(f"{__name__}.{home}"), name)
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
