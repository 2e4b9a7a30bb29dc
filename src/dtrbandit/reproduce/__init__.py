"""The paper's experiments, run again, and what it proves but never shows: pictures, tables, claims."""

from pathlib import Path

from dtrbandit.errors import DesignError
from dtrbandit.reproduce.claims import Claim
from dtrbandit.reproduce.extensions import EXTENSIONS
from dtrbandit.reproduce.figure1 import FIGURE as FIGURE1
from dtrbandit.reproduce.figure2 import FIGURE as FIGURE2
from dtrbandit.reproduce.reproduction import Experiment, Figure, Reproduction, reproduce
from dtrbandit.reproduce.table1 import TABLE as TABLE1

FIGURES = {figure.name: figure for figure in (FIGURE1, FIGURE2)}
EXPERIMENTS: dict[str, dict[str, Experiment]] = {  # what can be asked for, and which folders within its own that fills
    **{name: {".": figure} for name, figure in FIGURES.items()},
    "extensions": dict(EXTENSIONS),
    TABLE1.name: {".": TABLE1},
}

__all__ = [
    "EXPERIMENTS",
    "EXTENSIONS",
    "FIGURES",
    "TABLE1",
    "Claim",
    "Experiment",
    "Figure",
    "Reproduction",
    "experiments",
    "reproduce",
]


def experiments(what: str, *, data: Path | None = None) -> dict[str, dict[str, Experiment]]:
    """Return what a name stands for, ``"all"`` for everything; ``data`` are the patients of Table 1."""
    chosen = EXPERIMENTS if what == "all" else {what: EXPERIMENTS[what]}
    if data is None:
        return chosen
    if TABLE1.name not in chosen:
        raise DesignError(f"{what} is simulated and takes no data; they are for {TABLE1.name}")
    return {**chosen, TABLE1.name: {".": TABLE1.on(data)}}
