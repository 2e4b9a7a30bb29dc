"""The paper's simulation experiments, run again, and what it proves but never shows: pictures, tables, claims."""

from dtrbandit.reproduce.claims import Claim
from dtrbandit.reproduce.extensions import EXTENSIONS
from dtrbandit.reproduce.figure1 import FIGURE as FIGURE1
from dtrbandit.reproduce.figure2 import FIGURE as FIGURE2
from dtrbandit.reproduce.reproduction import Experiment, Figure, Reproduction, reproduce

FIGURES = {figure.name: figure for figure in (FIGURE1, FIGURE2)}
EXPERIMENTS: dict[str, dict[str, Experiment]] = {  # what can be asked for, and which folders within its own that fills
    **{name: {".": figure} for name, figure in FIGURES.items()},
    "extensions": dict(EXTENSIONS),
}

__all__ = ["EXPERIMENTS", "EXTENSIONS", "FIGURES", "Claim", "Experiment", "Figure", "Reproduction", "reproduce"]
